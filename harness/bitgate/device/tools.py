"""What the harness does with tensors where they lie: fill, digest, compare, and look at gaps and guards.

Work is queued on the device's stream; what it finds out comes back in one small copy, ``read``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import byref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bitgate.device.buffers import CANARY, Buffer
from bitgate.device.device import Device
from bitgate.device.errors import hip_error
from bitgate.device.tools_abi import CWeights, cells_of, load, memory_of, zones_of
from bitgate.exact import counter
from bitgate.exact.checksum import WeightPlan
from bitgate.exact.fill import TensorFill
from bitgate.operation import Dtype, Tensor
from bitgate.operation.host_tensor import GAP_PATTERN, has_gaps

ANSWERS = 256
"""64-bit words that one ``read`` brings back."""

MOST_SUMS = 4096
"""Of operands whose sums are remembered, a few dozen bytes each."""

Fill = tuple[Tensor, TensorFill, int]
"""Of an operand: tensor, how it is filled, seed. It decides each bit of its memory."""

_WORD = 2**64


@dataclass(frozen=True)
class DeviceDifferences:
    """Cells whose bits differ: how many, the least logical index among them (-1 if none), the largest difference (inf
    where a NaN takes part)."""

    count: int
    first: int
    largest: float


class Tools(Protocol):
    """Where results are looked at. Questions return a ticket; ``read`` waits and answers them by ticket."""

    def can_fill(self, tensor: Tensor, fill: TensorFill) -> bool:
        """Can the tensor be filled where it lies?"""

    def fill(self, data: int, tensor: Tensor, fill: TensorFill, seed: int) -> None:
        """The same bits as ``exact.fill.make_tensor``, gaps included."""

    def fill_bits(self, data: int, tensor: Tensor, bits: int) -> None:
        """One pattern in every cell, gaps between them as gaps are."""

    def guard(self, buffers: Sequence[Buffer]) -> None:
        """Make the guards of buffers that were taken without (``Device.alloc``)."""

    def clear(self) -> None:
        """Forget all questions, and what was filled."""

    def digest(self, data: int, tensor: Tensor, first: int = 0) -> int:
        """Ask for the two sums of ``exact.digest``; the first cell is number ``first`` of what it is a block of."""

    def memory(self, data: int, tensor: Tensor, *, untouched: bool = False) -> int:
        """Ask for two sums over a tensor's memory, gaps included: equal if no bit of it changed. ``untouched``: nothing
        has run since it was filled, so they may be known."""

    def differences(self, result: int, reference: int, tensor: Tensor, begin: int = 0) -> int:
        """Ask how two tensors differ from logical index ``begin`` on."""

    def gaps(self, data: int, tensor: Tensor) -> int:
        """Ask how many elements of gaps changed, and for the least index of memory among them."""

    def guards(self, buffers: Sequence[Buffer]) -> int:
        """Ask how many bytes beside these buffers were written."""

    def weighted_sum(self, data: int, tensor: Tensor, weights: WeightPlan) -> int:
        """Ask for the checksum's sum, and for how many cells are not integers."""

    def read(self) -> list[int]:
        """The answers: a ticket is the place of a question's first word. HipError if the device failed."""


def sums_at(answers: Sequence[int], ticket: int) -> tuple[int, int]:
    return answers[ticket], answers[ticket + 1]


def differences_at(answers: Sequence[int], ticket: int) -> DeviceDifferences:
    count, first, largest = answers[ticket : ticket + 3]
    return DeviceDifferences(count, least(first), float(np.array(largest, np.uint64).view(np.float64)))


def least(answer: int) -> int:
    """An index that was kept as its complement; -1 if there was none."""
    return _WORD - 1 - answer if answer else -1


