"""What tables of convolutions leave out, and the values that a question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bitgate.core.errors import UsageError
from bitgate.model import DtypeSet
from bitgate.model.space import Domains
from bitgate.model.space.column import COMMON, FIELD, Column
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.pool import COLUMN_VALUES, PASS_VALUES
from bitgate.ops.convolution.space.shape import shape_problem


def _layout(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, layout=_same_kind("layout", text, INPUT_LAYOUTS, problem.ndim))


def _wei_layout(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, wei_layout=_same_kind("wei_layout", text, WEIGHT_LAYOUTS, problem.ndim))


def _same_kind(what: str, text: str, layouts: Mapping[int, tuple[str, ...]], ndim: int) -> str:
    """The layout of ``ndim`` dimensions that is the same kind as ``text`` (nhwgc -> ndhwgc in 3D)."""
    for names in layouts.values():
        if text in names:
            return layouts[ndim][names.index(text)]
    raise UsageError(f"--assume {what}={text}: known are {', '.join(n for names in layouts.values() for n in names)}")


COLUMNS: Mapping[str, Column] = {
    "dtypes": COMMON["dtypes"],
    "layout": Column(_layout),
    "wei_layout": Column(_wei_layout),
    **{name: COMMON[name] for name in ("numd", "gap", "split_k", "in_op", "wei_op")},
}

_DEFAULT = shape_problem(Pass.BWD_DATA, (1, 1, 8, 8), ((1, 1), (4, 4), (1, 1), (1, 1), (0, 0), (0, 0)))


def domains(
    direction: Pass, counted: frozenset[str], assumed: Mapping[str, tuple[str, ...]], rows: Sequence[ConvProblem]
) -> Domains:
    """Values of each column (Batch codes) that the question is about: assumed ones; for a counted column those that
    exist, but of types only the ones that the table uses; else the default."""
    found: dict[str, tuple[int, ...]] = {}
    default = replace(_DEFAULT, direction=direction)
    for name, values in {**COLUMN_VALUES, **PASS_VALUES.get(direction, {})}.items():
        if name in assumed:
            found[name] = tuple(_code(name, COLUMNS[name].put(default, value)) for value in assumed[name])
        elif name == "dtypes" and name in counted:
            used = {problem.dtypes for problem in rows} or {DtypeSet.parse(text) for text in ("f32", "f16", "bf16")}
            found[name] = tuple(sorted({_code(name, replace(_DEFAULT, dtypes=dtypes)) for dtypes in used}))
        else:
            found[name] = values if name in counted else (_code(name, default),)
    return tuple(sorted(found.items()))


def _code(name: str, problem: ConvProblem) -> int:
    return int(getattr(Batch.from_problems([problem]), FIELD.get(name, name))[0])
