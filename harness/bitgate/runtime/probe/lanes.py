"""A probe of which lane holds which element: one-hot tiles name the row, the column and the k that reached each element
of C.

For each k0 three questions, each repeated for each digit (base 8, digits 1 to 8, which every type holds exactly):

    row      A(i, k0) = digit of i, B = 1                 C(i, j) must be the digit of i
    column   A = 1, B(k0, j) = digit of j                 C(i, j) must be the digit of j
    k        A(i, k0) = 1, B(k, j) = digit of k           C(i, j) must be the digit of k0

So every product e(i, k) x e(k, j) is seen alone, in 6 K blocks of one launch. A last block has no zeros at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from bitgate.model import DTYPES, Dtype
from bitgate.runtime.probe.workbench import Deviation, Fragment, Tiles, Workbench

Sums = NDArray[np.float64]

DIGITS = 2
BASE = 8
QUESTIONS = ("row", "column", "k")


def lanes(bench: Workbench) -> Iterator[Deviation]:
    """Yield a finding for each fragment that puts an element where it does not belong."""
    fragments = bench.fragments()
    bench.found["fragments"] = [fragment.name for fragment in fragments]
    for fragment in fragments:
        a, b = tiles(fragment)
        found = bench.sums(fragment, a[:, None], b[:, None]).astype(np.float64)
        if text := judge(fragment, a, b, found):
            yield Deviation(text, fragment.name)


def tiles(fragment: Fragment) -> tuple[Tiles, Tiles]:
    """Return (blocks, M, K) and (blocks, K, N): for each k0 the questions' digits, then the block without zeros."""
    m, n, k = fragment.m, fragment.n, fragment.k
    a = np.zeros((k, len(QUESTIONS), DIGITS, m, k))
    b = np.zeros((k, len(QUESTIONS), DIGITS, k, n))
    for k0 in range(k):
        for place in range(DIGITS):
            a[k0, 0, place, :, k0], b[k0, 0, place] = _digit(np.arange(m), place), 1
            a[k0, 1, place], b[k0, 1, place, k0] = 1, _digit(np.arange(n), place)
            a[k0, 2, place, :, k0], b[k0, 2, place] = 1, _digit(np.arange(k), place)[:, None]
    full_a = 1 + (3 * np.arange(m)[:, None] + 5 * np.arange(k)) % 7
    full_b = 1 + (2 * np.arange(k)[:, None] + 3 * np.arange(n)) % 5
    return (
        np.concatenate([a.reshape(-1, m, k), full_a[None]]).astype(fragment.a.numpy),
        np.concatenate([b.reshape(-1, k, n), full_b[None]]).astype(fragment.b.numpy),
    )


def judge(fragment: Fragment, a: Tiles, b: Tiles, found: Sums) -> str:
    """Return what is wrong with the sums of these tiles; empty if nothing is."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    if np.array_equal(found, wide_a @ wide_b):
        return ""
    untouched = np.isnan(found) if fragment.sum.is_float else (found == -1).all(axis=0, keepdims=True)
    if untouched.any():
        _, row, column = np.argwhere(np.broadcast_to(untouched, found.shape))[0]
        return f"C element ({row}, {column}) is written by no lane"
    for explains, format_text in _EXPLANATIONS:
        expected = explains(fragment, a, b)
        if expected is not None and np.array_equal(found, expected):
            return format_text(fragment)
    return _first_wrong(fragment, found, wide_a @ wide_b)


def _digit(index: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    digits: NDArray[np.int64] = 1 + index // BASE**place % BASE
    return digits


def _transposed_a(fragment: Fragment, a: Tiles, b: Tiles) -> Sums | None:
    square = fragment.m == fragment.k
    return a.astype(np.float64).transpose(0, 2, 1) @ b.astype(np.float64) if square else None


def _transposed_b(fragment: Fragment, a: Tiles, b: Tiles) -> Sums | None:
    square = fragment.n == fragment.k
    return a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1) if square else None


def _transposed_c(fragment: Fragment, a: Tiles, b: Tiles) -> Sums | None:
    square = fragment.m == fragment.n
    return (a.astype(np.float64) @ b.astype(np.float64)).transpose(0, 2, 1) if square else None


def _counted_twice(fragment: Fragment, a: Tiles, b: Tiles) -> Sums | None:
    return 2 * (a.astype(np.float64) @ b.astype(np.float64))


def _other_flavour(fragment: Fragment, a: Tiles, b: Tiles) -> Sums | None:
    """Return the sums of the same bytes, read as the other kind of 8-bit float."""
    if not (fragment.a.is_float8 or fragment.b.is_float8):
        return None
    read = [
        tile.view(_of_other_flavour(dtype).numpy).astype(np.float64)
        for tile, dtype in ((a, fragment.a), (b, fragment.b))
    ]
    return read[0] @ read[1]


def _of_other_flavour(dtype: Dtype) -> Dtype:
    """Return OCP's type of the same layout for an FNUZ one, and the reverse; for other types the type itself."""
    if not dtype.is_float8:
        return dtype
    other = dtype.name.replace("ocp", "fnuz") if dtype.name.endswith("ocp") else dtype.name.replace("fnuz", "ocp")
    return DTYPES[other]


