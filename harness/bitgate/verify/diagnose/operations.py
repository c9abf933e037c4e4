"""Mistakes of any sum of products: the element-wise operation, D, elements of the operands, the type of the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import combinations

import numpy as np

from bitgate.model import DTYPES, Dtype, Elementwise
from bitgate.numerics.bits import Array
from bitgate.numerics.rounding import rounded
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed
from bitgate.verify.diagnose.places import VECTORS
from bitgate.verify.diagnose.sums import Floats, Index, S, applied_to

PARTS = range(2, 6)
"""Numbers of equal parts of an axis that are tried."""
MOST_CELLS = 1 << 20
"""Operands with more cells are not rearranged: each mistake copies them."""


def operation_mistakes(known: Recomputed[S]) -> Iterator[Mistake]:
    """Yield mistakes of the element-wise operations: factors, D or all of one left out, taken twice or swapped."""
    problem = known.scene.problem
    op, name = problem.op, known.scene.tensor_name
    a, b = op.alpha, op.beta

    def mistake(text: str, value: Callable[[float, float], float]) -> Mistake:
        def of(cell: Index) -> float:
            return value(known.sum(cell), known.d(cell) if op.num_d else 0.0)

        return Mistake(text, "epilogue", of, evidence={"op": op.name})

    if "alpha" in op.takes:
        yield mistake(f"alpha = {a:g} is left out", lambda v, d: v + b * d)
        yield mistake(f"alpha = {a:g} is applied twice", lambda v, d: a * a * v + b * d)
    if "beta" in op.takes:
        yield mistake(f"beta = {b:g} is left out", lambda v, d: a * v + d)
        yield mistake(f"beta = {b:g} is applied twice", lambda v, d: a * v + b * b * d)
        yield mistake("alpha and beta, or D and the sum, are swapped", lambda v, d: b * v + a * d)
        yield mistake("alpha acts on D, too", lambda v, d: a * (v + b * d))
        yield mistake("the operation is left out: the bare sum is written", lambda v, d: v)
    if op.num_d:
        yield mistake("D is left out", lambda v, d: a * v)
        yield mistake("D is subtracted", lambda v, d: a * v - op.d_factor * d)
        yield mistake("D is taken twice", lambda v, d: a * v + 2 * op.d_factor * d)
        yield mistake("the sum is left out: D alone is written", lambda v, d: op.d_factor * d)
        yield from _other_d(known)
    if op.name == "relu":
        yield mistake("relu is left out", lambda v, d: v)
    for role in problem.operation.numerics.operands(problem):
        own = problem.operation.numerics.operation_of(problem, role)
        if own.name == "scale":
            text = f"alpha = {own.alpha:g} of the operation on {_name(known, role)} is left out"
            yield mistake(text, partial(_unscaled, op, own.alpha))
    yield from _converted(known, name)


def _unscaled(op: Elementwise, alpha: float, v: float, d: float) -> float:
    return float(applied_to(op, np.array(v / alpha), d))


def _other_d(known: Recomputed[S]) -> Iterator[Mistake]:
    """Yield mistakes in the coordinates of D."""
    op = known.scene.problem.op
    lengths = known.scene.inputs["d0"].shape

    def mistake(text: str, axis: int, moved: Callable[[int], int]) -> Mistake:
        def of(cell: Index) -> float:
            at = (*cell[:axis], moved(cell[axis]), *cell[axis + 1 :])
            return float(applied_to(op, np.array(known.sum(cell)), known.d(at)))

        return Mistake(text, "epilogue", of, evidence={"op": op.name})

    for axis, letter in enumerate(known.scene.letters):
        length = lengths[axis]
        if length < 2:
            continue
        yield mistake(f"D is read at {letter} 0 for every {letter}", axis, lambda i: 0)
        for step, sign in ((1, "+"), (-1, "-")):
            yield mistake(f"D is read at {letter} {sign} 1", axis, partial(_stepped, step, length))
        for part in parts_of(length):
            words = f"D is read at {letter} mod {part}: the offset of later parts is left out"
            yield mistake(words, axis, partial(_within, part))
        for vector in (width for width in VECTORS if width < length):
            words = f"D is read at the first of every {vector} {letter}"
            yield mistake(words, axis, partial(_first_of, vector))


def parts_of(length: int) -> list[int]:
    """Return lengths of parts that an axis may be taken in: powers of 2, and some equal parts."""
    powers = [2**power for power in range(1, length.bit_length()) if 2**power < length]
    return list(dict.fromkeys([*powers, *(-(-length // count) for count in PARTS if -(-length // count) > 1)]))


def _within(part: int, index: int) -> int:
    return index % part


def _first_of(vector: int, index: int) -> int:
    return index - index % vector


def _stepped(step: int, length: int, index: int) -> int:
    return (index + step) % length


def _converted(known: Recomputed[S], name: str) -> Iterator[Mistake]:
    """Yield mistakes of conversions: a sum or result in a narrower type on its way, or integers that wrap."""
    dtype, op = known.scene.dtype, known.scene.problem.op
    if dtype.is_float:
        for narrow in (DTYPES[name] for name in ("bf16", "f16") if DTYPES[name].bytes < dtype.bytes):

            def narrowed(cell: Index, narrow: Dtype = narrow) -> float:
                total = rounded(np.array([known.sum(cell)]), narrow).astype(np.float64)
                return float(applied_to(op, total, known.d(cell) if op.num_d else 0.0)[0])

            yield Mistake(f"the sums are rounded to {narrow} before they are finished", "rounding", narrowed)
        return

    def value(cell: Index) -> float:
        return float(applied_to(op, np.array(known.sum(cell)), known.d(cell) if op.num_d else 0.0))

    def short(cell: Index) -> float:
        total = np.array(known.sum(cell)).astype(np.int64).astype(np.int16)
        return float(applied_to(op, total.astype(np.float64), known.d(cell) if op.num_d else 0.0))

    def wrapped(values: Floats) -> Array:
        return np.rint(values).astype(np.int64).astype(dtype.numpy)

    def cut(values: Floats) -> Array:
        info = np.iinfo(dtype.numpy)
        return np.clip(np.trunc(values), info.min, info.max).astype(dtype.numpy)

    text = f"sums beyond the range of {dtype} wrap around in {name} instead of saturating"
    yield Mistake(text, "overflow", value, wrapped)
    yield Mistake("the sums wrap around in 16 bits", "overflow", short)
    yield Mistake(f"numbers are cut off in {name} instead of rounded to nearest even", "rounding", value, cut)


def operand_mistakes(known: Recomputed[S]) -> Iterator[Mistake]:
    """Yield mistakes in the coordinates of an operand: one for all, a neighbour's, mirrored, or two axes swapped."""
    problem = known.scene.problem
    for role in problem.operation.numerics.operands(problem):
        letters = problem.operation.diagnostics.letters(problem, role)
        for axis, letter in enumerate(letters):
            yield from _along(known, role, axis, letter)
        array = np.asarray(known.scene.inputs[role])
        for one, other in combinations(range(len(letters)), 2):
            if array.shape[one] == array.shape[other] > 1:
                words = f"axes {letters[one]} and {letters[other]} of {_name(known, role)} are swapped"
                yield _with(known, role, partial(np.swapaxes, array, one, other), words, letters[one])


