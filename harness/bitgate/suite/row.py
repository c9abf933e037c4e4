"""One row of a case table: its fields checked against what each may hold, its lists kept as alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitgate.core.choices import REGRESSION, TIERS
from bitgate.core.errors import near as near
from bitgate.core.git import path_in_checkout
from bitgate.core.table_fields import (
    Check,
    FieldError,
    TableFields,
    boolean,
    like,
    number,
    numbers,
    one_of,
    options,
    table,
    text,
    texts,
)
from bitgate.model import operations
from bitgate.numerics.fill import fill_names
from bitgate.suite.vocabulary import LAYOUT_AXES, LENGTHS, STATED, TAIL_AXES, shape_check

NEVER = "never"
"""Given instead of a tier for a kind of target that a row is not for."""
TARGET_KINDS = ("host", "gpu")
INSTANCE_POLICIES = ("all", "one")

# Axes whose alternatives are multiplied, in the order in which the products are listed.
AXES = (
    *("case", "pass", "shape", "dtypes"),
    *(axis.name for axis in (*LAYOUT_AXES, *TAIL_AXES)),
    *("fills", "seeds", "schedules"),
)


@dataclass(frozen=True)
class Origin:
    """Place of a row, with which every message about it begins."""

    path: Path
    line: int
    set_name: str
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [[{self.set_name}]] '{self.name}'"

    @property
    def place(self) -> str:
        """Place as ``file:line``, the file as its repository names it: dashboards place a failure by it."""
        return f"{path_in_checkout(self.path)}:{self.line}"


@dataclass(frozen=True)
class CaseRow:
    """A checked row. ``axes`` holds the alternatives of each axis, ``locked`` the steps of ``zip`` (axis -> value)."""

    origin: Origin
    why: str
    axes: Mapping[str, tuple[Any, ...]]
    locked: tuple[Mapping[str, Any], ...] = ({},)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    """Globs over ``family`` and ``family.instance``; none: every family of the pass that is not a reference."""
    instances: str = "all"
    """``all`` that support a case, or ``one`` a family, chosen by the case so that all get their turn."""
    tier: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(TARGET_KINDS, REGRESSION))
    """By target kind."""
    smoke: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """What the smoke tier keeps of this row's product; regression runs all of it."""
    pin: str = ""
    refused: str = ""
    dispatch: Mapping[str, Any] = field(default_factory=dict)
    """What the DispatchRecord must say, written by hand."""
    stated: Mapping[str, int] = field(default_factory=dict)
    """Numbers of the problems that the row says, such as gemms_count: checked when they are made."""
    zero_result: bool = False
    """The expected result may be zero in every cell, and that it is written is what the row holds."""

    @property
    def name(self) -> str:
        return self.origin.name


def make_row(fields: Mapping[str, Any], origin: Origin) -> CaseRow:
    """Return the row of a TOML table, defaults and includes already merged in. Raises FieldError."""
    checked = _FIELDS.read(origin, fields)
    locked = checked.get("zip", ({},))
    _check_shape(checked, locked, origin)
    axes = {name: checked[name] for name in AXES if name in checked}
    for lengths in LENGTHS:
        if shapes := lengths.shapes(checked):
            axes["shape"] = shapes
    if both := sorted(set(axes) & set(locked[0])):
        # A default is spread over every row; a zip of that axis is the more particular statement and wins.
        axes = {name: values for name, values in axes.items() if name not in both}
    return CaseRow(
        origin=origin,
        why=checked["why"],
        axes=axes,
        locked=locked,
        refused=checked.get("expect", ""),
        stated={name: checked[name] for name in STATED if name in checked},
        **{name: checked[name] for name in _AS_THEY_ARE if name in checked},
    )


_AS_THEY_ARE = ("options", "kernels", "instances", "tier", "smoke", "pin", "dispatch", "zero_result")


def _check_shape(checked: Mapping[str, Any], locked: tuple[Mapping[str, Any], ...], origin: Origin) -> None:
    given = {name: lengths for lengths in LENGTHS for name in lengths.checks if name in checked}
    ways = [name for name in ("case", "shape") if name in checked or name in locked[0]]
    ways += [f"{' '.join([*lengths.checks][:6])} ..." for lengths in dict.fromkeys(given.values())]
    if len(ways) != 1:
        said = f"given as {' and as '.join(ways)}" if ways else "is missing"
        fields = " or ".join(" ".join(lengths.needed) for lengths in LENGTHS)
        raise FieldError(origin, "shape", f"{said}; give one of case, shape, or the fields {fields}")
    for lengths in dict.fromkeys(given.values()):
        if missing := [name for name in lengths.needed if name not in checked]:
            raise FieldError(origin, missing[0], f"is missing next to {', '.join(given)}")


