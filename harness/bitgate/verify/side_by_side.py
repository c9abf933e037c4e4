"""Two launches of one library at once: on two streams, from two threads, with buffers and workspaces apart.

What a library shares between its calls shows then: memory, or a plan that one call writes and another reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.library import RunCall
from bitgate.kernel.runner import LibraryRunner
from bitgate.model.host_tensor import HostTensor
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import check
from bitgate.verify.guarded import Buffers
from bitgate.verify.running import (
    WORKSPACE,
    KernelWork,
    LaunchConfig,
    LaunchResult,
    fill,
    pointers_of,
    run_prepared,
)


@dataclass(frozen=True)
class SideBySide(KernelWork):
    """A launch, and another one of the same kernel on the same problem, in the buffers ``beside``."""

    device: Device
    beside: Mapping[str, Buffer]

    @property
    def subject(self) -> None:
        """A library may keep memory for each of its callers."""

    def start(self, buffers: Mapping[str, Buffer], stream: int) -> DispatchRecord:
        hip, runner = self.device.hip, self.runner
        assert isinstance(runner, LibraryRunner)
        made = check(hip.hipStreamCreateWithFlags(hip.hipStreamNonBlocking), "hipStreamCreateWithFlags")
        try:
            calls = [self._call(buffers, stream), self._call(self.beside, int(made))]
            first, _ = runner.library.run_together(self.problem, runner.instance, runner.options, calls)
            _advance(hip, [stream, int(made)])
            check(hip.hipStreamSynchronize(made), "hipStreamSynchronize")
        finally:
            hip.hipStreamDestroy(made)
        return first

    def _call(self, buffers: Mapping[str, Buffer], stream: int) -> RunCall:
        pointers, scratch = pointers_of(self.problem, buffers), buffers.get(WORKSPACE)
        return RunCall(pointers, (0, 0) if scratch is None else (scratch.pointer, scratch.bytes), stream)


def _advance(hip: Any, streams: Sequence[int]) -> None:
    """Ask in turn whether the streams are done: at each question the host runtime does one piece of a stream's work."""
    while streams:
        streams = [one for one in streams if hip.hipStreamQuery(one)[0] == hip.hipError_t.hipErrorNotReady]


def run_side_by_side(
    device: Device,
    work: KernelWork,
    beside: Mapping[str, HostTensor],
    inputs: Mapping[str, HostTensor],
    outputs: Mapping[str, HostTensor],
    config: LaunchConfig,
) -> LaunchResult:
    """Launch as ``run_once`` does, while the kernel works on ``beside`` too."""
    with Buffers(device, config.placement) as others:
        fill(others, work, beside, config)
        both = SideBySide(work.runner, work.problem, work.workspace, device, others.named)
        run = run_prepared(device, both, lambda buffers: fill(buffers, work, inputs, config), inputs, outputs, config)
        run.seen = None  # of two launches
        if not run.crash and not run.damage:
            run.damage = others.look(beside, {})
    run.damage = run.damage or others.damage
    return run
