"""benchdnn's descriptors of matrix products: ``8x64x32:8x32x48n"layer1"``, [batch x ..]MxK:[batch x ..]KxN."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from bitgate.interop.benchdnn_post_ops import OPTION, operation_of
from bitgate.interop.benchdnn_types import bias_of, dtypes_of, letters_of
from bitgate.interop.dialect import Dialect
from bitgate.interop.program import BenchdnnDriver, Values
from bitgate.model import ProblemError
from bitgate.ops.gemm.problem import GEMM_LAYOUTS, GemmProblem, gemm_problem

DEFAULTS: Mapping[str, str] = {
    "dt": "f32",
    "stag": "any",
    "wtag": "any",
    "dtag": "any",
    "bia-dt": "undef",
    "bia-mask": "2",
    OPTION: "",
}
DESCRIPTOR = re.compile(r"\d+(?:x\d+)+:\d")
_WHOLE = re.compile(r"(\d{1,18}(?:x\d{1,18})+):(\d{1,18}(?:x\d{1,18})+)(?::(\d{1,18}(?:x\d{1,18})+))?_?(?:n.*)?")


def problems(descriptor: str, values: Values) -> Iterator[tuple[GemmProblem, str]]:
    """Yield the problem of a descriptor under values of all DEFAULTS."""
    dtypes = dtypes_of(values["dt"])
    found = _WHOLE.fullmatch(descriptor)
    if found is None:
        raise ProblemError(f"descriptor '{descriptor}' is no [batch x ..]MxK:[batch x ..]KxN")
    try:
        (*batches, m, k), (*others, rows, n) = ([int(word) for word in found[side].split("x")] for side in (1, 2))
        if rows != k:
            raise ProblemError(f"the sources have {k} columns, the weights {rows} rows")
        if batches != others:
            raise ProblemError(f"batches {_spelled(batches)} and {_spelled(others)}: broadcasting is not understood")
        if found[3] and [int(word) for word in found[3].split("x")] != [*batches, m, n]:
            raise ProblemError(f"the result is {_spelled([*batches, m, n])}, not {found[3]}")
        bias = bias_of(values["bia-dt"], dtypes.out.name)
        columns = 2 << len(batches)
        if bias and (values["bia-mask"] != str(columns) or prod(batches) != 1):
            raise ProblemError(f"a bias is understood with mask {columns} (one value a column) and without a batch")
        layout = _layout(values, 2 + len(batches))
        op = operation_of(values[OPTION], values["dt"].split(":")[-1], bias=bias)
        yield gemm_problem(dtypes, layout, prod(batches), m, n, k, op), ""
    except ProblemError as error:
        raise ProblemError(f"descriptor '{descriptor}': {error}") from None


def settled(values: Values) -> Values:
    """Return values without the mask of a bias where there is none."""
    return {**values, "bia-mask": DEFAULTS["bia-mask"]} if values["bia-dt"] in ("undef", "") else values


def spelled(descriptor: str, values: Values) -> str:
    """Print options and descriptor as benchdnn does."""
    lengths, n, name = descriptor.partition("n")
    options = [f"--{option}={value}" for option, value in values.items() if value != DEFAULTS.get(option)]
    return " ".join([*options, lengths.removesuffix("_") + (f"_n{name}" if n else "")])


def _spelled(lengths: list[int]) -> str:
    return "x".join(map(str, lengths)) or "none"


def _layout(values: Mapping[str, str], ndims: int) -> str:
    """Return the first of the known layouts that agrees with every tag."""
    wanted = [_order(f"--{name}", values[name], ndims) for name in ("stag", "wtag", "dtag")]
    for layout in GEMM_LAYOUTS:
        if all(order in ("", found) for order, found in zip(wanted, layout, strict=True)):
            return layout
    tags = " ".join(f"--{name}={values[name]}" for name in ("stag", "wtag", "dtag"))
    raise ProblemError(f"{tags}: no layout of A, B and C is like that, {', '.join(GEMM_LAYOUTS)} are there")


def _order(option: str, tag: str, ndims: int) -> str:
    """r: the last axis is contiguous, c: the last but one; empty: the library chooses."""
    letters = "abcdefghijkl"[:ndims]
    orders = {"any": "", letters: "r", letters[:-2] + letters[-1] + letters[-2]: "c"}
    try:
        return orders[letters_of(tag, ndims)]
    except KeyError:
        raise ProblemError(f"{option}={tag} is not understood: {', '.join(orders)} are") from None


DRIVER = BenchdnnDriver(problems, DEFAULTS, DESCRIPTOR, settled, spelled)
DIALECT = Dialect(("gemm",), drivers={"matmul": DRIVER})
