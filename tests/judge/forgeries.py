"""Submissions to the task softmax whose process answers with something else than what happened."""

# mypy: ignore-errors

import os
from contextlib import suppress

import msgspec
import numpy as np

CALLS = [0]


def right(x):
    above = np.exp(x - x.max(axis=-1, keepdims=True))
    return above / above.sum(axis=-1, keepdims=True)


def forge(said):
    """From now on this process answers something else."""
    from bitgate.worker.channel import Channel

    send = Channel._send
    Channel._send = lambda self, value: send(self, value if "begins" in value else said)


def forges_a_mistake_of_its_judge(x):
    forge({"usage": "no such task"})
    return np.zeros_like(x)


def forges_a_defect_of_its_judge(x):
    forge({"error": "Traceback"})
    return np.zeros_like(x)


def forge_raised(kind, *texts):
    """From now on this process answers with an exception of its launcher."""
    forge({"answer": {"raised": {"kind": kind, "texts": texts}, "tenant": ""}})


def forges_a_defect_after_a_right_result(x):
    forge({"error": "Traceback"})
    return right(x)


def forges_a_lack_of_memory(x):
    forge_raised("memory", "no room for x")
    return right(x)


def forges_a_lost_device(x):
    forge_raised("hip", "hipErrorDeviceLost", "device lost", "hipLaunchKernel")
    return right(x)


def forges_a_reference_that_fails(x):
    forge_raised("reference", "the reference kernel failed")
    return right(x)


def claims_a_lack_of_memory(x):
    if x.size:
        raise MemoryError("no room for x")
    return x.copy()


def is_timed():
    """Whether this is no longer the first process that calls: the second one is the clock's."""
    CALLS[0] += 1
    with suppress(OSError), open("processes", "a") as file:
        file.write("x" if CALLS[0] == 1 else "")
    return os.path.getsize("processes") > 1


def forges_a_mistake_while_it_is_timed(x):
    if is_timed():
        forge({"usage": "no such task"})
    return right(x)


def claims_a_lack_of_memory_while_it_is_timed(x):
    if is_timed():
        raise MemoryError("no room for x")
    return right(x)


def forges_a_refusal_while_it_is_timed(x):
    if is_timed():
        forge_raised("refused", "clause", "not this one")
    return right(x)


def forges_a_lost_device_while_it_is_timed(x):
    if is_timed():
        forge_raised("hip", "hipErrorDeviceLost", "device lost", "hipLaunchKernel")
    return right(x)


def forges_a_failed_reference_while_it_is_timed(x):
    if is_timed():
        forge_raised("reference", "the reference kernel failed")
    return right(x)


def states_no_seconds_while_it_is_timed(x):
    """Right, but its launcher no longer says how long the call took."""
    if is_timed():
        from bitgate.verify.launcher_messages import LaunchAnswer

        of = LaunchAnswer.of
        LaunchAnswer.of = lambda run: msgspec.structs.replace(of(run), seconds={})
    return right(x)
