"""f32 products as CUTLASS makes them of three TF32 products on a tensor core (OpMultiplyAddFastF32), bit by bit.

Each factor is cut to TF32, and what is left is rounded to TF32. An instruction adds eight products to an accumulator.
Terms are cut to the bits of the largest one and two more, and their sum is cut to f32. The accumulator joins the sum,
rounded to nearest, after the first instruction of each 32 terms and at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

TF32_BITS, F32_BITS = 11, 24
GUARD_BITS = 2
INSTRUCTION, STAGE, BLOCK = 8, 32, 64
"""Terms of an instruction, of a stage in shared memory, and of a block of queries, which begins with empty sums."""


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply matrices of f32 numbers, given and returned in f64."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]))
    for block in range(0, a.shape[-1], BLOCK):
        staged = np.zeros_like(total)
        for begin in range(block, min(block + BLOCK, a.shape[-1]), INSTRUCTION):
            end = min(begin + INSTRUCTION, block + BLOCK)
            for one, other in in_three(a[..., begin:end], b[..., begin:end, :]):
                staged = instruction(one, other, staged)
            if begin % STAGE == 0:
                total, staged = to_f32(total + staged), np.zeros_like(total)
        total = to_f32(total + staged)
    return total


def in_three(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the factors of the products in their order; that of both small parts is left out."""
    (big, small), (other_big, other_small) = parts(a), parts(b)
    yield from ((small, other_big), (big, other_small), (big, other_big))


def parts(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    big = cut(cells, TF32_BITS)
    left = cells - big
    # Half a unit is added to the magnitude, then the rest is cut.
    mantissa, exponent = np.frexp(left)
    return big, np.ldexp(np.trunc(np.ldexp(mantissa, TF32_BITS) + np.copysign(0.5, mantissa)), exponent - TF32_BITS)


def cut(cells: np.ndarray, bits: int) -> np.ndarray:
    mantissa, exponent = np.frexp(cells)
    return np.asarray(np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits))


def instruction(a: np.ndarray, b: np.ndarray, accumulator: np.ndarray) -> np.ndarray:
    terms = np.concatenate([a[..., :, :, None] * b[..., None, :, :], accumulator[..., None, :]], axis=-2)
    largest = np.frexp(np.abs(terms).max(-2, keepdims=True))[1]
    unit = np.ldexp(1.0, largest - F32_BITS - GUARD_BITS)
    return cut((np.trunc(terms / unit) * unit).sum(-2), F32_BITS)


def to_f32(cells: np.ndarray) -> np.ndarray:
    return cells.astype(np.float32).astype(float)
