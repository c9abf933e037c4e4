"""The tools for the host's device: its memory is the process's, so the native library reads it in place."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from ctypes import c_uint8, memmove, memset
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Tensor
from bitgate.model.cell_places import offsets
from bitgate.model.host_tensor import GAP_PATTERN, HostTensor, has_gaps
from bitgate.model.memory_runs import Runs
from bitgate.numerics import native
from bitgate.numerics.checksum import WeightPlan, weighted_sum
from bitgate.numerics.fill import TensorFill, write_tensor
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.tools import can_fill

_WORD = 2**64

KEPT_BYTES, LARGEST_KEPT = 1 << 28, 1 << 24
"""Bytes of filled operands that are kept, in all and of one: each is made once for all kernels and launches of a
problem, which follow each other."""


@dataclass(frozen=True, eq=False)
class HostOperand:
    """An operand's memory as it was filled, padding included, and the sums over it."""

    storage: NDArray[np.uint8]
    sums: tuple[int, int]


class HostTools:
    """The ``Tools`` without kernels: several times as fast as device code on CPU threads. Questions are answered at
    once, so work on the device must have ended before."""

    def __init__(self, runs: Mapping[int, Runs] = MappingProxyType({})) -> None:
        """Take the parts of buffers that are memory, by address, where these are not all of it (``Device.runs``)."""
        self._runs = runs
        self._answers: list[int] = []
        self._made: OrderedDict[tuple[Tensor, TensorFill, int], HostOperand] = OrderedDict()
        self.kept_bytes = 0
        self._filled: dict[int, tuple[int, int]] = {}
        """The sums over the memory at an address when it was filled."""

    def can_fill(self, tensor: Tensor, fill: TensorFill) -> bool:
        return can_fill("host", tensor, fill)

    def fill(self, data: int, tensor: Tensor, fill: TensorFill, seed: int) -> None:
        if tensor.bytes > LARGEST_KEPT:
            write_tensor(self._blank(data, tensor), fill, seed)
            return
        made = self._made_once(tensor, fill, seed)
        memmove(data, made.storage.ctypes.data, tensor.bytes)
        self._filled[data] = made.sums

    def _made_once(self, tensor: Tensor, fill: TensorFill, seed: int) -> HostOperand:
        key = tensor, fill, seed
        made = self._made.get(key)
        if made is None:
            storage = np.empty(tensor.bytes, np.uint8)
            address = storage.ctypes.data
            write_tensor(self._blank(address, tensor), fill, seed)
            made = self._made[key] = HostOperand(storage, native.digest_sums_at(address, _flat(tensor)))
            self.kept_bytes += tensor.bytes
            while self.kept_bytes > KEPT_BYTES:
                self.kept_bytes -= self._made.popitem(last=False)[1].storage.nbytes
        self._made.move_to_end(key)
        return made

    def fill_bits(self, data: int, tensor: Tensor, bits: int) -> None:
        self._blank(data, tensor).bits[...] = tensor.dtype.bits.type(bits)

    def guard(self, buffers: Sequence[Buffer]) -> None:
        """Return at once: the host runtime makes guards itself."""

    def clear(self) -> None:
        self._answers = []
        self._filled.clear()

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def digest(self, data: int, tensor: Tensor, first: int = 0) -> int:
        return self._answer(*native.digest_sums_at(data, tensor, first))

    def memory(self, data: int, tensor: Tensor, *, untouched: bool = False) -> int:
        sums = self._filled.get(data) if untouched else None
        return self._answer(*(sums or self._sums_over_memory(data, tensor)))

    def _sums_over_memory(self, data: int, tensor: Tensor) -> tuple[int, int]:
        if (runs := self._runs.get(data)) is None:
            return native.digest_sums_at(data, _flat(tensor))
        first = second = 0
        for begin, end in runs:
            flat = replace(tensor, lengths=((end - begin) // tensor.dtype.bytes,), strides=(1,))
            own = native.digest_sums_at(data + begin, flat, begin // tensor.dtype.bytes)
            first, second = (first + own[0]) % _WORD, (second + own[1]) % _WORD
        return first, second

    def differences(self, result: int, reference: int, tensor: Tensor, begin: int = 0) -> int:
        ours, theirs = (_there(data, tensor).logical.reshape(-1)[begin:] for data in (result, reference))
        unsigned = tensor.dtype.bits
        wrong = np.flatnonzero(ours.view(unsigned) != theirs.view(unsigned))
        if not wrong.size:
            return self._answer(0, 0, 0)
        with np.errstate(invalid="ignore"):
            far = float(np.abs(ours[wrong].astype(np.float64) - theirs[wrong].astype(np.float64)).max())
        largest = np.array(np.inf if np.isnan(far) else far, np.float64).view(np.uint64)
        return self._answer(int(wrong.size), _WORD - 1 - int(wrong[0]) - begin, int(largest))

    def gaps(self, data: int, tensor: Tensor) -> int:
        if not has_gaps(tensor):
            return self._answer(0, 0)
        if (runs := self._runs.get(data)) is None:
            changed = changed_gaps(_there(data, tensor))
        else:
            changed = _changed_in(data, tensor, runs)
        return self._answer(int(changed.size), _WORD - 1 - int(changed[0]) if changed.size else 0)

    def guards(self, buffers: Sequence[Buffer]) -> int:
        return self._answer(sum(buffer.check_guards() is not None for buffer in buffers))

    def weighted_sum(self, data: int, tensor: Tensor, weights: WeightPlan) -> int:
        return self._answer(*weighted_sum(_there(data, tensor), weights))

    def read(self) -> list[int]:
        return list(self._answers)

    def _blank(self, data: int, tensor: Tensor) -> HostTensor:
        for begin, end in self._runs.get(data, ((0, tensor.bytes),)) if has_gaps(tensor) else ():
            memset(data + begin, GAP_PATTERN, end - begin)
        return _there(data, tensor)

    def _answer(self, *words: int) -> int:
        self._answers += words
        return len(self._answers) - len(words)


def changed_gaps(host: HostTensor) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return indices of memory between the cells that no longer hold the pattern of the padding."""
    rest = HostTensor(host.tensor, host.storage.copy())
    untouched = rest.tensor.dtype.bits.type(int.from_bytes(bytes([GAP_PATTERN]) * rest.tensor.dtype.bytes, "little"))
    rest.bits[...] = untouched
    return np.flatnonzero(rest.storage.view(rest.tensor.dtype.bits) != untouched)


@lru_cache(maxsize=256)
def _flat(tensor: Tensor) -> Tensor:
    """Return all elements of the tensor's memory, padding included, as a tensor."""
    return replace(tensor, lengths=(tensor.space,), strides=(1,))


def _there(data: int, tensor: Tensor) -> HostTensor:
    """Return the tensor at an address of this process."""
    memory = np.frombuffer(memoryview((c_uint8 * tensor.bytes).from_address(data)), np.uint8)
    return HostTensor(tensor, memory.view(tensor.dtype.numpy))


def _changed_in(data: int, tensor: Tensor, runs: Runs) -> NDArray[np.intp]:
    """Return what ``changed_gaps`` does of a tensor that has memory in these parts alone."""
    size, memory = tensor.dtype.bytes, _there(data, tensor).storage.view(tensor.dtype.bits)
    cells = np.sort(offsets(tensor.lengths, tensor.strides), axis=None)
    untouched = int.from_bytes(bytes([GAP_PATTERN]) * size, "little")
    changed = []
    for begin, end in ((begin // size, end // size) for begin, end in runs):
        written = memory[begin:end] != untouched
        written[cells[slice(*np.searchsorted(cells, (begin, end)))] - begin] = False
        changed.append(begin + np.flatnonzero(written))
    return np.concatenate(changed)
