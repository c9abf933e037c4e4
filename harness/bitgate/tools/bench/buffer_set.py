"""Buffers that launches are timed on: filled once, between guards, and inspected after every sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import psutil

from bitgate.model import Problem, Tensor
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.numerics import digest
from bitgate.runtime.buffers import GUARD_BYTES, Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.tools import Tools, least, sums_at
from bitgate.tools.bench.launches import Arguments
from bitgate.verify.guarded import Buffers
from bitgate.verify.on_device import DeviceData
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits
from bitgate.verify.running import pointers_of

PLACEMENT = "right"


@dataclass(frozen=True)
class BufferCheck:
    """The digest of all outputs, and the damage: what was written outside them, empty if nothing was."""

    digest: str
    damage: str


class BufferSet:
    """One set of device buffers of a problem.

    Raises HipError if there is no memory for it.
    """

    def __init__(self, device: Device, tools: Tools, problem: Problem, data: DeviceData) -> None:
        self._device, self._tools, self._problem, self.data = device, tools, problem, data
        self._buffers = Buffers(device, PLACEMENT)
        self._scratch: dict[int, Buffer] = {}
        self._before: dict[str, tuple[int, int]] = {}
        try:
            self.fill(data)
        except BaseException:
            self.free()
            raise

    def fill(self, data: DeviceData) -> None:
        """Fill the buffers with these data and blank the outputs; buffers that exist are reused."""
        self.data = data
        tensors = self._problem.tensors
        self._tools.clear()
        tickets = {}
        for name, _ in self.data.plan.tensors:
            if name not in self._problem.in_place:
                buffer = self._buffers.at(name, tensors[name].bytes)
                self.data.put(self._tools, buffer, tensors[name])
                tickets[name] = self._tools.memory(buffer.pointer, tensors[name])
        for role in self._problem.outputs:
            self._buffers.at(role, tensors[role].bytes)
        answers = self._tools.read()
        self._before = {name: sums_at(answers, ticket) for name, ticket in tickets.items()}
        self.blank()

    def blank(self) -> None:
        """Poison the outputs, or restore the inputs that share their memory, as before a first launch."""
        tensors, shared = self._problem.tensors, self._problem.in_place
        for role in self._problem.outputs:
            buffer, tensor = self._buffers.named[role], tensors[role]
            if shared and role == self._problem.result:
                self.data.put(self._tools, buffer, tensors[shared[0]])
            else:
                self._tools.fill_bits(buffer.pointer, tensor, poison_bits(tensor.dtype))
        self._device.synchronize()

    def blank_part(self, draw: Random) -> None:
        """Put another poison into a random part of each output; the rest keeps its contents.

        Not for problems whose inputs share memory with an output.
        """
        for role in self._problem.outputs:
            buffer, tensor = self._buffers.named[role], self._problem.tensors[role]
            first, part = part_of(tensor, draw)
            at = buffer.pointer + first * tensor.dtype.bytes
            self._tools.fill_bits(at, part, poison_bits(tensor.dtype, 1))
        self._device.synchronize()

    def arguments(self, workspace: int) -> Arguments:
        """Return the arguments of a launch with ``workspace`` bytes of scratch, which kernels of equal need share."""
        if not workspace:
            return Arguments(pointers_of(self._problem, self._buffers.named), (0, 0))
        if workspace not in self._scratch:
            self._scratch[workspace] = self._device.alloc(workspace, name="workspace", placement=PLACEMENT)
            self._scratch[workspace].fill(SCRATCH_BYTES[0])
        scratch = self._scratch[workspace]
        return Arguments(pointers_of(self._problem, self._buffers.named), (scratch.pointer, scratch.bytes))

    def inspect(self, workspace: int) -> BufferCheck:
        """Check outputs, inputs, guards and padding after all work has ended."""
        tools, problem, buffers = self._tools, self._problem, self._buffers.named
        scratch = [self._scratch[workspace]] if workspace else []
        tools.clear()
        outputs = {role: (buffers[role].pointer, problem.tensors[role]) for role in problem.outputs}
        digested = {role: tools.digest(*at) for role, at in outputs.items()}
        gaps = {role: tools.gaps(*at) for role, at in outputs.items() if has_gaps(at[1])}
        after = {name: tools.memory(buffers[name].pointer, problem.tensors[name]) for name in self._before}
        guards = tools.guards([*buffers.values(), *scratch])
        answers = tools.read()
        digests = {role: digest.finish(sums_at(answers, at), problem.tensors[role]) for role, at in digested.items()}
        damages = []
        if answers[guards]:
            every = (*buffers.values(), *scratch)
            damages = [damage.text for buffer in every if (damage := buffer.check_guards()) is not None]
        changed = [name for name, sums in self._before.items() if sums_at(answers, after[name]) != sums]
        damages += [f"input {name} was changed" for name in changed]
        for role, ticket in gaps.items():
            if answers[ticket]:
                damages.append(
                    f"the padding between the rows of {role} was written (index {least(answers[ticket + 1])})"
                )
        return BufferCheck(digest.joined(problem, digests), "; ".join(damages))

    def results(self) -> Mapping[str, HostTensor]:
        """Download the outputs to host memory."""
        found = {}
        for role in self._problem.outputs:
            host = HostTensor.empty(self._problem.tensors[role])
            self._buffers.named[role].download(host.storage)
            found[role] = host
        return found

    def free(self) -> None:
        self._buffers.named |= {f"workspace of {size} bytes": buffer for size, buffer in self._scratch.items()}
        self._buffers.__exit__()
        self._buffers.named.clear()


def shortage(problem: Problem, device: Device, sets: int) -> str:
    """Say in a sentence why ``sets`` sets of buffers do not fit into memory; empty if they do."""
    needed = sets * sum(tensor.bytes + 4 * GUARD_BYTES for tensor in problem.tensors.values())
    free = device.free_memory()
    if device.host is not None:  # its memory is the host's, which other programs use too
        free = min(free, psutil.virtual_memory().available)
    if needed <= free:
        return ""
    return f"{sets} sets of buffers need {needed / 2**30:.2f} GiB of device memory, {free / 2**30:.2f} GiB are free"


def part_of(tensor: Tensor, draw: Random) -> tuple[int, Tensor]:
    """Return a random part of a tensor: the element where it begins in memory, and its cells.

    The tensor is cut across any axis at any place, so that a few cells do not decide whether it is whole.
    """
    axis = draw.choice([axis for axis, length in enumerate(tensor.lengths) if length > 1] or [0])
    length = tensor.lengths[axis]
    cut = draw.randint(1, length)
    lengths = (*tensor.lengths[:axis], cut, *tensor.lengths[axis + 1 :])
    return draw.randint(0, length - cut) * tensor.strides[axis], replace(tensor, lengths=lengths)


def differing(found: HostTensor, expected: HostTensor) -> int:
    """Count the cells whose bits differ."""
    return int(np.count_nonzero(found.bits != expected.bits))


def free_all(sets: Sequence[BufferSet]) -> None:
    for one in sets:
        one.free()
