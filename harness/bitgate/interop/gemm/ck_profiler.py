"""ckProfiler lines of matrix products: ``ckProfiler gemm dtype layout verify init log time M N K StrideA StrideB
StrideC``, ``gemm_splitk`` with a split-K after it, ``batched_gemm`` with batch strides and a count, ``gemm_bilinear``
with the strides of D and E, alpha and beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bitgate.interop.controls import Controls
from bitgate.interop.dialect import Dialect
from bitgate.interop.numbers import integer, integers, real
from bitgate.interop.perf_request import PerfRequest, of_controls
from bitgate.interop.program import Program
from bitgate.model import ELEMENTWISE, DtypeSet, ProblemError
from bitgate.model.gap import Gap
from bitgate.ops.gemm.problem import GemmProblem, gemm_problem

LAYOUTS = {0: "rrr", 1: "rcr", 2: "crr", 3: "ccr"}
_USUAL = {0: "f32", 1: "f16", 2: "bf16", 3: "i8"}
_WITH_F8 = _USUAL | {4: "f8fnuz_f16_f16_ctf16", 5: "f16_f8fnuz_f16_ctf16", 6: "f16_ctf8fnuz"}
CONTROLS = slice(2, 6)
"""verify, init, log, time, after the types and the layout."""
_SIZES = slice(6, 12)
_ITERATIONS = 2
"""Words at the end: runs to warm up and runs to time."""


@dataclass(frozen=True)
class _Profiled:
    """Operation of ckProfiler. ``rest``: how many words may follow the strides; ``dtypes`` by ckProfiler's numbers."""

    dtypes: Mapping[int, str]
    rest: tuple[int, ...]


BILINEAR = "gemm_bilinear"
_BUILT_BILINEAR = ("f16", "i8")
OPERATIONS: Mapping[str, _Profiled] = {
    BILINEAR: _Profiled(_USUAL, (3,)),
    "gemm": _Profiled(_USUAL, (0, _ITERATIONS)),
    "gemm_splitk": _Profiled(_WITH_F8, (1, 1 + _ITERATIONS)),
    "batched_gemm": _Profiled(_USUAL, (1, 4)),
}


def parse(words: Sequence[str]) -> tuple[GemmProblem, ...]:
    """Return the problem of a line (words from ``ckProfiler`` on). ProblemError names the word that is wrong."""
    name, arguments = words[1], words[2:]
    operation = OPERATIONS[name]
    counts = [_SIZES.stop + rest for rest in operation.rest]
    if len(arguments) not in counts:
        raise ProblemError(f"{len(arguments)} words after {name}: it takes {' or '.join(map(str, counts))}")
    dtypes = _of(operation.dtypes, arguments[0], f"{name} data type")
    layout = _of(LAYOUTS, arguments[1], f"{name} layout")
    if name == BILINEAR:
        return (_bilinear(DtypeSet.parse(dtypes), layout, arguments[_SIZES.start :]),)
    m, n, k, *strides = integers(arguments[_SIZES], "the problem after the time switch")
    rest = integers(arguments[_SIZES.stop :], "the words after the strides")
    gaps = gaps_of(layout, (m, n, k), strides)
    batch, split_k = 1, 1
    if name == "batched_gemm":
        batch = rest.pop()
        _check_batch_strides(layout, (m, n, k), strides, rest, batch)
    elif name == "gemm_splitk":
        split_k = rest[0]
        if split_k < 1:
            raise ProblemError(f"split-K is {split_k}: a positive one is understood")
    return (gemm_problem(DtypeSet.parse(dtypes), layout, batch, m, n, k, split_k=split_k, gaps=gaps),)


def _bilinear(dtypes: DtypeSet, layout: str, words: Sequence[str]) -> GemmProblem:
    """Return the problem of the words M N K StrideA StrideB StrideD StrideE alpha beta."""
    m, n, k, a, b, d, e = integers(words[:7], "the problem after the time switch")
    alpha, beta = (real(word, what) for word, what in zip(words[7:], ("alpha", "beta"), strict=True))
    if 0 <= d < n:
        raise ProblemError(f"StrideD is {d}: a row has {n} elements")
    gaps = (*gaps_of(layout, (m, n, k), (a, b, e)), *([Gap("d", "n", d - n)] if d > n else ()))
    op = ELEMENTWISE["bilinear"].with_factors({"alpha": alpha, "beta": beta})
    return gemm_problem(dtypes, layout, 1, m, n, k, op, gaps=gaps)


def controls(words: Sequence[str]) -> Controls:
    """Return how a line that ``parse`` understands wants to be run.

    Its verification is a yes or no: only convolutions have one by a GPU.
    """
    verify, init, log, time = words[2:][CONTROLS]
    verified = "1" if integer(verify, "the verification") else "0"
    return Controls.parse((verified, init, time, log))


