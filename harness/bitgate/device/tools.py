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
from bitgate.device.tools_abi import MAX_ZONES, CWeights, Zones, cells_of, load, memory_of
from bitgate.exact import counter
from bitgate.exact.checksum import WeightPlan
from bitgate.exact.fill import TensorFill
from bitgate.operation import Dtype, Tensor
from bitgate.operation.host_tensor import GAP_PATTERN, has_gaps

ANSWERS = 256
"""64-bit words that one ``read`` brings back."""

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

    def clear(self) -> None:
        """Forget all questions."""

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

    def fill_bits(self, data: int, tensor: Tensor, bits: int) -> None:
        self._fill_gaps(data, tensor)
        self._call("fill_bits", data, byref(cells_of(tensor)), bits)

    def clear(self) -> None:
        self._asked = 0
        self._known.clear()
        self._answers.fill(0)

    def digest(self, data: int, tensor: Tensor, first: int = 0) -> int:
        return self._ask(2, "digest", data, byref(cells_of(tensor)), first)

    def memory(self, data: int, tensor: Tensor, *, untouched: bool = False) -> int:
        return self._ask(2, "digest", data, byref(memory_of(tensor)), 0)

    def differences(self, result: int, reference: int, tensor: Tensor, begin: int = 0) -> int:
        values = self._values(tensor.dtype)
        return self._ask(3, "differences", result, reference, values, byref(cells_of(tensor)), begin)

    def gaps(self, data: int, tensor: Tensor) -> int:
        return self._ask(2, "gaps", data, byref(cells_of(tensor)), tensor.space)

    def guards(self, buffers: Sequence[Buffer]) -> int:
        if self._device.host is not None:  # the host runtime keeps its guards itself
            return self._answer(sum(buffer.check_guards() is not None for buffer in buffers))
        every = [zone for buffer in buffers for zone in buffer.zones() if zone[1] > zone[0]]
        if len(every) > MAX_ZONES:
            raise ValueError(f"{len(every)} guard zones, at most {MAX_ZONES} are looked at in one go")
        zones = Zones()
        for place, (begin, end) in enumerate(every):
            zones.zone[place].address, zones.zone[place].bytes = begin, end - begin
        return self._ask(1, "zones", byref(zones), len(every), CANARY)

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
        return [self._known.get(ticket, int(word)) for ticket, word in enumerate(words[: self._asked])]

    def _ask(self, words: int, name: str, *arguments: object) -> int:
        ticket = self._reserve(words)
        self._call(name, *arguments, self._answers.pointer + 8 * ticket)
        return ticket

    def _answer(self, word: int) -> int:
        """An answer that the caller knows already."""
        ticket = self._reserve(1)
        self._known[ticket] = word
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
