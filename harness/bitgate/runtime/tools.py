"""Tools that work on tensors in device memory: fill, digest, compare, and check padding and guards.

Work is queued on the device's stream; its answers come back in one small copy, ``read``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from ctypes import byref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype, Tensor
from bitgate.model.host_tensor import GAP_PATTERN, has_gaps
from bitgate.model.memory_runs import Runs
from bitgate.numerics import counter
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import TensorFill
from bitgate.runtime.buffers import CANARY, Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import hip_error
from bitgate.runtime.tools_abi import (
    CONSTANT,
    FILL,
    INTEGERS,
    REALS,
    SMALL_TENSOR,
    CWeights,
    ToolBatch,
    cell_bytes,
    cells_of,
    load,
    memory_bytes,
    memory_of,
    zones_of,
)

ANSWERS = 256
"""The number of 64-bit words that one ``read`` returns."""

ROUNDS = 64
"""Number of rounds of ANSWERS words that are cleared at once: no word is answered into twice in between."""

MOST_MADE = 4096
"""The most operands that are remembered, a few hundred bytes each."""


@dataclass
class DeviceOperand:
    """An operand that tensor, fill and seed decide bit by bit: the request for it, if it is small, and the sums over it
    once they are known."""

    request: bytes = b""
    sums: tuple[int, int] | None = None


_WORD = 2**64


@dataclass(frozen=True)
class DeviceDifferences:
    """The cells whose bits differ: their number, the least logical index among them (-1 if none), the largest
    difference (inf where a NaN takes part), as the bits of an f64: between processes JSON has no infinity."""

    count: int
    first: int
    largest_bits: int

    @property
    def largest(self) -> float:
        return float(np.array(self.largest_bits, np.uint64).view(np.float64))


class Tools(Protocol):
    """Tools for tensors of one device. Questions return a ticket; ``read`` waits and returns the answers by ticket."""

    def can_fill(self, tensor: Tensor, fill: TensorFill) -> bool:
        """Return whether the tensor can be filled in device memory."""

    def fill(self, data: int, tensor: Tensor, fill: TensorFill, seed: int) -> None:
        """Write the same bits as ``numerics.fill.make_tensor``, padding included."""

    def fill_bits(self, data: int, tensor: Tensor, bits: int) -> None:
        """Write one pattern into every cell, and the usual pattern into the padding."""

    def guard(self, buffers: Sequence[Buffer]) -> None:
        """Make the guards of buffers that were allocated without (``Device.alloc``)."""

    def clear(self) -> None:
        """Forget all questions, and what was filled."""

    def together(self) -> AbstractContextManager[None]:
        """Return a context that collects requests and runs them at its end: fills first, then questions, in few
        launches."""

    def digest(self, data: int, tensor: Tensor, first: int = 0) -> int:
        """Request the two sums of ``numerics.digest``; the first cell has index ``first`` in the whole tensor."""

    def memory(self, data: int, tensor: Tensor, *, untouched: bool = False) -> int:
        """Request two sums over a tensor's memory, padding included: equal if no bit of it changed.

        With ``untouched`` nothing has run since it was filled, so they may be known.
        """

    def differences(self, result: int, reference: int, tensor: Tensor, begin: int = 0) -> int:
        """Request how two tensors differ from logical index ``begin`` on."""

    def gaps(self, data: int, tensor: Tensor) -> int:
        """Request the number of elements of padding that changed, and the least index of memory among them."""

    def guards(self, buffers: Sequence[Buffer]) -> int:
        """Request the number of bytes around these buffers that were written."""

    def weighted_sum(self, data: int, tensor: Tensor, weights: WeightPlan) -> int:
        """Request the checksum's sum, and the number of cells that are not integers."""

    def read(self) -> list[int]:
        """Return the answers: a ticket is the place of a question's first word. Raises HipError if it failed."""


def sums_at(answers: Sequence[int], ticket: int) -> tuple[int, int]:
    return answers[ticket], answers[ticket + 1]


def differences_at(answers: Sequence[int], ticket: int) -> DeviceDifferences:
    count, first, largest = answers[ticket : ticket + 3]
    return DeviceDifferences(count, least(first), largest)


def least(answer: int) -> int:
    """Return an index that was kept as its complement; -1 if there was none."""
    return _WORD - 1 - answer if answer else -1


def can_fill(platform: str, tensor: Tensor, fill: TensorFill) -> bool:
    """Return whether the fastest tools of a platform can make the data: the host's read no problem, only a tensor."""
    if platform == "host":
        return fill.kind not in ("hot", "distinct", "stated")
    return fill.kind == "integer" or (fill.kind == "real" and tensor.dtype.name in ("f64", "f32", "f16", "bf16"))