def perf(words: Sequence[str]) -> PerfRequest:
    """Return how a line that ``parse`` understands wants to be timed."""
    asked = controls(words)
    request = of_controls(replace(asked, time=min(asked.time, 1)), "the time switch (arg7)")
    if words[1] not in ("batched_gemm", BILINEAR) and len(words) - 2 - _SIZES.stop >= _ITERATIONS:
        launches = integer(words[-1], "the number of iterations")
        if launches < 1:
            raise ProblemError(f"the number of iterations is {launches}: one at least can be timed")
        request = replace(request, launches=launches)
    return request


def ck_profiler_line(problem: GemmProblem) -> str | None:
    """Return the same problem as a line of ckProfiler; None where that has no such types, padding or split-K."""
    if problem.op.name == "bilinear":
        return _bilinear_line(problem)
    elementwise = (problem.op, problem.in_op, problem.wei_op)
    name = "batched_gemm" if problem.batch > 1 else "gemm_splitk" if problem.is_split else "gemm"
    dtypes = OPERATIONS[name].dtypes
    dtype = next((number for number, text in dtypes.items() if DtypeSet.parse(text) == problem.dtypes), None)
    layout = next(number for number, text in LAYOUTS.items() if text == problem.layout)
    sizes = (problem.m, problem.n, problem.k)
    strides = [max(tensor.strides[1:]) for tensor in (problem.tensors[role] for role in ("in", "wei", "out"))]
    if any(op.name != "pass" for op in elementwise) or dtype is None or problem.gap:
        return None
    if (
        problem.gaps != gaps_of(problem.layout, sizes, strides)
        or problem.split_k < 1
        or (problem.is_split and problem.batch > 1)
    ):
        return None
    words = ["ckProfiler", name, dtype, layout, 1, 1, 0, 0, *sizes, *strides]
    words += {"gemm": [], "gemm_splitk": [problem.split_k], "batched_gemm": [-1, -1, -1, problem.batch]}[name]
    return " ".join(map(str, words))


def _bilinear_line(problem: GemmProblem) -> str | None:
    """Return the line of ``gemm_bilinear``; None for what CK has no instances of, and what is padded otherwise."""
    if str(problem.dtypes) not in _BUILT_BILINEAR or problem.d_form.words:
        return None
    dtype = next(number for number, text in _USUAL.items() if text == str(problem.dtypes))
    layout = next(number for number, text in LAYOUTS.items() if text == problem.layout)
    strides = [max(problem.tensors[role].strides[1:]) for role in ("in", "wei", "d0", "out")]
    factors = (f"{factor:g}" for factor in (problem.op.alpha, problem.op.beta))
    words = ["ckProfiler", BILINEAR, dtype, layout, 1, 1, 0, 0, problem.m, problem.n, problem.k, *strides, *factors]
    line = " ".join(map(str, words))
    return line if parse(line.split()) == (problem,) else None


def _row_lengths(layout: str, sizes: tuple[int, int, int]) -> tuple[tuple[str, str, int, int], ...]:
    """Return, for A, B and C, the tensor's name, the axis along a row, elements of a row and rows of a matrix."""
    m, n, k = sizes
    a, b, c = (letter == "r" for letter in layout)
    return (
        ("a", "k", k, m) if a else ("a", "m", m, k),
        ("b", "n", n, k) if b else ("b", "k", k, n),
        ("c", "n", n, m) if c else ("c", "m", m, n),
    )


def gaps_of(layout: str, sizes: tuple[int, int, int], strides: Sequence[int]) -> tuple[Gap, ...]:
    """Return the padding that the strides leave after each row; none below zero. ProblemError for rows that overlap."""
    gaps = []
    for (name, axis, length, _), stride in zip(_row_lengths(layout, sizes), strides, strict=True):
        if 0 <= stride < length:
            raise ProblemError(f"Stride{name.upper()} is {stride}: a row has {length} elements")
        if stride > length:
            gaps.append(Gap(name, axis, stride - length))
    return tuple(gaps)


def _check_batch_strides(
    layout: str, sizes: tuple[int, int, int], strides: Sequence[int], batch_strides: Sequence[int], batch: int
) -> None:
    """Raise ProblemError unless each matrix follows the one before, as they do where no stride is stated."""
    if not batch_strides or batch == 1:
        return
    for (name, _, length, rows), stride, said in zip(_row_lengths(layout, sizes), strides, batch_strides, strict=True):
        packed = rows * max(stride, length)
        if said >= 0 and said != packed:
            raise ProblemError(f"BatchStride{name.upper()} is {said}: {packed} (or -1) is understood, without gaps")


def _of(table: Mapping[int, str], word: str, what: str) -> str:
    number = integer(word, what)
    if number not in table:
        known = ", ".join(f"{key} ({value})" for key, value in table.items())
        raise ProblemError(f"{what} {number} is not understood: {known} are")
    return table[number]


DIALECT = Dialect(
    ("gemm",),
    {"ckProfiler": Program(parse, controls, perf=perf, commands=tuple(OPERATIONS))},
    line=ck_profiler_line,
)