# ---------------------------------------------------------------------------------------- what a field may hold


def _tier(value: Any) -> dict[str, str]:
    """Return the tier by target kind, of ``"smoke"`` or of ``{host = "never", gpu = "smoke"}``."""
    if not isinstance(value, dict):
        tier: str = one_of(*TIERS)(value)
        return dict.fromkeys(TARGET_KINDS, tier)
    stated = {one_of(*TARGET_KINDS)(kind): one_of(*TIERS, NEVER)(tier) for kind, tier in value.items()}
    return dict.fromkeys(TARGET_KINDS, REGRESSION) | stated


def _zip(value: Any) -> tuple[dict[str, Any], ...]:
    """Turn ``{ dtypes = [a, b], layouts = [c, d] }`` into ({dtypes: a, layouts: c}, {dtypes: b, layouts: d})."""
    stated = table("{ dtypes = ['f16', 'f32'], layouts = ['nhwgc', 'gnhwc'] }, of lists")(value)
    if unknown := [name for name in stated if name not in AXES]:
        raise ValueError(f"{unknown[0]!r} is not an axis; {near(unknown[0], AXES)}")
    lists = {name: _CHECKS[name](values) for name, values in stated.items()}
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"its lists differ in length: {', '.join(f'{n} has {c}' for n, c in lengths.items())}")
    return tuple(dict(zip(lists, step, strict=True)) for step in zip(*lists.values(), strict=True))


def _smoke(value: Any) -> dict[str, tuple[Any, ...]]:
    stated = table("{ layouts = 'nhwgc', instances = 'one' }, of what smoke keeps", least=0)(value)
    for name in stated:
        if name not in (*AXES, "instances"):
            raise ValueError(f"{name!r} is neither an axis nor instances; {near(name, AXES)}")
    kept = {name: _CHECKS[name](values) for name, values in stated.items()}
    return {name: (found,) if name == "instances" else tuple(found) for name, found in kept.items()}


def _refused(value: Any) -> str:
    if not isinstance(value, dict) or set(value) != {"refused"} or not isinstance(value["refused"], str):
        raise ValueError("give { refused = 'clause' }, the clause by which the kernel must reject the problem")
    return str(value["refused"])


_CHECKS: dict[str, Check] = {
    "name": like(r"\S.*", "a name"),
    "why": text,
    "case": texts(r"[a-z0-9_]+", "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28"),
    "pass": lambda value: texts("|".join(operations()), f"one of {', '.join(operations())}")(value),
    "shape": lambda value: shape_check()(value),
    "dtypes": texts(r"[a-z0-9_]+", "f16 or bf16_f32_bf16"),
    **{axis.name: axis.check for axis in (*LAYOUT_AXES, *TAIL_AXES)},
    "fills": lambda value: texts("|".join(fill_names()), " or ".join(fill_names()))(value),
    "seeds": numbers(0),
    "schedules": texts(r"forward|reverse|lockstep|race|random:\d+", "forward, reverse, lockstep, random:7 or race"),
    **{name: check for lengths in LENGTHS for name, check in lengths.checks.items()},
    "options": options,
    "zip": _zip,
    "kernels": texts(r"\S+", "grouped_bwd_data*"),
    "instances": one_of(*INSTANCE_POLICIES),
    "tier": _tier,
    "smoke": _smoke,
    "pin": text,
    "expect": _refused,
    "dispatch": table("{ path = 'grouped', gemms_count = 9, launches = 1 }"),
    **dict.fromkeys(STATED, number(1)),
    "zero_result": boolean,
}
_FIELDS = TableFields(_CHECKS, {"why": "say in one sentence what this row would catch"})


def name_of(fields: Mapping[str, Any], number: int) -> str:
    """Return what messages call a row: its name, else its shape or case, else its place in the set."""
    for key in ("name", "shape", "case"):
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
    return f"number {number}"
