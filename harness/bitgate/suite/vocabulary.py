"""What all operations say of their problems, put together: axes, shapes, layouts and properties that tables name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from bitgate.model import Problem, operation_called, operations
from bitgate.model.space import ProblemSpace, field_check
from bitgate.model.space.field_check import Check, gap_words, gaps, texts
from bitgate.model.space.problem_property import Property, PropertyKind
from bitgate.model.space.row import AxisField, Lengths

Said = TypeVar("Said")


def distinct(what: Callable[[ProblemSpace], Said | None]) -> tuple[Said, ...]:
    """What the operations' spaces say, once each; those that say nothing left out."""
    return tuple(dict.fromkeys(said for one in operations().values() if (said := what(one.space)) is not None))


def properties() -> Mapping[str, Property]:
    """By name; the values of a name are those of all operations that have it, an owner's among them."""
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
"""Ways to give sizes as fields of their own."""

LAYOUTS: Mapping[str, int] = {name: ndim for one in operations().values() for name, ndim in one.space.layouts.items()}
"""Layout -> spatial dimensions of the shapes that it is for."""

OWN: tuple[AxisField, ...] = tuple(dict.fromkeys(axis for one in operations().values() for axis in one.space.axes))
"""Axes that only some operations have."""

SHARED: tuple[AxisField, ...] = (
    AxisField(
        "ops",
        texts(r"[a-z0-9]+(_[a-z0-9]+)*", "bilinear, inscale_weirelu (or pass for none)"),
        lambda value: "" if value == "pass" else str(value),
    ),
    AxisField("gap", gaps, gap_words),
    AxisField("split_k", field_check.split_k, lambda value: {1: "", -1: "skauto"}.get(value, f"sk{value}")),
)
"""Words behind the sizes that several operations have."""

LAYOUT_AXES = (
    AxisField("layouts", texts(r"[a-z]+", "nhwgc"), is_layout=True),
    *(axis for axis in OWN if axis.is_layout),
)
TAIL_AXES = (*SHARED, *(axis for axis in OWN if not axis.is_layout))


def shape_check() -> Check:
    """Of the sizes of a case id, of any operation."""
    shapes = distinct(lambda space: space.shape)
    return texts("|".join(shape.pattern for shape in shapes), " or ".join(shape.example for shape in shapes))


def value_of(problem: Problem, name: str) -> Any:
    """A property of the problem; None if its operation has no such property."""
    said = problem.operation.space.properties.get(name)
    return None if said is None else said.of(problem)
