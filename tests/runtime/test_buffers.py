"""Device memory: what goes in comes out, and a write outside is seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitgate.runtime.buffers import BufferBlock, GuardDamage, fits
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError

PLACEMENTS = ("right", "left")


@pytest.fixture(params=["guard_pages", "canary_zones"])
def guarded(device: Device, request: pytest.FixtureRequest) -> Device:
    """The host with its guard pages, and the same as a GPU is treated: canary zones around each allocation."""
    return device if request.param == "guard_pages" else Device(device.target, device.hip, None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.binary(max_size=5000), st.sampled_from([1, 4, 16, 256]), st.sampled_from(PLACEMENTS))
def test_what_is_uploaded_is_downloaded(guarded: Device, data: bytes, alignment: int, placement: str) -> None:
    there, back = np.frombuffer(data, np.uint8), np.empty(len(data), np.uint8)
    with guarded.alloc(len(data), name="x", alignment=alignment, placement=placement) as buffer:
        assert buffer.pointer % alignment == 0
        buffer.upload(there)
        buffer.download(back)
        assert bytes(back) == data
        assert buffer.check_guards() is None


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("size", [0, 20, 4100, (1 << 20) + 4])
def test_what_is_put_in_with_guards_is_looked_at_with_them(
    device: Device, poke: Callable[[int, int], int], placement: str, size: int
) -> None:
    """Of a GPU: in one copy, unless the buffer is large."""
    gpu = Device(device.target, device.hip, None)
    there, back = np.random.default_rng(1).integers(0, 256, size, np.uint8), np.empty(size, np.uint8)
    with gpu.alloc(size, name="x", placement=placement, guarded=False) as buffer:
        buffer.put(there)
        seen = buffer.look()
        assert seen.damage is None
        assert (seen.content is None) == (size > 1 << 20)
        assert seen.content is None or bytes(seen.content) == bytes(there)
        buffer.download(back)
        assert bytes(back) == bytes(there)
        assert buffer.check_guards() is None
        assert poke(buffer.pointer, -1) == 0
        device.synchronize()
        assert buffer.look().damage == buffer.check_guards() == GuardDamage("x", -1, size)
        assert poke(buffer.pointer + size, 0) == 0
        device.synchronize()
        buffer.put(there)
        assert buffer.look().damage is None
    gpu.pool.empty()


SIZES = {"a": 20, "b": 0, "c": 4100, "d": 256}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_small_buffers_share_a_block_and_have_separate_guards(
    device: Device, poke: Callable[[int, int], int], placement: str
) -> None:
    gpu = Device(device.target, device.hip, None)
    drawn = np.random.default_rng(1)
    contents = {name: drawn.integers(0, 256, size, np.uint8) for name, size in SIZES.items()}
    block = BufferBlock(gpu, contents, 16, placement)
    back = {name: np.empty(size, np.uint8) for name, size in SIZES.items()}
    for name, buffer in block.buffers.items():
        assert (buffer.pointer % 16, buffer.bytes) == (0, SIZES[name])
        buffer.download(back[name])
        assert back[name].tobytes() == contents[name].tobytes()
    seen = block.look()
    assert {name: one.content.tobytes() for name, one in seen.items() if one.content is not None} == {
        name: content.tobytes() for name, content in contents.items()
    }
    assert [one.damage for one in seen.values()] == [None] * 4
    for name, size in SIZES.items():
        for beside in (-4, size + -size % 4):
            block.free()
            block = BufferBlock(gpu, contents, 16, placement)
            buffer = block.buffers[name]
            assert poke(buffer.pointer + beside, 0) == 0
            device.synchronize()
            damage = {other: one.damage for other, one in block.look().items() if one.damage is not None}
            assert damage == {name: GuardDamage(name, max(beside, -1), size)}
    block.free()
    block.free()
    gpu.pool.empty()


def test_a_block_is_for_several_small_buffers() -> None:
    small, large = np.empty(100, np.uint8), np.empty(1 << 20, np.uint8)
    assert fits({"a": small, "b": small})
    assert not fits({"a": small})
    assert not fits({"a": small, "b": large})


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("cell", [-1, 5])
def test_a_write_beside_a_buffer_is_found(
    guarded: Device, poke: Callable[[int, int], int], placement: str, cell: int
) -> None:
    """Five ints: the cell before them and the one after. The host's guard page ends the kernel that meets it."""
    with guarded.alloc(20, name="dx", alignment=4, placement=placement) as buffer:
        poke(buffer.pointer, cell)
        met_the_page = guarded.host is not None and (placement == "left") == (cell < 0)
        if met_the_page:
            with pytest.raises(HipError, match="hipErrorIllegalAddress"):
                guarded.synchronize()
            fault = guarded.fault()
            assert fault is not None
            assert (fault.buffer, fault.offset, fault.kernel, fault.is_write) == ("dx", 4 * cell, "poke", True)
        else:
            guarded.synchronize()
            damage = buffer.check_guards()
            assert damage is not None
            assert 4 * cell <= damage.offset < 4 * cell + 4, "an int was written there"


def test_damage_shows_at_the_latest_when_the_buffer_is_freed(device: Device, poke: Callable[[int, int], int]) -> None:
    buffer = device.alloc(20, name="dx", placement="left")
    poke(buffer.pointer, 5)
    device.synchronize()
    with pytest.raises(HipError, match="hipFree: hipErrorIllegalAddress"):
        buffer.free()


def test_damage_is_reported_in_words() -> None:
    assert GuardDamage("dx", -3, 20).text == "byte 3 before buffer dx was written"
    assert GuardDamage("dx", 20, 20).text == "byte 0 past the end of buffer dx (20 bytes) was written"


def test_fill_sets_every_byte(guarded: Device) -> None:
    back = np.zeros(100, np.uint8)
    with guarded.alloc(100, name="x") as buffer:
        buffer.fill(0xA5)
        buffer.download(back)
    assert set(back) == {0xA5}


def test_an_array_of_another_size_is_refused(device: Device) -> None:
    with device.alloc(16, name="x") as buffer:
        with pytest.raises(ValueError, match="has 12 bytes"):
            buffer.upload(np.zeros(3, np.float32))
        with pytest.raises(ValueError, match="contiguous: False"):
            buffer.download(np.zeros((4, 2), np.float32)[:, 0])


@pytest.mark.parametrize(("arguments", "message"), [({"alignment": 3}, "alignment 3"), ({"placement": "up"}, "'up'")])
def test_a_wrong_request_is_refused(device: Device, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        device.alloc(16, name="x", **arguments)  # type: ignore[arg-type]


def test_running_out_of_memory_is_hips_error(device: Device) -> None:
    assert device.host is not None
    device.host.set_total_memory(1 << 20)
    with pytest.raises(HipError) as raised:
        device.alloc(1 << 21, name="x")
    assert raised.value.name == "hipErrorOutOfMemory"


def test_freeing_twice_is_harmless(guarded: Device) -> None:
    buffer = guarded.alloc(16, name="x")
    buffer.free()
    buffer.free()
    assert buffer.pointer == 0