def _always(what: str) -> Callable[[Fragment], str]:
    return lambda fragment: what


def _format_flavour(fragment: Fragment) -> str:
    dtype = fragment.a if fragment.a.is_float8 else fragment.b
    return f"the bytes of {dtype} are read as {_of_other_flavour(dtype)}"


_EXPLANATIONS: tuple[tuple[Callable[[Fragment, Tiles, Tiles], Sums | None], Callable[[Fragment], str]], ...] = (
    (_transposed_a, _always("A element (0, 1) is taken for (1, 0): A's lane map is transposed")),
    (_transposed_b, _always("B element (0, 1) is taken for (1, 0): B's lane map is transposed")),
    (_transposed_c, _always("C element (0, 1) came out at (1, 0): C's lane map is transposed")),
    (_counted_twice, _always("every product is counted twice")),
    (_other_flavour, _format_flavour),
)


def _first_wrong(fragment: Fragment, found: Sums, expected: Sums) -> str:
    """Return the first wrong element by the questions; each names an index that is wrong."""
    m, n, k = fragment.m, fragment.n, fragment.k
    answers = found[:-1].reshape(k, len(QUESTIONS), DIGITS, m, n)
    right = expected[:-1].reshape(k, len(QUESTIONS), DIGITS, m, n)
    wrong = (answers != right).any(axis=2)  # (k0, question, row, column)
    if not wrong.any():
        _, row, column = np.argwhere(found != expected)[0]
        sums = f"{found[-1, row, column]:g}, not {expected[-1, row, column]:g}"
        return f"each product alone is right, but the sum of all {k} at ({row}, {column}) is {sums}"
    share = f"{int(wrong.any(axis=(0, 1)).sum())} of {m * n} elements of C are wrong"
    for question, (what, limit) in enumerate(zip(QUESTIONS, (m, n, k), strict=True)):
        hits = np.argwhere(wrong[:, question])
        if not len(hits):
            continue
        k0, row, column = (int(i) for i in hits[0])
        index = _decode(answers[k0, question, :, row, column], limit)
        return f"{_FORMATS[what](row, column, k0, index)}; {share}"
    return share


def _decode(digits: NDArray[np.float64], limit: int) -> int | None:
    """Return the index that two digits spell; None if they are no digits of one index."""
    if not all(digit in range(1, BASE + 1) for digit in digits):
        return None
    index = sum((int(digit) - 1) * BASE**place for place, digit in enumerate(digits))
    return index if index < limit else None


def _format_row(row: int, column: int, k0: int, index: int | None) -> str:
    if index is None:
        return f"at k = {k0} C({row}, {column}) should see row {row} of A alone, and sees another number of elements"
    return f"row {index} of A came out at C({row}, {column}): the rows of A and C disagree at k = {k0}"


def _format_column(row: int, column: int, k0: int, index: int | None) -> str:
    if index is None:
        return (
            f"at k = {k0} C({row}, {column}) should see column {column} of B alone, and sees another number of elements"
        )
    return f"column {index} of B came out at C({row}, {column}): the columns of B and C disagree at k = {k0}"


def _format_k(row: int, column: int, k0: int, index: int | None) -> str:
    met = "no single k" if index is None else f"k = {index}"
    return f"k = {k0} of A meets {met} of B in C({row}, {column}): A and B order k differently"


_FORMATS: dict[str, Callable[[int, int, int, int | None], str]] = {
    "row": _format_row,
    "column": _format_column,
    "k": _format_k,
}
