"""The definition of counter-based data and of the digest's arithmetic, in numpy; counter.hpp has the same in C++.

Everything is modulo 2^64, or 2^32 where stated. docs/exactness.md states the algorithm in words.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Words modulo 2^64; where 32 bits are meant, below 2^32."""

GENERATOR = 1
"""The generator's version, raised whenever the same plan and seed give other data: stored digests of another one are
refused."""

GOLDEN = 0x9E3779B97F4A7C15
FULL_DENSITY = 2**32
_MASK32 = np.uint64(0xFFFFFFFF)
_MASK64 = 2**64 - 1


def mix64(z: Words) -> Words:
    """Apply a bijection of 64-bit words in which every input bit reaches every output bit (splitmix64's finaliser)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = z ^ (z >> np.uint64(31))
    return mixed


def mix32(z: Words) -> Words:
    """Apply such a bijection to 32-bit words, held in uint64."""
    z = ((z ^ (z >> np.uint64(16))) * np.uint64(0x7FEB352D)) & _MASK32
    z = ((z ^ (z >> np.uint64(15))) * np.uint64(0x846CA68B)) & _MASK32
    mixed: Words = z ^ (z >> np.uint64(16))
    return mixed


def mix64_int(z: int) -> int:
    """Return ``mix64`` of one word, without numpy, which is slow for single words."""
    z &= _MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK64
    return z ^ (z >> 31)


def salt_of(name: str) -> int:
    """Return a tensor's name, of up to 8 characters, as the little-endian integer of its ASCII bytes."""
    encoded = name.encode("ascii")
    if len(encoded) > 8:
        raise ValueError(f"tensor name '{name}' is longer than 8 characters")
    return int.from_bytes(encoded, "little")


@lru_cache(maxsize=1024)
def stream(seed: int, name: str) -> int:
    """Return the 64-bit start of a tensor's sequence."""
    return mix64_int(mix64_int(seed + GOLDEN) ^ salt_of(name))


def words(stream: int, index: Words) -> Words:
    """Return one random word for each logical index (uint64)."""
    return mix64(np.uint64(stream) + (index + np.uint64(1)) * np.uint64(GOLDEN))


def integers(words: Words, range_: int, keep: int) -> NDArray[np.int64]:
    """Return uniform non-zero integers of [-range_, range_], and 0 where the low 32 bits are not below ``keep``."""
    shifted = (((words >> np.uint64(32)) * np.uint64(2 * range_)) >> np.uint64(32)).astype(np.int64) - range_
    value = shifted + (shifted >= 0)
    return np.where((words & _MASK32) < np.uint64(keep), value, 0)


def real32(words: Words) -> NDArray[np.float32]:
    """Return uniform numbers in [-1, 1) in steps of 2^-23, exact in f32."""
    steps = (words >> np.uint64(40)).astype(np.int64) - 2**23
    value: NDArray[np.float32] = np.ldexp(steps.astype(np.float32), -23)
    return value


def real64(words: Words) -> NDArray[np.float64]:
    """Return uniform numbers in [-1, 1) in steps of 2^-52, exact in f64."""
    steps = (words >> np.uint64(11)).astype(np.int64) - 2**52
    value: NDArray[np.float64] = np.ldexp(steps.astype(np.float64), -52)
    return value


def digest_sums(bits: NDArray[Any], first: int) -> tuple[int, int]:
    """Return the two digest sums of consecutive elements (unsigned, in logical order); ``first`` is the first one's
    index."""
    flat = np.ascontiguousarray(bits).reshape(-1)
    per_element = 1
    if flat.dtype.itemsize == 8:
        per_element = 2
        flat = np.stack([flat & _MASK32, flat >> np.uint64(32)], axis=1).reshape(-1)
    position = np.arange(len(flat), dtype=np.uint64) + np.uint64(first * per_element)
    page_key = mix32((position >> np.uint64(32)) ^ np.uint64(0x5BD1E995))
    place = mix32((position & _MASK32) ^ page_key)
    other = ((place * np.uint64(0x9E3779B1)) & _MASK32) ^ (place >> np.uint64(15))
    value = flat.astype(np.uint64) ^ np.uint64(0x85EBCA6B)
    one = np.uint64(1)
    return int(np.sum(value * (place | one))), int(np.sum(value * (other | one)))


def digest_finish(sums: tuple[int, int], dtype_code: int, lengths: tuple[int, ...]) -> tuple[int, int]:
    """Mix type and shape into the sums."""
    shape = mix64_int(GOLDEN ^ dtype_code)
    for value in (len(lengths), *lengths):
        shape = mix64_int(shape ^ value)
    return mix64_int(sums[0] ^ shape), mix64_int(sums[1] + shape * GOLDEN)