class DeviceTools:
    """The tools as kernels on an open device. HipError where one cannot be launched."""

    def __init__(self, device: Device, library: Path) -> None:
        self._device = device
        self._entries = load(library)
        self._tables: dict[tuple[str, int], Buffer] = {}
        self._answers = device.alloc(8 * ANSWERS, name="answers")
        self._known: dict[int, int] = {}
        self._filled: dict[int, Fill] = {}
        """By address, since the last ``clear``."""
        self._asked_of: dict[int, Fill] = {}
        """Questions, by ticket, whose answers are remembered."""
        self._sums: dict[Fill, tuple[int, int]] = {}
        self.clear()

    def can_fill(self, tensor: Tensor, fill: TensorFill) -> bool:
        return fill.kind == "integer" or (fill.kind == "real" and tensor.dtype.name in ("f64", "f32", "f16", "bf16"))

    def fill(self, data: int, tensor: Tensor, fill: TensorFill, seed: int) -> None:
        if not self.can_fill(tensor, fill):
            raise ValueError(f"{fill.kind} data of {tensor.dtype} are not made on a device")
        self._fill_gaps(data, tensor)
        start = counter.stream(seed, tensor.name)
        if fill.kind == "real":
            self._call("fill_reals", data, byref(cells_of(tensor)), start)
        else:
            patterns = self._patterns(tensor.dtype, fill.range) if tensor.dtype.bytes <= 2 else 0
            self._call("fill_integers", data, byref(cells_of(tensor)), start, fill.range, fill.keep, patterns)
        self._filled[data] = tensor, fill, seed

    def fill_bits(self, data: int, tensor: Tensor, bits: int) -> None:
        self._fill_gaps(data, tensor)
        self._call("fill_bits", data, byref(cells_of(tensor)), bits)

    def clear(self) -> None:
        self._asked = 0
        self._known.clear()
        self._filled.clear()
        self._asked_of.clear()
        self._answers.fill(0)

    def digest(self, data: int, tensor: Tensor, first: int = 0) -> int:
        return self._ask(2, "digest", data, byref(cells_of(tensor)), first)

    def memory(self, data: int, tensor: Tensor, *, untouched: bool = False) -> int:
        """Of an operand that was filled alike before, for another launch or kernel, the sums are known."""
        filled = self._filled.get(data) if untouched else None
        if filled is not None and filled in self._sums:
            return self._answer(*self._sums[filled])
        ticket = self._ask(2, "digest", data, byref(memory_of(tensor)), 0)
        if filled is not None:
            self._asked_of[ticket] = filled
        return ticket

    def differences(self, result: int, reference: int, tensor: Tensor, begin: int = 0) -> int:
        values = self._values(tensor.dtype)
        return self._ask(3, "differences", result, reference, values, byref(cells_of(tensor)), begin)

    def gaps(self, data: int, tensor: Tensor) -> int:
        return self._ask(2, "gaps", data, byref(cells_of(tensor)), tensor.space)

    def guards(self, buffers: Sequence[Buffer]) -> int:
        if self._device.host is not None:  # the host runtime keeps its guards itself
            return self._answer(sum(buffer.check_guards() is not None for buffer in buffers))
        zones, count = zones_of(zone for buffer in buffers for zone in buffer.zones())
        return self._ask(1, "zones", byref(zones), count, CANARY)

    def guard(self, buffers: Sequence[Buffer]) -> None:
        if self._device.host is None:
            zones, count = zones_of(zone for buffer in buffers for zone in buffer.zones())
            self._call("guard", byref(zones), count, CANARY)

    def weighted_sum(self, data: int, tensor: Tensor, weights: WeightPlan) -> int:
        plan = CWeights(
            rows=tensor.lengths[1],
            channels=tensor.lengths[2],
            spatial=weights.spatial,
            channel_stream=weights.channel_stream,
            place_stream=weights.place_stream,
            range=weights.range,
        )
        return self._ask(2, "weighted_sum", data, self._values(tensor.dtype), byref(cells_of(tensor)), byref(plan))

    def read(self) -> list[int]:
        self._device.synchronize()
        words = np.empty(ANSWERS, np.uint64)
        self._answers.download(words)
        answers: list[int] = words[: self._asked].tolist()
        for ticket, filled in self._asked_of.items():
            if len(self._sums) >= MOST_SUMS:
                self._sums.clear()
            self._sums[filled] = sums_at(answers, ticket)
        for ticket, word in self._known.items():
            answers[ticket] = word
        return answers

    def _ask(self, words: int, name: str, *arguments: object) -> int:
        ticket = self._reserve(words)
        self._call(name, *arguments, self._answers.pointer + 8 * ticket)
        return ticket

    def _answer(self, *words: int) -> int:
        """An answer that the caller knows already."""
        ticket = self._reserve(len(words))
        self._known |= {ticket + place: word for place, word in enumerate(words)}
        return ticket

    def _reserve(self, words: int) -> int:
        ticket, self._asked = self._asked, self._asked + words
        if self._asked > ANSWERS:
            raise ValueError(f"more than {ANSWERS} words of answers before a read")
        return ticket

    def hold(self, ticks: int) -> None:
        """Keep the device busy for so many ticks of its clock, with nothing."""
        self._call("hold", ticks)

    def _call(self, name: str, *arguments: object) -> None:
        code = self._entries[name](*arguments, self._device.stream)
        if code:
            raise hip_error(code, name)

    def _fill_gaps(self, data: int, tensor: Tensor) -> None:
        if has_gaps(tensor):
            code = self._device.hip.hipMemset(data, GAP_PATTERN, tensor.bytes)[0]
            if code:
                raise hip_error(code, "hipMemset")

    def _patterns(self, dtype: Dtype, range_: int) -> int:
        """Device memory with -range .. range in the type."""
        return self._table(dtype.name, range_, lambda: np.arange(-range_, range_ + 1).astype(dtype.numpy))

    def _values(self, dtype: Dtype) -> int:
        """Device memory with the 256 numbers of a one-byte type; null for others."""
        if dtype.bytes > 1:
            return 0
        return self._table(dtype.name, 0, lambda: np.arange(256, dtype=np.uint8).view(dtype.numpy).astype(np.float32))

    def _table(self, name: str, range_: int, make: Callable[[], NDArray[Any]]) -> int:
        table = self._tables.get((name, range_))
        if table is None:
            values = make()
            table = self._tables[name, range_] = self._device.alloc(values.nbytes, name=f"{name} table")
            table.upload(values)
        return table.pointer