class DeviceTools:
    """The tools as kernels on an open device. Raises HipError where one cannot be launched."""

    def __init__(self, device: Device, library: Path) -> None:
        self._device = device
        self._entries = load(library)
        self._tables: dict[tuple[str, int], Buffer] = {}
        self._answers = device.alloc(8 * ANSWERS * ROUNDS, name="answers")
        self._answers.fill(0)
        self._begin = self._requested = 0
        """The first word for answers, and the number of words that were requested."""
        self._words = np.empty(ANSWERS, np.uint64)
        self._words_at = self._words.ctypes.data
        self._known: dict[int, int] = {}
        self._made: dict[tuple[Tensor, TensorFill, int], DeviceOperand] = {}
        self._filled: dict[int, DeviceOperand] = {}
        """Operands by address, since the last ``clear``."""
        self._remembered: dict[int, DeviceOperand] = {}
        """Operands by ticket, whose answers are remembered."""
        self._guarded: tuple[list[Buffer], tuple[bytes, int]] = ([], (b"", 0))
        """Buffers, and their zones."""
        self._batch = ToolBatch(self._call)

    def can_fill(self, tensor: Tensor, fill: TensorFill) -> bool:
        return can_fill("gpu", tensor, fill)

    def fill(self, data: int, tensor: Tensor, fill: TensorFill, seed: int) -> None:
        if not self.can_fill(tensor, fill):
            raise ValueError(f"{fill.kind} data of {tensor.dtype} are not made on a device")
        self._fill_gaps(data, tensor)
        made = self._filled[data] = self._operand(tensor, fill, seed)
        if self._batch.is_open and made.request:
            self._batch.fill(data, made.request)
            return
        start = counter.stream(seed, tensor.name)
        if fill.kind == "real":
            self._call("fill_reals", data, byref(cells_of(tensor)), start)
        else:
            patterns = self._patterns(tensor.dtype, fill.range)
            self._call("fill_integers", data, byref(cells_of(tensor)), start, fill.range, fill.keep, patterns)

    def _operand(self, tensor: Tensor, fill: TensorFill, seed: int) -> DeviceOperand:
        key = tensor, fill, seed
        made = self._made.get(key)
        if made is None:
            if len(self._made) >= MOST_MADE:
                self._made.clear()
            made = self._made[key] = DeviceOperand()
            if tensor.elements <= SMALL_TENSOR:
                start, is_real = counter.stream(seed, tensor.name), fill.kind == "real"
                patterns = 0 if is_real else self._patterns(tensor.dtype, fill.range)
                kind = REALS if is_real else INTEGERS
                made.request = FILL.pack(cell_bytes(tensor), patterns, start, fill.keep, fill.range, kind)
        return made

    def fill_bits(self, data: int, tensor: Tensor, bits: int) -> None:
        self._fill_gaps(data, tensor)
        if self._batch.is_open and tensor.elements <= SMALL_TENSOR:
            self._batch.fill(data, FILL.pack(cell_bytes(tensor), 0, bits, 0, 0, CONSTANT))
        else:
            self._call("fill_bits", data, byref(cells_of(tensor)), bits)

    def clear(self) -> None:
        self._begin, self._requested = self._begin + self._requested, 0
        if self._begin + ANSWERS > ANSWERS * ROUNDS:
            self._answers.fill(0)
            self._begin = 0
        self._known.clear()
        self._filled.clear()
        self._remembered.clear()

    def together(self) -> AbstractContextManager[None]:
        return self._batch

    def digest(self, data: int, tensor: Tensor, first: int = 0) -> int:
        if self._batch.is_open and tensor.elements <= SMALL_TENSOR:
            return self._request_in_batch(data, cell_bytes(tensor), first)
        return self._request(2, "digest", data, byref(cells_of(tensor)), first)

    def memory(self, data: int, tensor: Tensor, *, untouched: bool = False) -> int:
        """Request the sums; those of an operand that was filled alike before, for another launch, are known.

        Which pages have memory depends on where a buffer lies in its own.
        """
        made = self._filled.get(data) if untouched and data not in self._device.runs else None
        if made is not None and made.sums is not None:
            return self._answer(*made.sums)
        if self._batch.is_open and tensor.space <= SMALL_TENSOR:
            ticket = self._request_in_batch(data, memory_bytes(tensor), 0)
        else:
            ticket = self._reserve(2)
            for begin, end in self._runs(data, tensor):
                part, at = replace(tensor, lengths=(end - begin,), strides=(1,)), data + begin * tensor.dtype.bytes
                self._batch.call("digest", at, byref(memory_of(part)), begin, self._place(ticket))
        if made is not None:
            self._remembered[ticket] = made
        return ticket

    def differences(self, result: int, reference: int, tensor: Tensor, begin: int = 0) -> int:
        values = self._values(tensor.dtype)
        return self._request(3, "differences", result, reference, values, byref(cells_of(tensor)), begin)

    def gaps(self, data: int, tensor: Tensor) -> int:
        ticket = self._reserve(2)
        for begin, end in self._runs(data, tensor):
            self._batch.call("gaps", data, byref(cells_of(tensor)), begin, end, self._place(ticket))
        return ticket

    def guards(self, buffers: Sequence[Buffer]) -> int:
        if self._device.host is not None:  # the host runtime keeps its guards itself
            return self._answer(sum(buffer.check_guards() is not None for buffer in buffers))
        zones, count = self._zones_of(buffers)
        if not count:
            return self._answer(0)
        if not self._batch.is_open:
            return self._request(1, "zones", zones, count, CANARY)
        ticket = self._reserve(1)
        self._batch.look(zones, count, self._place(ticket))
        return ticket

    def guard(self, buffers: Sequence[Buffer]) -> None:
        if self._device.host is not None:
            return
        zones, count = self._zones_of(buffers)
        if not count:
            return
        if self._batch.is_open:
            self._batch.guard(zones, count)
        else:
            self._call("guard", zones, count, CANARY)

    def _zones_of(self, buffers: Sequence[Buffer]) -> tuple[bytes, int]:
        """Return the guard zones of buffers, which are needed twice: before a launch and after it."""
        if list(buffers) != self._guarded[0]:
            self._guarded = list(buffers), zones_of(zone for buffer in buffers for zone in buffer.zones())
        return self._guarded[1]

    def weighted_sum(self, data: int, tensor: Tensor, weights: WeightPlan) -> int:
        plan = CWeights(
            rows=tensor.lengths[1],
            channels=tensor.lengths[2],
            spatial=weights.spatial,
            channel_stream=weights.channel_stream,
            place_stream=weights.place_stream,
            range=weights.range,
        )
        return self._request(2, "weighted_sum", data, self._values(tensor.dtype), byref(cells_of(tensor)), byref(plan))

    def read(self) -> list[int]:
        if self._requested:
            self._device.copy_out(self._words_at, self._place(0), 8 * self._requested)
        else:
            self._device.wait()
        answers: list[int] = self._words[: self._requested].tolist()
        for ticket, made in self._remembered.items():
            made.sums = sums_at(answers, ticket)
        for ticket, word in self._known.items():
            answers[ticket] = word
        return answers

    def _request(self, words: int, name: str, *arguments: object) -> int:
        ticket = self._reserve(words)
        self._batch.call(name, *arguments, self._place(ticket))
        return ticket

    def _request_in_batch(self, data: int, cells: bytes, first: int) -> int:
        """Request two sums, in a batch with others."""
        ticket = self._reserve(2)
        self._batch.digest(data, cells, first, self._place(ticket))
        return ticket

    def _place(self, ticket: int) -> int:
        """Return the address of a ticket's answer."""
        return self._answers.pointer + 8 * (self._begin + ticket)

    def _answer(self, *words: int) -> int:
        """Add an answer that the caller knows already."""
        ticket = self._reserve(len(words))
        self._known |= {ticket + place: word for place, word in enumerate(words)}
        return ticket

    def _reserve(self, words: int) -> int:
        ticket, self._requested = self._requested, self._requested + words
        if self._requested > ANSWERS:
            raise ValueError(f"more than {ANSWERS} words of answers before a read")
        return ticket

    def hold(self, ticks: int) -> None:
        """Keep the device busy, doing nothing, for ``ticks`` of its clock."""
        self._call("hold", ticks)

    def _call(self, name: str, *arguments: object) -> None:
        code = self._entries[name](*arguments, self._device.stream)
        if code:
            raise hip_error(code, name)

    def _fill_gaps(self, data: int, tensor: Tensor) -> None:
        for begin, end in self._device.runs_at(data, tensor.bytes) if has_gaps(tensor) else ():
            self._device.fill(data + begin, GAP_PATTERN, end - begin)

    def _runs(self, data: int, tensor: Tensor) -> Runs:
        """Return the parts of a tensor that are memory, in elements; the answers of several are added up."""
        size = tensor.dtype.bytes
        return tuple((begin // size, end // size) for begin, end in self._device.runs_at(data, tensor.bytes))

    def _patterns(self, dtype: Dtype, range_: int) -> int:
        """Return device memory with -range .. range in a type of at most two bytes; null for others."""
        if dtype.bytes > 2:
            return 0
        return self._table(dtype.name, range_, lambda: np.arange(-range_, range_ + 1).astype(dtype.numpy))

    def _values(self, dtype: Dtype) -> int:
        """Return device memory with the 256 numbers of a one-byte type; null for others."""
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
