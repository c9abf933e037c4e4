"""Axes, shapes, layouts and properties that tables name, collected from all operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from bitgate.core.table_fields import Check, each, number, texts
from bitgate.model import Problem, operation_called, operations
from bitgate.model.gap import gap_of
from bitgate.model.space import ProblemSpace
from bitgate.model.space.problem_property import Property, PropertyKind
from bitgate.model.space.row import AxisField, Lengths

Said = TypeVar("Said")


def distinct(what: Callable[[ProblemSpace], Said | None]) -> tuple[Said, ...]:
    """Return the answers of the operations' spaces, once each, without those that have none."""
    return tuple(dict.fromkeys(said for one in operations().values() if (said := what(one.space)) is not None))


def properties() -> Mapping[str, Property]:
    """Return the properties by name; the values of one are those of all operations that have it, a user's too."""
    return _properties(tuple(operations()))


@lru_cache(maxsize=4)
def _properties(names: tuple[str, ...]) -> Mapping[str, Property]:
    found: dict[str, Property] = {}
    for one in (operation_called(name) for name in names):
        for name, said in one.space.properties.items():
            known = found.setdefault(name, said)
            if known.kind is PropertyKind.NAME:
                found[name] = replace(known, names=tuple(dict.fromkeys((*known.names, *said.names))))
    return found


STATED = tuple(name for name, said in properties().items() if said.stated)
"""Numbers that a row may state of its problems."""

LENGTHS: tuple[Lengths, ...] = distinct(lambda space: space.lengths)
"""Ways to give sizes as separate fields."""

LAYOUTS: Mapping[str, int] = {name: ndim for one in operations().values() for name, ndim in one.space.layouts.items()}
"""Layout -> spatial dimensions of the shapes that it is for."""

OWN: tuple[AxisField, ...] = tuple(dict.fromkeys(axis for one in operations().values() for axis in one.space.axes))
"""Axes that only some operations have."""


def _of_single_axes(value: str) -> list[str]:
    return [f"gap{part}" for part in value.split("_")]


def _gap(value: Any) -> bool | str:
    """Return ``true``, for all tensors, or a text such as ``"inw8_outh4"``, for these tensors and axes."""
    if not isinstance(value, bool | str) or (isinstance(value, str) and not all(map(gap_of, _of_single_axes(value)))):
        raise ValueError(f"{value!r} is neither true nor false nor like inw8 or inw8_outh4")
    return value


def _gap_words(value: bool | str) -> str:
    return "_".join(_of_single_axes(value)) if isinstance(value, str) else "gap" * value


def _split_k(value: Any) -> int:
    return -1 if value == "auto" else int(number(1)(value))


SHARED: tuple[AxisField, ...] = (
    AxisField(
        "ops",
        texts(r"[a-z0-9]+(_[a-z0-9]+)*", "bilinear, inscale_weirelu (or pass for none)"),
        lambda value: "" if value == "pass" else str(value),
    ),
    AxisField("gap", each(_gap), _gap_words),
    AxisField("split_k", each(_split_k), lambda value: {1: "", -1: "skauto"}.get(value, f"sk{value}")),
)
"""Words after the sizes that several operations have."""

LAYOUT_AXES = (
    AxisField("layouts", texts(r"[a-z]+", "nhwgc"), is_layout=True),
    *(axis for axis in OWN if axis.is_layout),
)
TAIL_AXES = (*SHARED, *(axis for axis in OWN if not axis.is_layout))


def shape_check() -> Check:
    """Return the check of the sizes of a case id, of any operation."""
    shapes = distinct(lambda space: space.shape)
    return texts("|".join(shape.pattern for shape in shapes), " or ".join(shape.example for shape in shapes))


def value_of(problem: Problem, name: str) -> Any:
    """Return a property of the problem; None if its operation has no such property."""
    said = problem.operation.space.properties.get(name)
    return None if said is None else said.of(problem)
