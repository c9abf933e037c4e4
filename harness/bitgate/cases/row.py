"""One row of a case table: its fields checked against what each may hold, its lists kept as alternatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bitgate.checkout import relative
from bitgate.errors import UsageError
from bitgate.exact.fill import fill_names
from bitgate.operation import operations

SMOKE, REGRESSION = "smoke", "regression"
TIERS = (SMOKE, REGRESSION)
NEVER = "never"
"""Instead of a tier: a kind of target that a row is not for."""
TARGET_KINDS = ("host", "gpu")
INSTANCE_POLICIES = ("all", "one")

# Axes whose alternatives are multiplied, in the order in which the products are listed.
AXES = (
    "case",
    "pass",
    "shape",
    "dtypes",
    "layouts",
    "weight_layouts",
    "ops",
    "gap",
    "split_k",
    "fills",
    "seeds",
    "schedules",
)

_SPATIAL = {"filter": "y", "input": "h", "stride": "s", "dilation": "d", "left_pad": "p", "right_pad": "q"}
_LENGTHS = ("g", "n", "k", "c")


@dataclass(frozen=True)
class Origin:
    """Where a row stands: what every message about it begins with."""

    path: Path
    line: int
    set_name: str
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [[{self.set_name}]] '{self.name}'"

    @property
    def place(self) -> str:
        """``file:line``, the file as its repository names it: dashboards place a failure by it."""
        return f"{relative(self.path)}:{self.line}"


class RowError(UsageError):
    """A bad row: file, line, row name, field, what is wrong and what to do."""

    def __init__(self, origin: Origin, field_name: str, problem: str) -> None:
        super().__init__(f"{origin}: {field_name}: {problem}")


@dataclass(frozen=True)
class Row:
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
    gemms_count: int | None = None
    zero_result: bool = False
    """The expected result may be zero in every cell, and that it is written is what the row holds."""

    @property
    def name(self) -> str:
        return self.origin.name


def make_row(fields: Mapping[str, Any], origin: Origin) -> Row:
    """The row of a TOML table (defaults and includes already merged in). Raises RowError."""
    for name in fields:
        if name not in _CHECKS:
            raise RowError(origin, name, f"no such field; {near(name, FIELDS)}")
    checked: dict[str, Any] = {}
    for name, value in fields.items():
        try:
            checked[name] = _CHECKS[name](value)
        except ValueError as error:
            raise RowError(origin, name, str(error)) from None
    if not checked.get("why"):
        raise RowError(origin, "why", "is missing; say in one sentence what this row would catch")
    locked = checked.get("zip", ({},))
    _check_shape(checked, locked, origin)
    axes = {name: checked[name] for name in AXES if name in checked}
    if shapes := _shapes_from_lengths(checked):
        axes["shape"] = shapes
    if both := sorted(set(axes) & set(locked[0])):
        # A default is spread over every row; a zip of that axis is the more particular statement and wins.
        axes = {name: values for name, values in axes.items() if name not in both}
    return Row(
        origin=origin,
        why=checked["why"],
        axes=axes,
        locked=locked,
        refused=checked.get("expect", ""),
        **{name: checked[name] for name in _AS_THEY_ARE if name in checked},
    )


_AS_THEY_ARE = ("options", "kernels", "instances", "tier", "smoke", "pin", "dispatch", "gemms_count", "zero_result")


def _check_shape(checked: Mapping[str, Any], locked: tuple[Mapping[str, Any], ...], origin: Origin) -> None:
    by_lengths = [name for name in (*_LENGTHS, *_SPATIAL) if name in checked]
    ways = [name for name in ("case", "shape") if name in checked or name in locked[0]]
    ways += ["g n k c filter input ..."] * bool(by_lengths)
    if len(ways) != 1:
        said = f"given as {' and as '.join(ways)}" if ways else "is missing"
        raise RowError(origin, "shape", f"{said}; give one of case, shape, or the fields n k c filter input")
    if by_lengths and (missing := [name for name in ("n", "k", "c", "filter", "input") if name not in checked]):
        raise RowError(origin, missing[0], f"is missing beside {', '.join(by_lengths)}")


def _shapes_from_lengths(checked: Mapping[str, Any]) -> tuple[str, ...]:
    """``g`` ``n`` ``k`` ``c`` (numbers or lists of alternatives) and the spatial fields as id-like shapes."""
    if "filter" not in checked:
        return ()
    heads = [""]
    for name in _LENGTHS:
        heads = [head + f"{name}{value}" for head in heads for value in checked.get(name, (1,))]
    tail = "".join(
        f"_{letter}" + "x".join(map(str, checked[name])) for name, letter in _SPATIAL.items() if name in checked
    )
    return tuple(head + tail for head in heads)


# ---------------------------------------------------------------------------------------- what a field may hold


def _as_list(value: Any) -> list[Any]:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise ValueError("is an empty list, which would make no case at all; remove it or fill it")
    return items


def _texts(pattern: str, example: str) -> Callable[[Any], tuple[str, ...]]:
    def check(value: Any) -> tuple[str, ...]:
        for item in _as_list(value):
            if not isinstance(item, str) or not re.fullmatch(pattern, item):
                raise ValueError(f"{item!r} is not like {example}")
        return tuple(_as_list(value))

    return check


def _numbers(least: int) -> Callable[[Any], tuple[int, ...]]:
    def check(value: Any) -> tuple[int, ...]:
        for item in _as_list(value):
            if not isinstance(item, int) or isinstance(item, bool) or item < least:
                raise ValueError(f"{item!r} is not a number from {least} up")
        return tuple(_as_list(value))

    return check


def _split_k(value: Any) -> tuple[int, ...]:
    return tuple(-1 if item == "auto" else _numbers(1)(item)[0] for item in _as_list(value))


def _booleans(value: Any) -> tuple[bool, ...]:
    for item in _as_list(value):
        if not isinstance(item, bool):
            raise ValueError(f"{item!r} is neither true nor false")
    return tuple(_as_list(value))


def _one_of(*known: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(known)}")
        return str(value)

    return check


def _sentence(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("give a sentence")
    return value.strip()


def _tier(value: Any) -> dict[str, str]:
    """``"smoke"``, or by target kind ``{host = "never", gpu = "smoke"}``."""
    if isinstance(value, dict):
        if unknown := set(value) - set(TARGET_KINDS):
            raise ValueError(f"{min(unknown)!r} is not one of {', '.join(TARGET_KINDS)}")
        return {kind: _one_of(*TIERS, NEVER)(value.get(kind, REGRESSION)) for kind in TARGET_KINDS}
    return dict.fromkeys(TARGET_KINDS, _one_of(*TIERS)(value))


def _options(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("give a table such as { flat_path_gate = ['gemms_count', 'off'] }")
    return {name: tuple(str(item) for item in _as_list(values)) for name, values in sorted(value.items())}


def _zip(value: Any) -> tuple[dict[str, Any], ...]:
    """``{ dtypes = [a, b], layouts = [c, d] }`` -> ({dtypes: a, layouts: c}, {dtypes: b, layouts: d})."""
    if not isinstance(value, dict) or not value:
        raise ValueError("give a table of lists such as { dtypes = ['f16', 'f32'], layouts = ['nhwgc', 'gnhwc'] }")
    if unknown := [name for name in value if name not in AXES]:
        raise ValueError(f"{unknown[0]!r} is not an axis; known are {', '.join(AXES)}")
    lists = {name: _CHECKS[name](values) for name, values in value.items()}
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"its lists differ in length: {', '.join(f'{n} has {c}' for n, c in lengths.items())}")
    return tuple(dict(zip(lists, step, strict=True)) for step in zip(*lists.values(), strict=True))


def _smoke(value: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(value, dict):
        raise ValueError("give a table of what smoke keeps, such as { layouts = 'nhwgc', instances = 'one' }")
    kept: dict[str, tuple[Any, ...]] = {}
    for name, values in value.items():
        if name == "instances":
            kept[name] = (_one_of(*INSTANCE_POLICIES)(values),)
        elif name in AXES:
            kept[name] = tuple(_CHECKS[name](values))
        else:
            raise ValueError(f"{name!r} is neither an axis nor instances; known are {', '.join(AXES)}")
    return kept


def _refused(value: Any) -> str:
    if not isinstance(value, dict) or set(value) != {"refused"} or not isinstance(value["refused"], str):
        raise ValueError("give { refused = 'clause' }, the clause by which the kernel must reject the problem")
    return str(value["refused"])


def _dispatch(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError("give a table such as { path = 'grouped', gemms_count = 9, launches = 1 }")
    return dict(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _count(value: Any) -> int:
    return _numbers(1)(value)[0]


_NAME = _texts(r"\S.*", "a name")
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": _NAME,
    "why": _sentence,
    "case": _texts(r"[a-z0-9_]+", "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28"),
    "pass": _texts("|".join(operations()), f"one of {', '.join(operations())}"),
    "shape": _texts(
        r"(g\d+)?n\d+k\d+c\d+(_[a-z0-9]+)+|(b\d+)?m\d+n\d+k\d+",
        "g1n4k128c64_y3x3_h28x28_s3x3_p1x1 or b2m64n64k32",
    ),
    "dtypes": _texts(r"[a-z0-9_]+", "f16 or bf16_f32_bf16"),
    "layouts": _texts(r"[a-z]+", "nhwgc"),
    "weight_layouts": _texts(r"[a-z]+", "gkyxc"),
    "ops": _texts(r"[a-z0-9]+(_[a-z0-9]+)*", "bilinear, inscale_weirelu (or pass for none)"),
    "gap": _booleans,
    "split_k": _split_k,
    "fills": lambda value: _texts("|".join(fill_names()), " or ".join(fill_names()))(value),
    "seeds": _numbers(0),
    "schedules": _texts(r"forward|reverse|lockstep|race|random:\d+", "forward, reverse, lockstep, random:7 or race"),
    **dict.fromkeys(_LENGTHS, _numbers(1)),
    **dict.fromkeys(("filter", "input", "stride", "dilation"), _numbers(1)),
    **dict.fromkeys(("left_pad", "right_pad"), _numbers(0)),
    "options": _options,
    "zip": _zip,
    "kernels": _texts(r"\S+", "grouped_bwd_data*"),
    "instances": _one_of(*INSTANCE_POLICIES),
    "tier": _tier,
    "smoke": _smoke,
    "pin": _sentence,
    "expect": _refused,
    "dispatch": _dispatch,
    "gemms_count": _count,
    "zero_result": _boolean,
}
FIELDS: tuple[str, ...] = (*_CHECKS, "include")


def check_tier(tier: str) -> None:
    """UsageError with the nearest name if there is no such tier."""
    if tier not in TIERS:
        raise UsageError(f"--tier {tier}: {near(tier, TIERS)}")


def name_of(fields: Mapping[str, Any], number: int) -> str:
    """What to call a row in messages: its name, else its shape or case, else its place in the set."""
    for key in ("name", "shape", "case"):
        value = fields.get(key)
        if isinstance(value, str) and value:
            return value
    return f"number {number}"


def near(name: str, known: Iterable[str]) -> str:
    """``; did you mean x?`` or the whole list: the end of a message about an unknown name."""
    names = list(known)
    close = get_close_matches(name, names, 1, 0.4)
    return f"did you mean '{close[0]}'?" if close else f"known are {', '.join(names) or 'none'}"
