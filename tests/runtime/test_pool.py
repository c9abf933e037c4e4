"""Blocks are kept and used again; the memory comes from the real host runtime."""

from __future__ import annotations

import pytest

from bitgate.runtime.buffers import LARGEST_BLOCK, SMALLEST_BLOCK, BlockPool
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError


def test_a_block_is_used_again_by_whatever_fits_it(device: Device) -> None:
    pool = BlockPool(device.hip)
    first = pool.take(100)
    other = pool.take(100)
    assert first != other
    pool.give(first, 100)
    assert pool.unused == SMALLEST_BLOCK
    assert pool.take(SMALLEST_BLOCK) == first
    larger = pool.take(SMALLEST_BLOCK + 1)
    assert larger not in (first, other)
    for address, size in ((first, SMALLEST_BLOCK), (other, 100), (larger, SMALLEST_BLOCK + 1)):
        pool.give(address, size)
    assert pool.unused == 4 * SMALLEST_BLOCK
    pool.empty()
    assert pool.unused == 0


def test_neither_large_blocks_nor_too_many_are_kept(device: Device) -> None:
    pool = BlockPool(device.hip, limit=SMALLEST_BLOCK)
    blocks = [pool.take(10) for _ in range(2)]
    for block in blocks:
        pool.give(block, 10)
    assert pool.unused == SMALLEST_BLOCK
    large = pool.take(LARGEST_BLOCK + 1)
    pool.give(large, LARGEST_BLOCK + 1)
    assert pool.unused == SMALLEST_BLOCK
    pool.empty()


def test_what_is_kept_is_given_up_before_memory_runs_out(device: Device) -> None:
    assert device.host is not None
    free = device.free_memory()
    pool = BlockPool(device.hip)
    pool.give(pool.take(100), 100)
    with pytest.raises(HipError, match="hipErrorOutOfMemory"):
        pool.take(4 * free)
    assert pool.unused == 0
