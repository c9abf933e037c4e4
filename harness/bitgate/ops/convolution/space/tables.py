"""Convolutions of other teams' tables: plain problems, left-out columns, and the values that a question is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.model import DtypeSet
from bitgate.model.space import Domains
from bitgate.model.space.column import COMMON, FIELD, Column
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS, default_layout, default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.draws import COLUMN_VALUES, PASS_VALUES


def shape_problem(
    direction: Pass,
    numbers: tuple[int, int, int, int],
    spatial: tuple[tuple[int, ...], ...],
    dtypes: str = "f16",
    layout: str = "",
    wei_layout: str = "",
) -> ConvProblem:
    """Return a plain problem from (G, N, K, C) and (filter, input, stride, dilation, left pads, right pads)."""
    ndim = len(spatial[1])
    g, n, k, c = numbers
    filter_, input_, stride, dilation, left_pad, right_pad = spatial
    return ConvProblem(
        direction=direction,
        dtypes=DtypeSet.parse(dtypes),
        layout=layout or default_layout(ndim),
        wei_layout=wei_layout or default_weight_layout(ndim),
        g=g,
        n=n,
        k=k,
        c=c,
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        left_pad=left_pad,
        right_pad=right_pad,
    )


_SPELLINGS = {
    Pass.BWD_DATA: ("bwd_data", "bwddata", "backward_data"),
    Pass.BWD_WEIGHT: ("bwd_weight", "bwdweight", "backward_weight"),
    Pass.FWD: ("fwd", "forward"),
}


def pass_of(asked: str, path: Path, text: str = "") -> Pass:
    """Return the pass that is asked for, else that of the file's name, else the one that its text names most often.

    Without any of these it is bwd_data.
    """
    if asked:
        return Pass(asked)
    for content in (path.name.lower(), text.lower()):
        counts = {direction: sum(content.count(word) for word in words) for direction, words in _SPELLINGS.items()}
        best = max(counts, key=lambda direction: counts[direction])
        if counts[best]:
            return best
    return Pass.BWD_DATA


def _layout(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, layout=_same_kind("layout", text, INPUT_LAYOUTS, problem.ndim))


def _wei_layout(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, wei_layout=_same_kind("wei_layout", text, WEIGHT_LAYOUTS, problem.ndim))


def _same_kind(what: str, text: str, layouts: Mapping[int, tuple[str, ...]], ndim: int) -> str:
    """Return the layout of ``ndim`` dimensions that is the same kind as ``text`` (nhwgc -> ndhwgc in 3D)."""
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
    """Return the values of each column (Batch codes) that the question is about.

    They are the assumed ones; for a counted column those that exist, but of types only the ones that the table uses;
    else the default.
    """
    found: dict[str, tuple[int, ...]] = {}
    default = replace(_DEFAULT, direction=direction)
    for name, values in {**COLUMN_VALUES, **PASS_VALUES.get(direction, {})}.items():
        if name in assumed:
            puts = (COLUMNS[name].put_if_possible(default, value) for value in assumed[name])
            found[name] = tuple(_code(name, put) for put in puts if put)
        elif name == "dtypes" and name in counted:
            used = {problem.dtypes for problem in rows} or {DtypeSet.parse(text) for text in ("f32", "f16", "bf16")}
            found[name] = tuple(sorted({_code(name, replace(_DEFAULT, dtypes=dtypes)) for dtypes in used}))
        else:
            found[name] = values if name in counted else (_code(name, default),)
    return tuple(sorted(found.items()))


def _code(name: str, problem: ConvProblem) -> int:
    return int(getattr(Batch.from_problems([problem]), FIELD.get(name, name))[0])
