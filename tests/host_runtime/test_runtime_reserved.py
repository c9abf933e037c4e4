"""Reserved buffers: addresses, of which only the pages that were opened are memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitgate.runtime.errors import HipError

from .conftest import ILLEGAL_ADDRESS, INVALID_VALUE, OUT_OF_MEMORY, SUCCESS, Host

PAGE = 4096
LARGE = 1 << 36
"""More than any machine that runs the tests has."""


def offset(pointer: ctypes.c_void_p, by: int) -> ctypes.c_void_p:
    return ctypes.c_void_p((pointer.value or 0) + by)


def opened(host: Host, pointer: ctypes.c_void_p, begin: int, size: int) -> int:
    return int(host.hip.bitgateHostOpen(pointer, ctypes.c_size_t(begin), ctypes.c_size_t(size)))


def filled(host: Host, pointer: ctypes.c_void_p, begin: int, size: int) -> int:
    return int(host.hip.hipMemset(offset(pointer, begin), 0, ctypes.c_size_t(size)))


@pytest.mark.parametrize("placement", ["right", "left"])
def test_a_large_buffer_takes_the_memory_of_what_is_opened(host: Host, placement: str) -> None:
    before = host.settings.held_bytes()
    buffer = host.malloc(LARGE, "out", placement, runs=((LARGE // 2, LARGE // 2 + 10),))
    assert host.settings.held_bytes() == before + 3 * PAGE  # with the first and the last byte
    for begin in (0, LARGE // 2, LARGE - 10):
        assert filled(host, buffer.pointer, begin, 10) == SUCCESS
    assert host.hip.bitgateHostCheckCanary(buffer.pointer, ctypes.byref(ctypes.c_int64())) == SUCCESS
    assert host.hip.hipFree(buffer.pointer) == SUCCESS
    assert host.settings.held_bytes() == before


def test_opened_pages_are_poisoned(host: Host) -> None:
    host.settings.set_poison_byte(0x7F)
    buffer = host.malloc(1 << 20, runs=((5000, 5004),))
    found = np.empty(4, np.uint8)
    assert host.hip.hipMemcpy(found.ctypes, offset(buffer.pointer, 5000), 4, 2) == SUCCESS
    assert (found == 0x7F).all()


@pytest.mark.parametrize("write", [False, True])
def test_an_access_to_a_part_without_memory_is_a_fault(
    host: Host, load: Callable[..., ctypes.CDLL], write: bool
) -> None:
    x = host.malloc(LARGE, "weights", "left", runs=((8 * PAGE, 9 * PAGE),))
    load("faults").launch_touch(x.pointer, ctypes.c_long(8 * PAGE // 4), write)
    assert host.synchronize() == SUCCESS
    load("faults").launch_touch(x.pointer, ctypes.c_long(9 * PAGE // 4), write)
    assert host.synchronize() == ILLEGAL_ADDRESS
    place = f"in padding without memory, at +{9 * PAGE} of buffer weights ({LARGE} bytes)"
    assert f"{'write' if write else 'read'} outside global memory: {place}" in host.fault().text


def test_pages_that_were_made_accessible_are_found(host: Host) -> None:
    buffer = host.malloc(LARGE, "out", "left", runs=((0, PAGE),))
    at = LARGE // 2
    assert ctypes.CDLL(None).mprotect(offset(buffer.pointer, at), ctypes.c_size_t(PAGE), 3) == 0
    ctypes.memset(offset(buffer.pointer, at + 8), 1, 1)
    assert host.hip.hipFree(buffer.pointer) == ILLEGAL_ADDRESS
    assert f"a write outside buffer out ({LARGE} bytes) hit {at} in padding without memory" in host.text()


@pytest.mark.parametrize("byte", [-(1 << 33), LARGE + (1 << 33)])
def test_a_fault_far_away_names_the_buffer_that_an_offset_of_32_bits_would_have_missed(
    host: Host, load: Callable[..., ctypes.CDLL], byte: int
) -> None:
    x = host.malloc(LARGE, "weights", "left", runs=())
    load("faults").launch_touch(x.pointer, ctypes.c_long(byte // 4), True)
    assert host.synchronize() == ILLEGAL_ADDRESS
    fault = host.fault()
    assert (fault.kind, fault.buffer, fault.offset) == ("wild", "weights", byte)
    place = f"byte offset {byte} from the nearest, weights ({LARGE} bytes)"
    assert fault.text.endswith(f"which belongs to no buffer: {place}")


def test_a_fill_of_a_part_without_memory_is_refused_and_named(host: Host) -> None:
    buffer = host.malloc(LARGE, "out", "left", runs=((0, 2 * PAGE),))
    assert filled(host, buffer.pointer, PAGE, PAGE) == SUCCESS
    assert filled(host, buffer.pointer, PAGE, 2 * PAGE) == INVALID_VALUE
    assert f"has byte offset {2 * PAGE} of buffer out ({LARGE} bytes), an address without memory" in host.text()
    rows = [ctypes.c_size_t(number) for number in (LARGE // 2, 16, 2)]
    assert host.hip.hipMemset2D(buffer.pointer, rows[0], 0, rows[1], rows[2]) == INVALID_VALUE
    assert f"byte offset {LARGE // 2} of buffer out" in host.text()


def test_the_device_gives_no_more_memory_than_it_has(host: Host) -> None:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert host.hip.hipMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == SUCCESS
    host.settings.set_total_memory(total.value - free.value + 8 * PAGE)
    buffer = host.malloc(LARGE, placement="left", runs=())
    assert opened(host, buffer.pointer, PAGE, 6 * PAGE) == SUCCESS
    assert opened(host, buffer.pointer, PAGE, 6 * PAGE) == SUCCESS, "what is open takes nothing more"
    assert opened(host, buffer.pointer, LARGE // 2, 1) == OUT_OF_MEMORY
    held = host.settings.held_bytes()
    with pytest.raises(HipError, match="hipErrorOutOfMemory"):
        host.malloc(LARGE, runs=((PAGE, 2 * PAGE),))
    assert host.settings.held_bytes() == held, "nothing is left of it"


def test_what_was_not_reserved_cannot_be_opened(host: Host) -> None:
    buffer = host.malloc(100)
    assert opened(host, buffer.pointer, 0, 1) == INVALID_VALUE
    reserved = host.malloc(LARGE, runs=())
    for begin, size in ((0, 0), (LARGE, 1), (LARGE - 1, 2)):
        assert opened(host, reserved.pointer, begin, size) == INVALID_VALUE
    nothing = ctypes.c_void_p()
    for size, alignment, placement in ((0, 16, 0), (8, 3, 0), (8, 16, 2)):
        arguments = ctypes.byref(nothing), ctypes.c_size_t(size), ctypes.c_size_t(alignment), placement
        assert host.hip.bitgateHostReserve(*arguments) == INVALID_VALUE


def test_pages_may_be_opened_in_any_order_and_again(host: Host) -> None:
    pages = 70

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=12))
    def opens(stretches: list[tuple[int, int]]) -> None:
        buffer = host.malloc(pages * PAGE, runs=())
        is_open = np.zeros(pages, bool)
        is_open[[0, -1]] = True
        for first, count in stretches:
            assert opened(host, buffer.pointer, first * PAGE, count * PAGE) == SUCCESS
            is_open[first : first + count] = True
        for page in range(pages):
            assert (filled(host, buffer.pointer, page * PAGE, PAGE) == SUCCESS) == is_open[page]
        closed = np.flatnonzero(~is_open)
        end = int(closed[0]) if closed.size else pages
        assert filled(host, buffer.pointer, 0, end * PAGE) == SUCCESS, "neighbours are one stretch"
        assert host.hip.hipFree(buffer.pointer) == SUCCESS

    opens()
