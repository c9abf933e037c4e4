"""Device memory: poisoned, placed at the edge of a guard page, checked at every copy and free."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import (
    DEFAULT,
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    INVALID_VALUE,
    OUT_OF_MEMORY,
    SUCCESS,
    Host,
)

PAGE = 4096


@pytest.mark.parametrize("size", [1, 15, 16, 100, 4096, 5000, 3 << 20, 9 << 20])
@pytest.mark.parametrize("placement", ["right", "left"])
def test_a_buffer_lies_at_the_edge_of_its_pages_and_is_poisoned(host: Host, size: int, placement: str) -> None:
    buffer = host.malloc(size, placement=placement)
    address = buffer.pointer.value or 0
    if placement == "left":
        assert address % PAGE == 0
    else:
        assert address % 16 == 0
        assert (address + size + 15) // 16 * 16 % PAGE == 0
    assert (buffer.download(np.uint8) == 0xFF).all()


@pytest.mark.parametrize("alignment", [1, 4, 64, 256, 4096])
def test_the_alignment_is_the_promised_one(host: Host, alignment: int) -> None:
    address = host.malloc(100, alignment=alignment).pointer.value or 0
    assert address % alignment == 0
    assert (address + 100 + alignment - 1) // alignment * alignment % PAGE == 0
    pointer = ctypes.c_void_p()
    assert host.hip.bitgateHostMalloc(ctypes.byref(pointer), ctypes.c_size_t(4), ctypes.c_size_t(3), 0) == INVALID_VALUE


def test_memory_is_poisoned_each_time_it_is_handed_out(host: Host) -> None:
    for size in (100, 5 << 20):
        for _ in range(3):
            buffer = host.malloc(size)
            assert (buffer.download(np.uint8) == 0xFF).all()
            assert host.hip.hipMemset(buffer.pointer, 0, ctypes.c_size_t(size)) == SUCCESS
            assert host.hip.hipFree(buffer.pointer) == SUCCESS


def test_what_is_held_is_counted_until_it_is_freed(host: Host) -> None:
    pinned = ctypes.c_void_p()
    before = host.settings.held_bytes()
    buffer = host.malloc(100)
    assert host.hip.hipHostMalloc(ctypes.byref(pinned), ctypes.c_size_t(7), 0) == SUCCESS
    assert host.settings.held_bytes() == before + 107
    assert host.hip.hipFree(pinned) == INVALID_VALUE
    assert host.settings.held_bytes() == before + 107
    assert host.hip.hipFree(buffer.pointer) == SUCCESS
    assert host.hip.hipHostFree(pinned) == SUCCESS
    assert host.settings.held_bytes() == before


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_threads_poison_a_large_buffer_to_its_last_byte(host: Host, threads: int) -> None:
    host.settings.set_threads(threads)
    host.settings.set_poison_byte(0x7F)
    buffer = host.malloc((17 << 20) + 5)
    assert (buffer.download(np.uint8) == 0x7F).all()
    assert host.hip.bitgateHostCheckCanary(buffer.pointer, ctypes.byref(ctypes.c_int64())) == SUCCESS


def test_concurrent_allocations_are_each_poisoned(host: Host) -> None:
    host.settings.set_threads(3)
    with ThreadPoolExecutor(4) as callers:
        buffers = list(callers.map(host.malloc, [9 << 20] * 8))
    assert all((buffer.download(np.uint8) == 0xFF).all() for buffer in buffers)


@pytest.mark.parametrize("direction", [HOST_TO_DEVICE, DEVICE_TO_HOST, DEFAULT])
def test_a_copy_past_the_end_is_refused_and_names_the_buffer(host: Host, direction: int) -> None:
    buffer, data = host.malloc(100, "input"), np.zeros(200, np.uint8)
    inside = ctypes.c_void_p((buffer.pointer.value or 0) + 90)
    ends = (inside, data.ctypes.data) if direction != DEVICE_TO_HOST else (data.ctypes.data, inside)
    assert host.hip.hipMemcpy(*ends, 10, direction) == SUCCESS
    assert host.hip.hipMemcpy(*ends, 11, direction) == INVALID_VALUE
    assert "reaches 1 bytes past the end of buffer input (100 bytes): offset 90, length 11" in host.text()


def test_other_impossible_copies(host: Host) -> None:
    buffer, data = host.malloc(100, "input"), np.zeros(8, np.uint8)
    address = buffer.pointer.value or 0
    copy = host.hip.hipMemcpy
    assert copy(address + 104, data.ctypes.data, 1, HOST_TO_DEVICE) == INVALID_VALUE
    assert "outside buffer input" in host.text()
    assert copy(data.ctypes.data, data.ctypes.data, 8, HOST_TO_DEVICE) == INVALID_VALUE
    assert "no device memory" in host.text()
    assert copy(address, None, 8, HOST_TO_DEVICE) == INVALID_VALUE
    assert "null" in host.text()
    assert copy(address, data.ctypes.data, 8, 77) != SUCCESS
    assert copy(None, None, 0, HOST_TO_DEVICE) == SUCCESS
    host.hip.hipFree(buffer.pointer)
    assert copy(address, data.ctypes.data, 8, HOST_TO_DEVICE) == INVALID_VALUE
    assert "freed" in host.text()


def test_2d_copies_and_fills(host: Host) -> None:
    size = ctypes.c_size_t
    source = np.arange(6 * 10, dtype=np.uint8).reshape(6, 10)
    device = host.array(np.zeros(6 * 16, np.uint8))
    copy = host.hip.hipMemcpy2D
    assert copy(device.pointer, size(16), source.ctypes, size(10), size(7), size(6), HOST_TO_DEVICE) == SUCCESS
    expected = np.zeros((6, 16), np.uint8)
    expected[:, :7] = source[:, :7]
    assert np.array_equal(device.download(np.uint8).reshape(6, 16), expected)
    assert host.hip.hipMemset2D(device.pointer, size(16), 5, size(3), size(2)) == SUCCESS
    expected[:2, :3] = 5
    assert np.array_equal(device.download(np.uint8).reshape(6, 16), expected)
    # The last row needs only its width, one row more does not fit.
    assert copy(device.pointer, size(16), source.ctypes, size(10), size(16), size(6), HOST_TO_DEVICE) != SUCCESS
    assert host.hip.hipMemset2D(device.pointer, size(16), 0, size(16), size(7)) == INVALID_VALUE


@pytest.mark.parametrize(
    ("function", "dtype", "value"),
    [("hipMemsetD8", np.uint8, 0xA5), ("hipMemsetD16", np.uint16, 0xBEEF), ("hipMemsetD32", np.uint32, 0x12345678)],
)
def test_fills_of_each_width(host: Host, function: str, dtype: type, value: int) -> None:
    buffer = host.malloc(64)
    count = 64 // np.dtype(dtype).itemsize
    for name in (function, f"{function}Async"):
        call = getattr(host.hip, name)
        arguments = (buffer.pointer, value, ctypes.c_size_t(count), *([None] if name.endswith("Async") else []))
        assert call(*arguments) == SUCCESS
        assert (buffer.download(dtype) == value).all()
        assert call(buffer.pointer, value, ctypes.c_size_t(count + 1), None) == INVALID_VALUE


@pytest.mark.parametrize("wrong", ["inside", "host", "stack"])
def test_what_cannot_be_freed_is_refused_with_the_reason(host: Host, wrong: str) -> None:
    pinned = ctypes.c_void_p()
    host.hip.hipHostMalloc(ctypes.byref(pinned), ctypes.c_size_t(64), 0)
    buffer, local = host.malloc(64, "output"), np.zeros(4)
    pointer, says = {
        "inside": ((buffer.pointer.value or 0) + 8, "inside buffer output, at byte offset 8"),
        "host": (pinned.value, "use hipHostFree"),
        "stack": (local.ctypes.data, "no buffer of this runtime"),
    }[wrong]
    assert host.hip.hipFree(ctypes.c_void_p(pointer)) == INVALID_VALUE
    assert says in host.text()
    assert host.hip.hipHostFree(pinned) == SUCCESS
    assert host.hip.hipFree(None) == SUCCESS


def test_memory_runs_out_where_the_test_says(host: Host) -> None:
    free, total, pointer = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_void_p()
    info = lambda: host.hip.hipMemGetInfo(ctypes.byref(free), ctypes.byref(total))  # noqa: E731
    assert info() == SUCCESS
    in_use = total.value - free.value  # of tests before this one, in the same process
    host.settings.set_total_memory(in_use + 1000)
    buffer = host.malloc(600)
    assert info() == SUCCESS
    assert (free.value, total.value) == (400, in_use + 1000)
    assert host.hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(401)) == OUT_OF_MEMORY
    assert pointer.value is None
    assert f"401 bytes asked for, {in_use + 600} of {in_use + 1000} in use" in host.text()
    host.hip.hipFree(buffer.pointer)
    assert info() == SUCCESS
    assert free.value == 1000
    assert host.hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 62)) == OUT_OF_MEMORY


def test_pointers_tell_what_they_are(host: Host) -> None:
    class Attributes(ctypes.Structure):
        _fields_ = (
            ("type", ctypes.c_int),
            ("device", ctypes.c_int),
            ("device_pointer", ctypes.c_void_p),
            ("host_pointer", ctypes.c_void_p),
            ("managed", ctypes.c_int),
            ("flags", ctypes.c_uint),
        )

    attributes, pinned, local = Attributes(), ctypes.c_void_p(), np.zeros(64)
    ask = lambda pointer: host.hip.hipPointerGetAttributes(ctypes.byref(attributes), pointer)  # noqa: E731
    device = host.malloc(64)
    assert ask(ctypes.c_void_p((device.pointer.value or 0) + 5)) == SUCCESS
    assert (attributes.type, attributes.host_pointer) == (2, None)
    host.hip.hipHostMalloc(ctypes.byref(pinned), ctypes.c_size_t(64), 0)
    assert ask(pinned) == SUCCESS
    assert (attributes.type, attributes.host_pointer) == (1, pinned.value)
    assert ask(local.ctypes) == SUCCESS
    assert attributes.type == 0
    assert host.hip.hipHostRegister(local.ctypes, ctypes.c_size_t(local.nbytes), 0) == SUCCESS
    assert host.hip.hipHostRegister(local.ctypes, ctypes.c_size_t(local.nbytes), 0) != SUCCESS
    assert ask(local.ctypes) == SUCCESS
    assert attributes.type == 1
    assert host.hip.hipHostUnregister(local.ctypes) == SUCCESS
    assert host.hip.hipHostUnregister(local.ctypes) != SUCCESS
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    inside = ctypes.c_void_p((device.pointer.value or 0) + 5)
    assert host.hip.hipMemGetAddressRange(ctypes.byref(base), ctypes.byref(size), inside) == SUCCESS
    assert (base.value, size.value) == (device.pointer.value, 64)


def test_any_life_of_buffers_keeps_their_contents(host: Host) -> None:
    """Allocations, copies between them and frees in any order: each buffer holds what was last put there."""

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.sampled_from("afc"), st.integers(0, 7), st.integers(1, 9000)), max_size=30))
    def live(steps: list[tuple[str, int, int]]) -> None:
        held: dict[int, tuple[ctypes.c_void_p, np.ndarray]] = {}
        for action, slot, size in steps:
            if action == "a" and slot not in held:
                data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
                pointer = ctypes.c_void_p(host.settings.malloc(size, 16, ("right", "left")[size % 2], f"b{slot}"))
                assert host.hip.hipMemcpy(pointer, data.ctypes.data, size, HOST_TO_DEVICE) == SUCCESS
                held[slot] = (pointer, data)
            elif action == "f" and slot in held:
                assert host.hip.hipFree(held.pop(slot)[0]) == SUCCESS
            elif action == "c" and slot in held:
                (source, data), (target, into) = held[slot], held[min(held)]
                length = min(len(data), len(into), size)
                assert host.hip.hipMemcpy(target, source, length, 3) == SUCCESS
                into[:length] = data[:length].copy()
        for pointer, data in held.values():
            out = np.empty_like(data)
            assert host.hip.hipMemcpy(out.ctypes.data, pointer, out.nbytes, DEVICE_TO_HOST) == SUCCESS
            assert np.array_equal(out, data)
            assert host.settings.damaged_at(pointer.value or 0) is None
            assert host.hip.hipFree(pointer) == SUCCESS

    live()


def test_plain_allocations_follow_the_default_placement(host: Host) -> None:
    """The default placement is a setting: plain hipMalloc follows it."""
    pointer = ctypes.c_void_p()
    for placement, edge in ((0, 16), (1, PAGE)):
        host.hip.bitgateHostSetPlacement(placement)
        assert host.hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(40)) == SUCCESS
        assert (pointer.value or 0) % edge == 0
        assert ((pointer.value or 0) % PAGE == 0) is bool(placement)
        host.hip.hipFree(pointer)
