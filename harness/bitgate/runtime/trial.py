"""Opens an AMD device in a process of its own, and says what HIP tells of it: what is wrong there hurts nobody here."""

from __future__ import annotations

from typing import Any

from bitgate.core.errors import UsageError
from bitgate.runtime.errors import check
from bitgate.runtime.hip_python import hip_release, is_of_another_release
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named
from bitgate.worker.channel import Channel
from bitgate.worker.child import Worker, WorkerDied

ENTRY = f"{__name__}:serve"

SECONDS = 120.0
"""A driver that resets its device takes half a minute."""

_NOTHING_FREE = 1 << 28
"""Bytes: with less, no case of smoke has room."""


def opened(target: str) -> dict[str, str]:
    """``detail``, and ``warning``: what runs, and may surprise. UsageError if the target's device does not open."""
    printed = bytearray()
    try:
        with Worker(ENTRY, printed.extend) as child:
            answer: dict[str, str] = child.ask({"target": target}, SECONDS)
    except WorkerDied as ended:
        said = printed.decode(errors="replace").strip().rpartition("\n")[2]
        raise UsageError(
            f"opening {target} ended: {ended.reason}{f' ({said})' if said else ''}: see dmesg, and reinstall ROCm"
        ) from None
    return answer


def serve(channel: Channel) -> None:
    """One question, ``{target}``."""
    question = channel.next()
    if question is None:
        return
    try:
        channel.answer(_told(question["target"]))
    except UsageError as error:
        channel.usage(str(error))


def _told(target: str) -> dict[str, Any]:
    device = open_device(named(target))
    attributes, free = device.attributes, device.free_memory()
    version = int(check(device.hip.hipRuntimeGetVersion(), "hipRuntimeGetVersion"))
    warnings = [is_of_another_release(version)]
    if free < _NOTHING_FREE:
        warnings.append(f"{free / 2**30:.1f} GiB of its memory are free: see who holds the rest with amd-smi process")
    return {
        "detail": f"HIP {hip_release(version)} opens it as device {device.index}: {attributes.compute_units} CUs,"
        f" waves of {attributes.wave_size}, {attributes.lds_per_block >> 10} KiB of LDS a block,"
        f" {free / 2**30:.1f} of {attributes.total_memory / 2**30:.1f} GiB free",
        "warning": "; ".join(filter(None, warnings)),
    }
