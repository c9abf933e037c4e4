"""Case ids: the canonical one-line spelling of a problem, which round-trips, and the form people read.

``bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1[_<op>][_in<op>][_wei<op>][_gap][_sk<n>|_skauto]``
``gemm_f16_rcr_b2m64n64k32[_<op>][_in<op>][_wei<op>][_gap][_sk<n>|_skauto]``
"""

from __future__ import annotations

import re

from bitgate.problem.conv import ConvProblem, Pass, ProblemError, default_layout, default_weight_layout
from bitgate.problem.decomposition import gemms_count
from bitgate.problem.dtype import DTYPES, DtypeSet
from bitgate.problem.elementwise import OPERAND_OPERATIONS, OPERATIONS, Elementwise
from bitgate.problem.gemm import GEMM_LAYOUTS, GemmProblem, gemm_problem
from bitgate.problem.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS

_DIMENSIONS = re.compile(r"(?:g(?P<g>\d+))?n(?P<n>\d+)k(?P<k>\d+)c(?P<c>\d+)")
_MATRICES = re.compile(r"(?:b(?P<batch>\d+))?m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)")
_NUMBERS = re.compile(r"(?P<key>[yhsdpq])(?P<values>\d+(?:x\d+)*)")
_SPATIAL_KEYS = {
    "y": "filter",
    "h": "input",
    "s": "stride",
    "d": "dilation",
    "p": "left_pad",
    "q": "right_pad",
}
_OPERATION_WORDS = {name: ("op", op) for name, op in OPERATIONS.items()} | {
    prefix + name: (f"{prefix}_op", OPERATIONS[name]) for prefix in ("in", "wei") for name in OPERAND_OPERATIONS
}
"""Word of a case id -> the field of the problem that it sets, and to what."""
_ALL_LAYOUTS = {name: ndim for ndim, names in INPUT_LAYOUTS.items() for name in names}
_ALL_WEIGHT_LAYOUTS = {name: ndim for ndim, names in WEIGHT_LAYOUTS.items() for name in names}


def case_id(problem: ConvProblem) -> str:
    """The canonical id: every field written, characters ``[a-z0-9_]`` only."""
    parts = [str(problem.operation), str(problem.dtypes), problem.layout]
    if isinstance(problem, GemmProblem):
        m, n, k = problem.sizes
        parts.append(f"b{problem.batch}m{m}n{n}k{k}")
    else:
        parts += _conv_parts(problem)
    parts += operation_words(problem)
    if problem.gap:
        parts.append("gap")
    if problem.split_k != 1:
        parts.append("skauto" if problem.split_k == -1 else f"sk{problem.split_k}")
    return "_".join(parts)


def _conv_parts(problem: ConvProblem) -> list[str]:
    parts = [] if problem.wei_layout == default_weight_layout(problem.ndim) else [problem.wei_layout]
    parts.append(f"g{problem.g}n{problem.n}k{problem.k}c{problem.c}")
    return parts + [key + "x".join(str(v) for v in getattr(problem, name)) for key, name in _SPATIAL_KEYS.items()]


def operation_words(problem: ConvProblem) -> list[str]:
    """The operations that do something, as a case id names them: ``bilinear``, ``inscale``, ``weirelu``."""
    operations = {"": problem.op, "in": problem.in_op, "wei": problem.wei_op}
    return [prefix + op.name for prefix, op in operations.items() if op.name != "pass"]


def check_numbers(text: str) -> None:
    """ProblemError for a number that no size is: Python itself refuses to read or write one of thousands of digits."""
    if found := re.search(r"\d{30}", text):
        raise ProblemError(f"'{found[0]}...' is no size: a number has at most 29 digits here")


def parse_case_id(text: str) -> ConvProblem:
    """The problem of an id; defaults (g1, s1, d1, p0, q=p) may be left out, a scalar stands for all dimensions.

    Raises ProblemError saying which part of the id is wrong.
    """
    check_numbers(text)
    rest = text.strip()
    direction = next((d for d in sorted(Pass, key=lambda d: -len(d.value)) if rest.startswith(d.value + "_")), None)
    if direction is None:
        raise ProblemError(f"case '{text}': starts with none of {', '.join(p.value for p in Pass)}")
    words = rest[len(direction.value) + 1 :].split("_")
    dtypes = _take_dtypes(text, words)
    if direction is Pass.GEMM:
        return _parse_gemm(text, dtypes, words)
    layout, wei_layout = _take_layouts(text, words)
    dims = _DIMENSIONS.fullmatch(words[0]) if words else None
    if dims is None:
        raise ProblemError(
            f"case '{text}': expected g..n..k..c.. after the layout, found '{words[0] if words else ''}'"
        )
    spatial, operations, gap, split_k = _take_rest(text, words[1:])
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
        gap=gap,
        split_k=split_k,
        **operations,
    )


