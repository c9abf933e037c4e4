"""Buffers of a GPU of which parts alone are memory. The host runtime stands in for the driver that maps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.kernel.build import Builder
from bitgate.model import DTYPES, Tensor
from bitgate.model.memory_runs import memory_runs
from bitgate.numerics.digest import digest, finish
from bitgate.numerics.fill import TensorFill, make_tensor
from bitgate.runtime.buffers import GUARD_BYTES, GuardDamage
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.runtime.reservation import whole_pages
from bitgate.runtime.tools import DeviceTools, sums_at
from bitgate.runtime.tools_abi import family

PAGE = 1 << 21
OUT_OF_MEMORY = 2
ROW = 2**32 + 16
TENSOR = Tensor("out", DTYPES["f16"], "x", (4, 5, 3), (ROW, 40, 2))
PACKED = Tensor("out", DTYPES["f16"], "x", (4, 5, 3), (15, 3, 1))
INTEGERS = TensorFill("integer", 3)


class MappingHip:
    """HIP of the host, and a driver's virtual memory: reserved buffers of the host runtime, of which parts are opened.

    The ``fails``-th creation finds no memory.
    """

    def __init__(self, device: Device) -> None:
        self._device, self._hip = device, device.hip
        self.begins: dict[int, int] = {}
        """The begin of each reserved buffer of the host, by the address that was given out."""
        self.handles: dict[int, int] = {}
        self.mapped: dict[int, int] = {}
        self.created, self.fails = 0, -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hip, name)

    def hipMemGetAllocationGranularity(self, properties: Any, option: Any) -> tuple[int, int]:
        assert (properties.type, properties.location.type, properties.location.id, option) == (1, 1, 0, 1)
        return 0, PAGE

    def hipMemAddressReserve(self, size: int, alignment: int, address: Any, flags: int) -> tuple[int, int]:
        assert (size % PAGE, alignment, address, flags) == (0, PAGE, None, 0)
        assert self._device.host is not None
        begin = self._device.host.malloc(size + PAGE, 4096, "left", "range", ())
        given_out = -(-begin // PAGE) * PAGE
        self.begins[given_out] = begin
        return 0, given_out

    def hipMemAddressFree(self, address: int, size: int) -> tuple[int]:
        assert not [at for at in self.mapped if address <= at < address + size], "memory is still mapped"
        return (self._hip.hipFree(self.begins.pop(address))[0],)

    def hipMemCreate(self, size: int, properties: Any, flags: int) -> tuple[int, int]:
        assert (size % PAGE, properties.type, flags) == (0, 1, 0)
        self.created += 1
        if self.created == self.fails:
            return OUT_OF_MEMORY, 0
        self.handles[self.created] = size
        return 0, self.created

    def hipMemMap(self, address: int, size: int, offset: int, handle: int, flags: int) -> tuple[int]:
        assert (address % PAGE, self.handles[handle], offset, flags) == (0, size, 0, 0)
        self.mapped[address] = size
        return (0,)

    def hipMemRelease(self, handle: int) -> tuple[int]:
        del self.handles[handle]
        return (0,)

    def hipMemUnmap(self, address: int, size: int) -> tuple[int]:
        assert self.mapped.pop(address) == size
        return (0,)

    def hipMemSetAccess(self, address: int, size: int, access: Any, count: int) -> tuple[int]:
        assert (access.location.type, access.location.id, access.flags, count) == (1, 0, 3, 1)
        assert self.mapped[address] == size
        begin = next(begin for given_out, begin in sorted(self.begins.items(), reverse=True) if given_out <= address)
        assert self._device.host is not None
        self._device.host._call("bitgateHostOpen", begin, address - begin, size)
        return (0,)


@pytest.fixture
def hip(device: Device) -> MappingHip:
    return MappingHip(device)


@pytest.fixture
def gpu(device: Device, hip: MappingHip) -> Iterator[Device]:
    yield Device(device.target, hip, None)
    assert (hip.begins, hip.handles, hip.mapped) == ({}, {}, {})


@pytest.mark.parametrize("placement", ["right", "left"])
def test_pages_with_cells_or_guards_are_memory(
    gpu: Device, hip: MappingHip, poke: Callable[[int, int], int], placement: str
) -> None:
    with gpu.alloc(TENSOR.bytes, name="out", placement=placement, runs=memory_runs(TENSOR)) as buffer:
        assert sum(hip.mapped.values()) <= 10 * PAGE
        assert buffer.pointer % 16 == 0
        assert buffer.check_guards() is None
        first, *_, last = gpu.runs_at(buffer.pointer, buffer.bytes)
        assert (first[0], last[1]) == (0, buffer.bytes)
        for at in (-1, (buffer.bytes + 3) // 4):
            assert poke(buffer.pointer, at) == 0
            gpu.synchronize()
            offset = -1 if at < 0 else 4 * at
            assert buffer.check_guards() == GuardDamage("out", offset, buffer.bytes)
            gpu.fill(buffer.pointer - GUARD_BYTES, 0xC5, GUARD_BYTES)
    assert not gpu.runs


def test_an_access_to_padding_is_a_fault(gpu: Device, device: Device, poke: Callable[[int, int], int]) -> None:
    with gpu.alloc(TENSOR.bytes, name="out", runs=memory_runs(TENSOR)) as buffer:
        assert poke(buffer.pointer, ROW // 4) == 0
        with pytest.raises(HipError, match="hipErrorIllegalAddress"):
            gpu.synchronize()
    assert device.host is not None
    device.host.clear_fault()


def test_data_and_digest_are_those_without_padding(gpu: Device, builder: Builder) -> None:
    tools = DeviceTools(gpu, builder.family(family()))
    with gpu.alloc(TENSOR.bytes, name="out", guarded=False, runs=memory_runs(TENSOR)) as buffer:
        tools.clear()
        with tools.together():
            tools.fill(buffer.pointer, TENSOR, INTEGERS, 1)
            tools.guard([buffer])
        with tools.together():
            ticket, gaps, guards = (
                tools.digest(buffer.pointer, TENSOR),
                tools.gaps(buffer.pointer, TENSOR),
                tools.guards([buffer]),
            )
        answers = tools.read()
        assert (answers[gaps], answers[guards]) == (0, 0)
        assert finish(sums_at(answers, ticket), PACKED) == digest(make_tensor(PACKED, INTEGERS, 1))


def test_the_sum_over_memory_is_that_of_the_buffers_own_pages(gpu: Device, builder: Builder) -> None:
    """An input seemed changed where its sum was that of the same data between other page borders."""
    tools = DeviceTools(gpu, builder.family(family()))
    tensor = replace(TENSOR, strides=(ROW + GUARD_BYTES // 4, 40, 2))
    for placement in ("left", "right"):
        runs = memory_runs(tensor)
        with gpu.alloc(tensor.bytes, name="in", placement=placement, runs=runs) as buffer:
            tools.clear()
            tools.fill(buffer.pointer, tensor, INTEGERS, 1)
            before = tools.memory(buffer.pointer, tensor, untouched=True)
            after = tools.memory(buffer.pointer, tensor)
            answers = tools.read()
            assert sums_at(answers, before) == sums_at(answers, after)


def test_nothing_is_kept_where_memory_runs_out(gpu: Device, hip: MappingHip) -> None:
    hip.fails = 3
    with pytest.raises(HipError, match="hipErrorOutOfMemory"):
        gpu.alloc(TENSOR.bytes, name="out", runs=memory_runs(TENSOR))
    assert hip.created == 3


def test_whole_pages_are_apart() -> None:
    assert whole_pages(((0, 1), (5, 9), (40, 41)), 4) == ((0, 12), (40, 44))


cuts = st.lists(st.integers(1, 300), min_size=2, max_size=12, unique=True).map(sorted)


@given(cuts, st.sampled_from([1, 4, 64]))
def test_whole_pages_cover_the_runs_and_no_page_else(ends: list[int], page: int) -> None:
    runs = tuple(zip(ends[::2], ends[1::2], strict=False))
    pages = whole_pages(runs, page)
    touched = {byte // page for begin, end in runs for byte in range(begin, end)}
    assert {number for begin, end in pages for number in range(begin // page, end // page)} == touched
    assert all(end < begin for (_, end), (begin, _) in pairwise(pages))
