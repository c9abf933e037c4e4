"""Expansion of a row to its problems: the product of its alternatives, each parsed as a case id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from bitgate.core.table_fields import FieldError
from bitgate.model import Problem, ProblemError, case_id, operation_called, parse_case_id
from bitgate.suite.durations import work_of
from bitgate.suite.row import AXES, CaseRow
from bitgate.suite.vocabulary import LAYOUT_AXES, LAYOUTS, TAIL_AXES, properties, value_of


@dataclass(frozen=True)
class ExpandedCase:
    """One problem with everything that a row decides; which kernels run it comes later."""

    row: CaseRow
    problem: Problem
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str | None
    """None: the row does not say."""
    in_smoke: bool
    """False: the row's ``smoke`` table leaves this product to regression."""

    @cached_property
    def case(self) -> str:
        return case_id(self.problem)

    @cached_property
    def work(self) -> int:
        """Work that the case's time grows with."""
        return work_of(self.problem)


def expand(row: CaseRow, *, smoke_only: bool = False) -> Iterator[ExpandedCase]:
    """Expand a row in the order of AXES, the first slowest. Raises FieldError for an impossible problem.

    What the row's ``smoke`` table leaves to regression is left out with ``smoke_only``: to parse it costs the most.
    """
    names = [name for name in AXES if name in row.axes]
    options = [[(name, value) for value in values] for name, values in row.options.items()]
    for step in row.locked:
        for values in product(*(row.axes[name] for name in names)):
            chosen = {**dict(zip(names, values, strict=True)), **step}
            in_smoke = _kept(chosen, row.smoke)
            if (smoke_only and not in_smoke) or not _fits(chosen, row, step):
                continue
            problem = _problem(chosen, row)
            for option_values in product(*options):
                yield ExpandedCase(
                    row=row,
                    problem=problem,
                    options=tuple(option_values),
                    fill=chosen.get("fills", "exact"),
                    seed=chosen.get("seeds", 0),
                    schedule=chosen.get("schedules"),
                    in_smoke=in_smoke,
                )


def _fits(chosen: Mapping[str, Any], row: CaseRow, step: Mapping[str, Any]) -> bool:
    """Return whether a choice fits. Layouts are listed for all dimensions; a shape takes its own, at least one."""
    shape = chosen.get("shape")
    if shape is None or "pass" not in chosen:
        return True
    space = operation_called(chosen["pass"]).space
    ndim = space.dimensions(shape)
    for axis in (axis.name for axis in LAYOUT_AXES):
        layout = chosen.get(axis)
        if layout is None or not space.layouts:
            continue
        if layout not in LAYOUTS:
            raise FieldError(row.origin, axis, f"unknown layout '{layout}'; known are {', '.join(LAYOUTS)}")
        if LAYOUTS[layout] == ndim:
            continue
        if axis in step or all(LAYOUTS.get(other) != ndim for other in row.axes[axis]):
            raise FieldError(row.origin, axis, f"none is {ndim}D like the shape {shape}; add one")
        return False
    return True


def _problem(chosen: Mapping[str, Any], row: CaseRow) -> Problem:
    text = chosen.get("case") or _case_text(chosen, row)
    try:
        problem = parse_case_id(text)
    except ProblemError as error:
        raise FieldError(row.origin, "case" if "case" in chosen else "shape", str(error)) from None
    for name, stated in row.stated.items():
        if (found := value_of(problem, name)) != stated:
            said = f"{properties()[name].stated} {found}" if found is not None else f"has no {name}"
            raise FieldError(row.origin, name, f"the row says {stated}, {text} {said}")
    return problem


def _case_text(chosen: Mapping[str, Any], row: CaseRow) -> str:
    for name in ("pass", "dtypes"):
        if name not in chosen:
            raise FieldError(row.origin, name, "is missing; give it here or in [defaults]")
    layouts, tail = (
        [axis.word(chosen[axis.name]) for axis in axes if axis.name in chosen] for axes in (LAYOUT_AXES, TAIL_AXES)
    )
    return "_".join(part for part in (chosen["pass"], chosen["dtypes"], *layouts, chosen["shape"], *tail) if part)


def _kept(chosen: Mapping[str, Any], smoke: Mapping[str, tuple[Any, ...]]) -> bool:
    return all(chosen.get(axis) in values for axis, values in smoke.items() if axis != "instances")