def _along(known: Recomputed[S], role: str, axis: int, letter: str) -> Iterator[Mistake]:
    """Yield mistakes in one coordinate of an operand."""
    array, name = np.asarray(known.scene.inputs[role]), _name(known, role)
    length = array.shape[axis]
    if length < 2:
        return
    first = partial(np.broadcast_to, np.take(array, [0], axis), array.shape)
    yield _with(known, role, first, f"{name} is read at {letter} 0 for every {letter}", letter)
    if length > 2:  # else it is the neighbour's
        yield _with(known, role, partial(np.flip, array, axis), f"{name} is read backwards along {letter}", letter)
    if array.size <= MOST_CELLS and not _shifts_result(known, role, axis):
        for step, sign in ((1, "+"), (-1, "-")):
            moved = lru_cache(partial(np.roll, array, -step, axis))
            yield _with(known, role, moved, f"{name} is read at {letter} {sign} 1", letter)
    if array.size <= MOST_CELLS:
        for part in parts_of(length):
            again = lru_cache(partial(np.take, array, np.arange(length) % part, axis))
            words = f"{name} is read at {letter} mod {part}: the offset of later parts is left out"
            yield _with(known, role, again, words, letter)


def _shifts_result(known: Recomputed[S], role: str, axis: int) -> bool:
    """Return whether another coordinate of the operand gives whole cells of the result another place: ``shifted``."""
    problem = known.scene.problem
    numerics = problem.operation.numerics
    form = numerics.form(problem)
    if form is None:
        return False
    letter = form.axes[role][axis]
    others = [other for other in numerics.operands(problem) if other != role]
    return letter in form.axes[problem.result] and not any(letter in form.axes[other] for other in others)


def _name(known: Recomputed[S], role: str) -> str:
    return known.scene.problem.operation.diagnostics.names(known.scene.problem)[role]


KIND_OF_LETTER: Mapping[str, str] = {"g": "wrong_group", "b": "wrong_group", "n": "wrong_image"}


def _with(known: Recomputed[S], role: str, array: Callable[[], Array], text: str, letter: str) -> Mistake:
    scene = known.scene
    op = scene.problem.op

    def value(cell: Index) -> float:
        total = known.terms(scene.problem, {**scene.inputs, role: array()}, cell).sum()
        return float(applied_to(op, np.asarray(total), known.d(cell) if op.num_d else 0.0))

    kind = "operand" if role == "wei" and letter == "n" else KIND_OF_LETTER.get(letter, "operand")
    return Mistake(text, kind, value, evidence={"operand": role, "axis": letter})
