"""The quantities of an operation's problems: lengths, and choices of one of a few values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from typing import Any, get_type_hints

import numpy as np

from bitgate.model.d_form import PLAIN, DForm
from bitgate.model.dtype import DTYPES, DtypeSet
from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE, Elementwise
from bitgate.model.space.candidates import Ints

_COMMON = ("f32", "f16", "bf16")
_OTHERS = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_operand and dtype.name not in _COMMON)
DTYPE_SETS = (*_COMMON, *_OTHERS, "bf16_f32_bf16", "other")
"""Known type triples by code; 'other' stands for every further triple."""


@dataclass(frozen=True)
class Length:
    """A number from 1 up. ``tile``: the place in ``Constants.tile`` of the tile that cuts it; None: no tile does."""

    name: str
    tile: int | None = 0


@dataclass(frozen=True)
class Choice:
    """One of ``values``, of which the first is the plain one."""

    name: str
    values: tuple[Any, ...]

    @property
    def is_flag(self) -> bool:
        return all(isinstance(value, bool) for value in self.values)

    def code(self, value: Any) -> int:
        """Return the place of a value among the values, an operation's by its name; their number for any other."""
        value = value.plain if isinstance(value, Elementwise) else value
        return self.values.index(value) if value in self.values else len(self.values)


Quantity = Length | Choice

SHARED: Mapping[str, Choice] = {
    choice.name: choice
    for choice in (
        Choice("dtypes", tuple(DtypeSet.parse(name) for name in DTYPE_SETS if name != "other")),
        Choice("op", tuple(ELEMENTWISE.values())),
        Choice("in_op", tuple(ELEMENTWISE[name] for name in ("pass", *OPERAND_ELEMENTWISE))),
        Choice("wei_op", tuple(ELEMENTWISE[name] for name in ("pass", *OPERAND_ELEMENTWISE))),
        Choice("gap", (False, True)),
        Choice("split_k", (1, 2, 3, 4, -1)),
    )
}
"""Choices that several operations have, by the name of the problem's field."""

D_FORM = Choice("d_form", (PLAIN,))
"""Forms of D: no draw has them, and shrinking takes them away."""

GAPS = Choice("gaps", ((),))
"""Gaps of single tensors and axes, in addition to ``gap``: no draw has them, and shrinking takes them away."""


def quantities_of(problem_type: type) -> tuple[Quantity, ...]:
    """Return the quantities of a problem's dataclass.

    An ``int`` is a length; a ``bool``, an ``Enum`` or a field of SHARED is a choice. A field with a default of any
    other type has that value alone.
    """
    hints = get_type_hints(problem_type)
    return tuple(_quantity(field, hints[field.name]) for field in fields(problem_type))


def _quantity(field: Field[Any], kind: Any) -> Quantity:
    if field.name in SHARED:
        return SHARED[field.name]
    if kind is int:
        return Length(field.name)
    if kind is bool:
        return Choice(field.name, (False, True))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Choice(field.name, tuple(kind))
    if field.default is MISSING:
        raise TypeError(f"{field.name}: {kind}: its values are not known; state `quantities` in the operation's space")
    return Choice(field.name, (field.default,))


def word(value: Any) -> str:
    """Return a value of a choice in words."""
    if isinstance(value, Elementwise):
        return value.name
    if isinstance(value, DForm):
        return " ".join(value.words) or "plain"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return "auto" if value == -1 else str(value.value if isinstance(value, Enum) else value)


def few_or_vectors(values: Ints) -> Ints:
    """Return classes of a length: 1, a few (even, odd), vectors of 8 (up to 32, more), the rest below 32 and above."""
    conditions = [values == 1, values < 8, (values % 8 == 0) & (values <= 32), values % 8 == 0, values < 32]
    return np.select(conditions, [values * 0, 1 + values % 2, values * 0 + 3, values * 0 + 4, values * 0 + 5], 6)


def lengths(quantities: tuple[Quantity, ...]) -> Iterator[Length]:
    """Return the quantities that are lengths."""
    return (quantity for quantity in quantities if isinstance(quantity, Length))


def choices(quantities: tuple[Quantity, ...]) -> Iterator[Choice]:
    """Return the quantities that are choices."""
    return (quantity for quantity in quantities if isinstance(quantity, Choice))
