"""benchdnn lines: ``benchdnn --conv --dir=BWD_D --dt=f16 --stag=axb mb4_g1ic64ih28oc128oh10kh3sh3ph1``.

ic and oc count the channels of all groups; dilation 0 means dense; the right pad follows from the output size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bitgate.problem.conv import ConvProblem, Pass, ProblemError, default_weight_layout
from bitgate.problem.dtype import DtypeSet
from bitgate.problem.elementwise import OPERATIONS

DIRECTIONS = {
    "FWD_D": Pass.FWD,
    "FWD_I": Pass.FWD,
    "FWD_B": Pass.FWD,
    "BWD_D": Pass.BWD_DATA,
    "BWD_W": Pass.BWD_WEIGHT,
}
DTYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "s8": "i8"}
# Tags of plain layouts: channels last, channels first; what benchdnn lets the library choose becomes channels last.
_TAGS = {"axb": "last", "nhwc": "last", "ndhwc": "last", "nwc": "last", "any": "last"} | {
    "abx": "first",
    "nchw": "first",
    "ncdhw": "first",
    "ncw": "first",
}
_LAYOUTS = {
    "last": {1: "nwgc", 2: "nhwgc", 3: "ndhwgc"},
    "first": {1: "ngcw", 2: "ngchw", 3: "ngcdhw"},
}
_NUMBER = re.compile(r"(mb|ic|oc|[iok][dhw]|s[dhw]|p[dhw]|d[dhw]|g)(\d+)")
_IGNORED = ("--mode", "--alg", "--engine", "--batch", "--cfg", "--wtag", "--dtag", "--perf-template", "-v", "--match")


def parse(words: Sequence[str]) -> tuple[ConvProblem, ...]:
    """The problems of a line: one a descriptor."""
    if "--conv" not in words:
        raise ProblemError("only benchdnn --conv is understood")
    direction, dtypes, tag, bias = Pass.FWD, "f32", "any", False
    problems: list[ConvProblem] = []
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name == "--conv" or name in _IGNORED:
            continue
        if name == "--dir":
            direction, bias = _direction(value)
        elif name == "--dt":
            dtypes = _dtypes(value)
        elif name == "--stag":
            tag = value
        elif word.startswith("-"):
            raise ProblemError(f"option '{word}' is not understood: --dir, --dt, --stag are")
        else:
            problems.append(_problem(word, direction, dtypes, tag, bias))
    if not problems:
        raise ProblemError("no problem descriptor (mb..ic..ih..oc..) found")
    return tuple(problems)


def _direction(value: str) -> tuple[Pass, bool]:
    try:
        return DIRECTIONS[value.upper()], value.upper() == "FWD_B"
    except KeyError:
        raise ProblemError(f"--dir={value} is not understood: {', '.join(DIRECTIONS)} are") from None


def _dtypes(value: str) -> str:
    names = [name for name in value.split(":") if name]
    unknown = [name for name in names if name not in DTYPES]
    if unknown or len(names) not in (1, 3):
        raise ProblemError(f"--dt={value} is not understood: one or three of {', '.join(DTYPES)} are")
    return "_".join(DTYPES[name] for name in names)


def _problem(descriptor: str, direction: Pass, dtypes: str, tag: str, bias: bool) -> ConvProblem:
    text = re.sub(r'n"[^"]*"$|n[a-zA-Z].*$', "", descriptor)
    numbers: dict[str, int] = {}
    end = 0
    for found in _NUMBER.finditer(text.replace("_", "")):
        if found.start() != end:
            break
        numbers[found.group(1)] = int(found.group(2))
        end = found.end()
    if end != len(text.replace("_", "")):
        raise ProblemError(f"descriptor '{descriptor}': '{text.replace('_', '')[end:]}' is not understood")
    missing = [name for name in ("ic", "oc") if name not in numbers]
    if missing:
        raise ProblemError(f"descriptor '{descriptor}' lacks {' and '.join(missing)}")
    ndim = 3 if "id" in numbers else 2 if "ih" in numbers else 1
    groups = numbers.get("g", 1)
    if groups < 1 or numbers["ic"] % groups or numbers["oc"] % groups:
        raise ProblemError(f"descriptor '{descriptor}': ic and oc do not divide into {groups} groups")
    filters = _axes(descriptor, numbers, "k", ndim, None)
    inputs = _axes(descriptor, numbers, "i", ndim, None)
    strides = _axes(descriptor, numbers, "s", ndim, 1)
    dilations = tuple(d + 1 for d in _axes(descriptor, numbers, "d", ndim, 0))
    pads = _axes(descriptor, numbers, "p", ndim, -1)
    outputs = _axes(descriptor, numbers, "o", ndim, -1)
    left, right = _pads(inputs, filters, strides, dilations, pads, outputs)
    if tag not in _TAGS:
        raise ProblemError(f"--stag={tag} is not understood: {', '.join(_TAGS)} are")
    return ConvProblem(
        direction=direction,
        dtypes=DtypeSet.parse(dtypes),
        layout=_LAYOUTS[_TAGS[tag]][ndim],
        wei_layout=default_weight_layout(ndim),
        g=groups,
        n=numbers.get("mb", 2),
        k=numbers["oc"] // groups,
        c=numbers["ic"] // groups,
        filter=filters,
        input=inputs,
        stride=strides,
        dilation=dilations,
        left_pad=left,
        right_pad=right,
        op=OPERATIONS["bias" if bias else "pass"],
    )


def _axes(descriptor: str, numbers: dict[str, int], letter: str, ndim: int, default: int | None) -> tuple[int, ...]:
    """One number an axis; an axis that is left out repeats the slowest one given (``ih28`` alone is square)."""
    axes = "dhw"[3 - ndim :]
    given = [numbers[letter + axis] for axis in axes if letter + axis in numbers]
    if not given:
        if default is None:
            raise ProblemError(f"descriptor '{descriptor}' lacks {letter}{axes[0]}")
        return (default,) * ndim
    return tuple(numbers.get(letter + axis, given[0]) for axis in axes)


def _pads(
    inputs: Sequence[int],
    filters: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    outputs: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Left and right pads. Without a pad it is symmetric and follows from the output; without an output, pads agree."""
    left, right = [], []
    for i, f, s, d, p, o in zip(inputs, filters, strides, dilations, pads, outputs, strict=True):
        window = (f - 1) * d + 1
        if o < 0:
            left.append(max(p, 0))
            right.append(max(p, 0))
            continue
        both = (o - 1) * s + window - i
        first = p if p >= 0 else max(0, both) // 2
        left.append(first)
        right.append(max(0, both - first))
    return tuple(left), tuple(right)
