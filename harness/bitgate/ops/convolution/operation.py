"""The three passes of a grouped convolution as operations, with their case ids, which round-trip.

``bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1[_<op>][_in<op>][_wei<op>][_gap]
[_gap<tensor><axis><n>...][_sk<n>|_skauto]``
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from bitgate.model import Operation, ProblemError
from bitgate.model.spelling import Tail, not_a_part, tail_in_words, tail_words, take_dtypes
from bitgate.ops.convolution.decomposition import gemms_count
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS, default_layout, default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem, Pass

_DIMENSIONS = re.compile(r"(?:g(?P<g>\d+))?n(?P<n>\d+)k(?P<k>\d+)c(?P<c>\d+)")
_NUMBERS = re.compile(r"(?P<key>[yhsdpq])(?P<values>\d+(?:x\d+)*)")
_SPATIAL_KEYS = {
    "y": "filter",
    "h": "input",
    "s": "stride",
    "d": "dilation",
    "p": "left_pad",
    "q": "right_pad",
}
_ALL_LAYOUTS = {name: ndim for ndim, names in INPUT_LAYOUTS.items() for name in names}
_ALL_WEIGHT_LAYOUTS = {name: ndim for ndim, names in WEIGHT_LAYOUTS.items() for name in names}


def spell(problem: ConvProblem) -> str:
    """Return the canonical id: every field written."""
    parts = [str(problem.direction), str(problem.dtypes), problem.layout]
    if problem.wei_layout != default_weight_layout(problem.ndim):
        parts.append(problem.wei_layout)
    parts.append(f"g{problem.g}n{problem.n}k{problem.k}c{problem.c}")
    parts += [key + "x".join(str(v) for v in getattr(problem, name)) for key, name in _SPATIAL_KEYS.items()]
    return "_".join(parts + tail_words(problem))


def parse(direction: Pass, text: str, words: list[str]) -> ConvProblem:
    """Return the problem of an id; defaults (g1, s1, d1, p0, q=p) may be left out, a scalar stands for all dimensions.

    Raises ProblemError, which says which part of the id is wrong.
    """
    dtypes = take_dtypes(text, words)
    layout, wei_layout = _take_layouts(text, words)
    dims = _DIMENSIONS.fullmatch(words[0]) if words else None
    if dims is None:
        raise ProblemError(
            f"case '{text}': expected g..n..k..c.. after the layout, found '{words[0] if words else ''}'"
        )
    spatial, tail = _take_rest(text, words[1:])
    ndim = _dimensions(text, layout, wei_layout, spatial)
    ones, zeros = (1,) * ndim, (0,) * ndim
    left_pad = _spread(text, "p", spatial.get("p"), ndim, zeros)
    return ConvProblem(
        direction=direction,
        dtypes=dtypes,
        layout=layout or default_layout(ndim),
        wei_layout=wei_layout or default_weight_layout(ndim),
        g=int(dims["g"] or 1),
        n=int(dims["n"]),
        k=int(dims["k"]),
        c=int(dims["c"]),
        filter=_spread(text, "y", spatial.get("y"), ndim, None),
        input=_spread(text, "h", spatial.get("h"), ndim, None),
        stride=_spread(text, "s", spatial.get("s"), ndim, ones),
        dilation=_spread(text, "d", spatial.get("d"), ndim, ones),
        left_pad=left_pad,
        right_pad=_spread(text, "q", spatial.get("q"), ndim, left_pad),
        **tail.said,
    )


def human(problem: ConvProblem) -> str:
    """Return the problem for people: ``bwd_data f16 NHWGC G=1 N=4 K=128 C=64 3x3 28x28 s3 p1 -> 9 sub-GEMMs``."""
    words = [str(problem.direction), str(problem.dtypes), problem.layout.upper(), *_sizes_in_words(problem)]
    words += tail_in_words(problem)
    if problem.direction is Pass.BWD_DATA:
        count = gemms_count(problem)
        words.append(f"-> {count} sub-GEMM{'s' if count > 1 else ''}")
    return " ".join(words)


def _sizes_in_words(problem: ConvProblem) -> list[str]:
    words: list[str] = []
    if problem.wei_layout != default_weight_layout(problem.ndim):
        words.append(problem.wei_layout.upper())
    words.append(f"G={problem.g} N={problem.n} K={problem.k} C={problem.c}")
    words += ["x".join(map(str, problem.filter)), "x".join(map(str, problem.input))]
    for key, values, default in (
        ("s", problem.stride, 1),
        ("d", problem.dilation, 1),
        ("p", problem.left_pad, 0),
    ):
        if any(v != default for v in values):
            words.append(key + _compact(values))
    if problem.right_pad != problem.left_pad:
        words.append("q" + _compact(problem.right_pad))
    return words


def _compact(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(set(values)) == 1 else "x".join(map(str, values))


def _take_layouts(text: str, words: list[str]) -> tuple[str | None, str | None]:
    layout = words.pop(0) if words and words[0] in _ALL_LAYOUTS else None
    wei_layout = words.pop(0) if words and words[0] in _ALL_WEIGHT_LAYOUTS else None
    if layout is None and words and words[0].isalpha():
        raise ProblemError(f"case '{text}': unknown layout '{words[0]}': known are {', '.join(_ALL_LAYOUTS)}")
    return layout, wei_layout


def _take_rest(text: str, words: list[str]) -> tuple[dict[str, tuple[int, ...]], Tail]:
    spatial: dict[str, tuple[int, ...]] = {}
    tail = Tail()
    for word in words:
        key, values = _numbers(word)
        if key and key not in spatial:
            spatial[key] = values
        elif not tail.take(word):
            raise not_a_part(text, word, "y h s d p q with numbers, ")
    return spatial, tail


@lru_cache(maxsize=4096)
def _numbers(word: str) -> tuple[str, tuple[int, ...]]:
    """Return a letter and its numbers, ``s2x1`` -> s, (2, 1); nothing for another word."""
    found = _NUMBERS.fullmatch(word)
    return (found["key"], tuple(int(v) for v in found["values"].split("x"))) if found else ("", ())


def _dimensions(text: str, layout: str | None, wei_layout: str | None, spatial: dict[str, tuple[int, ...]]) -> int:
    if layout is not None:
        return _ALL_LAYOUTS[layout]
    if wei_layout is not None:
        return _ALL_WEIGHT_LAYOUTS[wei_layout]
    if "h" not in spatial:
        raise ProblemError(f"case '{text}': the input size h.. is missing")
    return len(spatial["h"])


def _spread(
    text: str, key: str, values: tuple[int, ...] | None, ndim: int, default: tuple[int, ...] | None
) -> tuple[int, ...]:
    if values is None:
        if default is None:
            raise ProblemError(f"case '{text}': {_SPATIAL_KEYS[key]} ({key}..) is missing")
        return default
    if len(values) == 1:
        return values * ndim
    if len(values) != ndim:
        raise ProblemError(f"case '{text}': {key} has {len(values)} values, the layout has {ndim} dimensions")
    return values


MATRICES = {Pass.FWD: (0, 1, 2), Pass.BWD_DATA: (2, 1, 0), Pass.BWD_WEIGHT: (2, 0, 1)}
"""A, B and C of each pass as an implicit GEMM, as places among the forward pass's x, w and y."""


class Convolution(Operation):
    """One pass; what the three share they share here."""

    layouts = frozenset(layout for names in INPUT_LAYOUTS.values() for layout in names)
    groups: Mapping[str, str] = {
        "numerics": "bitgate.ops.convolution.numerics:ConvolutionNumerics",
        "space": "bitgate.ops.convolution.space:ConvolutionSpace",
        "diagnostics": "bitgate.ops.convolution.diagnostics:ConvolutionDiagnostics",
    }

    def __init__(self, direction: Pass) -> None:
        self.name = direction.value
        self.matrices = MATRICES[direction]
        self._direction = direction

    def parse(self, text: str, words: list[str]) -> ConvProblem:
        return parse(self._direction, text, words)

    def spell(self, problem: ConvProblem) -> str:
        return spell(problem)

    def human(self, problem: ConvProblem) -> str:
        return human(problem)


OPERATIONS = tuple(map(Convolution, Pass))