def _parse_gemm(text: str, dtypes: DtypeSet, words: list[str]) -> GemmProblem:
    layout = words.pop(0) if words else ""
    if layout not in GEMM_LAYOUTS:
        raise ProblemError(f"case '{text}': expected a layout of {', '.join(GEMM_LAYOUTS)}, found '{layout}'")
    sizes = _MATRICES.fullmatch(words[0]) if words else None
    if sizes is None:
        raise ProblemError(
            f"case '{text}': expected b..m..n..k.. after the layout, found '{words[0] if words else ''}'"
        )
    spatial, operations, gap, split_k = _take_rest(text, words[1:])
    if spatial:
        raise ProblemError(f"case '{text}': a GEMM has no {', '.join(_SPATIAL_KEYS[key] for key in spatial)}")
    batch, m, n, k = (int(sizes[name] or 1) for name in ("batch", "m", "n", "k"))
    return gemm_problem(dtypes, layout, batch, m, n, k, gap=gap, split_k=split_k, **operations)


def human(problem: ConvProblem) -> str:
    """``bwd_data f16 NHWGC G=1 N=4 K=128 C=64 3x3 28x28 s3 p1 -> 9 sub-GEMMs``, ``gemm f16 RCR batch=2 64x64x32``."""
    words = [str(problem.operation), str(problem.dtypes), problem.layout.upper()]
    if isinstance(problem, GemmProblem):
        words += [f"batch={problem.batch}", "x".join(map(str, problem.sizes))]
    else:
        words += _conv_words(problem)
    words += operation_words(problem)
    if problem.gap:
        words.append("strided")
    if problem.split_k != 1:
        words.append("split-K " + ("auto" if problem.split_k == -1 else str(problem.split_k)))
    if problem.direction is Pass.BWD_DATA:
        count = gemms_count(problem)
        words.append(f"-> {count} sub-GEMM{'s' if count > 1 else ''}")
    return " ".join(words)


def _conv_words(problem: ConvProblem) -> list[str]:
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


def _take_dtypes(text: str, words: list[str]) -> DtypeSet:
    taken: list[str] = []
    while words and len(taken) < 3 and words[0] in DTYPES:
        taken.append(words.pop(0))
    if len(taken) not in (1, 3):
        raise ProblemError(f"case '{text}': after the pass stand one dtype or three; known: {', '.join(DTYPES)}")
    if words and words[0].startswith("ct"):
        taken.append(words.pop(0))
    try:
        return DtypeSet.parse("_".join(taken))
    except ValueError as error:
        raise ProblemError(f"case '{text}': {error}") from None


def _take_layouts(text: str, words: list[str]) -> tuple[str | None, str | None]:
    layout = words.pop(0) if words and words[0] in _ALL_LAYOUTS else None
    wei_layout = words.pop(0) if words and words[0] in _ALL_WEIGHT_LAYOUTS else None
    if layout is None and words and words[0].isalpha():
        raise ProblemError(f"case '{text}': unknown layout '{words[0]}': known are {', '.join(_ALL_LAYOUTS)}")
    return layout, wei_layout


def _take_rest(text: str, words: list[str]) -> tuple[dict[str, tuple[int, ...]], dict[str, Elementwise], bool, int]:
    spatial: dict[str, tuple[int, ...]] = {}
    operations: dict[str, Elementwise] = {}
    gap, split_k = False, 1
    for word in words:
        numbers = _NUMBERS.fullmatch(word)
        if numbers and numbers["key"] not in spatial:
            spatial[numbers["key"]] = tuple(int(v) for v in numbers["values"].split("x"))
        elif word in _OPERATION_WORDS and _OPERATION_WORDS[word][0] not in operations:
            name, op = _OPERATION_WORDS[word]
            operations[name] = op
        elif word == "gap":
            gap = True
        elif word == "skauto":
            split_k = -1
        elif re.fullmatch(r"sk\d+", word):
            split_k = int(word[2:])
        else:
            raise ProblemError(
                f"case '{text}': '{word}' is not a part of a case id"
                f" (y h s d p q with numbers, {', '.join(_OPERATION_WORDS)}, gap, sk<n>), or stands twice"
            )
    return spatial, operations, gap, split_k


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
