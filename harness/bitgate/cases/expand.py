"""From a row to its problems: the product of its alternatives, each a case id that is parsed like a person's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from bitgate.cases.row import AXES, Row, RowError
from bitgate.operation import Problem, ProblemError, parse_case_id
from bitgate.operations.convolution import gemms_count
from bitgate.operations.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.operations.gemm import GEMM_LAYOUTS

_NDIM = {name: ndim for table in (INPUT_LAYOUTS, WEIGHT_LAYOUTS) for ndim, names in table.items() for name in names}
_NDIM |= dict.fromkeys(GEMM_LAYOUTS, 0)


@dataclass(frozen=True)
class Candidate:
    """One problem with everything that a row decides; which kernels run it comes later."""

    row: Row
    problem: Problem
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str | None
    """None: the row does not say."""
    in_smoke: bool
    """False: the row's ``smoke`` table leaves this product to regression."""


def expand(row: Row) -> Iterator[Candidate]:
    """The row's product in the order of AXES, the first slowest. Raises RowError for an impossible problem."""
    names = [name for name in AXES if name in row.axes]
    options = [[(name, value) for value in values] for name, values in row.options.items()]
    for step in row.locked:
        for values in product(*(row.axes[name] for name in names)):
            chosen = {**dict(zip(names, values, strict=True)), **step}
            if not _fits(chosen, row, step):
                continue
            problem = _problem(chosen, row)
            for option_values in product(*options):
                yield Candidate(
                    row=row,
                    problem=problem,
                    options=tuple(option_values),
                    fill=chosen.get("fills", "exact"),
                    seed=chosen.get("seeds", 0),
                    schedule=chosen.get("schedules"),
                    in_smoke=_kept(chosen, row.smoke),
                )


def _fits(chosen: Mapping[str, Any], row: Row, step: Mapping[str, Any]) -> bool:
    """Layouts are listed for all dimensions at once; a shape takes those of its own, and needs at least one."""
    shape = chosen.get("shape")
    if shape is None:
        return True
    ndim = _dimensions(shape)
    for axis in ("layouts", "weight_layouts"):
        layout = chosen.get(axis)
        if layout is None:
            continue
        if layout not in _NDIM:
            raise RowError(row.origin, axis, f"unknown layout '{layout}'; known are {', '.join(_NDIM)}")
        if _NDIM[layout] == ndim:
            continue
        if axis in step or all(_NDIM.get(other) != ndim for other in row.axes[axis]):
            raise RowError(row.origin, axis, f"none is {ndim}D like the shape {shape}; add one")
        return False
    return True


def _dimensions(shape: str) -> int:
    """As many as the longest list of numbers: ``y3x3_h28x28_s2`` is 2D."""
    lists = re.findall(r"_[yhsdpq](\d+(?:x\d+)*)", shape)
    return max((len(numbers.split("x")) for numbers in lists), default=0)


def _problem(chosen: Mapping[str, Any], row: Row) -> Problem:
    text = chosen.get("case") or _case_text(chosen, row)
    try:
        problem = parse_case_id(text)
    except ProblemError as error:
        raise RowError(row.origin, "case" if "case" in chosen else "shape", str(error)) from None
    if row.gemms_count is not None and row.gemms_count != (count := gemms_count(problem)):
        raise RowError(row.origin, "gemms_count", f"the row says {row.gemms_count}, {text} splits into {count}")
    return problem


def _case_text(chosen: Mapping[str, Any], row: Row) -> str:
    for name in ("pass", "dtypes"):
        if name not in chosen:
            raise RowError(row.origin, name, "is missing; give it here or in [defaults]")
    split_k = chosen.get("split_k", 1)
    parts = [chosen["pass"], chosen["dtypes"], chosen.get("layouts"), chosen.get("weight_layouts"), chosen["shape"]]
    parts += [None if chosen.get("ops", "pass") == "pass" else chosen["ops"], "gap" if chosen.get("gap") else None]
    parts += [None if split_k == 1 else "skauto" if split_k == -1 else f"sk{split_k}"]
    return "_".join(part for part in parts if part)


def _kept(chosen: Mapping[str, Any], smoke: Mapping[str, tuple[Any, ...]]) -> bool:
    return all(chosen.get(axis) in values for axis, values in smoke.items() if axis != "instances")


FACTORS: dict[str, Callable[[Problem], Any]] = {
    "gemms_count": gemms_count,
    "g": lambda problem: problem.g,
    "ndim": lambda problem: problem.ndim,
    "strided": lambda problem: problem.strided,
    "dilated": lambda problem: any(d > 1 for d in problem.dilation),
    "num_d": lambda problem: problem.op.num_d,
    "dtypes": lambda problem: str(problem.dtypes),
    "layout": lambda problem: problem.layout,
}
"""Properties of a problem by which a test may choose its cases."""
