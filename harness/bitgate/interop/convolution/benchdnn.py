"""benchdnn's descriptors of convolutions: ``mb4_g2ic64ih28oc128oh10kh3sh3ph1n"layer1"``.

ic and oc count the channels of all groups; dilation 0 means dense; an underscore between two numbers means nothing.

An axis is absent if none of its i, o, k, d is given (0 is as nothing), its stride is 1 and its pad not positive. Whole
axes are borrowed, never single numbers: with d and neither h nor w all three are as d; without d, an absent w is
as h. Of an axis that is there, o and p follow from each other; if both are given, the right pad follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from bitgate.interop.benchdnn_post_ops import OPTION, operation_of
from bitgate.interop.benchdnn_types import bias_of, dtypes_of, letters_of
from bitgate.interop.convolution.parameters import PASSES
from bitgate.interop.dialect import Dialect
from bitgate.interop.program import BenchdnnDriver, Values
from bitgate.model import DtypeSet, Problem, ProblemError
from bitgate.ops.convolution.layout import default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.reduction.problem import Kind, ReductionProblem, types_of

DEFAULTS: Mapping[str, str] = {
    "dir": "FWD_B",
    "dt": "f32",
    "stag": "any",
    "wtag": "any",
    "dtag": "any",
    "mb": "0",
    "bia-dt": "undef",
    OPTION: "",
}

DIRECTIONS = {
    "FWD_D": Pass.FWD,
    "FWD_I": Pass.FWD,
    "FWD_B": Pass.FWD,
    "BWD_D": Pass.BWD_DATA,
    "BWD_W": Pass.BWD_WEIGHT,
    "BWD_WB": Pass.BWD_WEIGHT,
}
BIASED = ("FWD_B", "BWD_WB")
"""Directions with a bias, whatever ``--bia-dt`` says."""
IMAGES = 2
"""Of a descriptor that gives none."""

DESCRIPTOR = re.compile(r"(?:mb|g|ic|oc|[iokspd][dhw])-?\d")
_FIELD = re.compile(r"(mb|[io]c|[iokspd][dhw]|g)(-?\d{1,18})(?!\d)")

# By the letters of memory order. What benchdnn lets the library choose becomes channels last.
_IMAGE_NAMES = {
    "first": ({"ncw", "abc"}, {"nchw", "abcd"}, {"ncdhw", "abcde"}),
    "last": ({"nwc", "acb"}, {"nhwc", "acdb"}, {"ndhwc", "acdeb"}),
}
_IMAGE_LAYOUTS = {"last": ("nwgc", "nhwgc", "ndhwgc"), "first": ("ngcw", "ngchw", "ngcdhw")}
_WEIGHT_NAMES = {
    (False, "first"): ({"oiw", "abc"}, {"oihw", "abcd"}, {"oidhw", "abcde"}),
    (False, "last"): ({"owi", "acb"}, {"ohwi", "acdb"}, {"odhwi", "acdeb"}),
    (True, "first"): ({"goiw", "abcd"}, {"goihw", "abcde"}, {"goidhw", "abcdef"}),
    (True, "last"): ({"gowi", "abdc"}, {"gohwi", "abdec"}, {"godhwi", "abdefc"}),
}
_WEIGHT_LAYOUTS = {"last": ("gkxc", "gkyxc", "gkzyxc"), "first": ("gkcx", "gkcyx", "gkczyx")}


@dataclass(frozen=True)
class _Axis:
    """One axis as the descriptor gives it; 0 and, for the pad, -1: not given. ``dilation`` counts from 0."""

    name: str
    input: int
    output: int
    filter: int
    stride: int
    dilation: int
    pad: int

    @property
    def absent(self) -> bool:
        return not (self.input or self.output or self.filter or self.dilation) and self.stride == 1 and self.pad <= 0


@dataclass(frozen=True)
class _Described:
    """Contents of a descriptor; channels are those of a group."""

    groups: int
    grouped: bool
    images: int
    c: int
    k: int
    axes: tuple[_Axis, ...]
    pads: tuple[tuple[int, int], ...]
    name: str

    @property
    def outputs(self) -> list[int]:
        pads = zip(self.axes, self.pads, strict=True)
        windows = [(axis, left + right, (axis.filter - 1) * (axis.dilation + 1) + 1) for axis, (left, right) in pads]
        return [axis.output or (axis.input + pad - window) // axis.stride + 1 for axis, pad, window in windows]


def problems(descriptor: str, values: Values) -> Iterator[tuple[Problem, str]]:
    """Yield the problem of a descriptor under values of all DEFAULTS; of BWD_WB the gradient of the bias as well.

    A note says that a bias has another type than in benchdnn.
    """
    name = values["dir"].upper()
    if name not in DIRECTIONS:
        raise ProblemError(f"--dir={values['dir']} is not understood: {', '.join(DIRECTIONS)} are")
    direction, dtypes = DIRECTIONS[name], _dtypes(values["dt"])
    described = _described(descriptor)
    own = "f64" if dtypes.wei.name == "f64" else "f32"
    note = f"the bias of --dir={name} is {own} in benchdnn; here it has the type of y, {dtypes.out}"
    try:
        layout, wei_layout = _layouts(values, len(described.axes), described.grouped)
        bias = name == "FWD_B" or _stated_bias(values, dtypes, direction)
        op = operation_of(values[OPTION], values["dt"].split(":")[-1], bias=bias, forward=direction is Pass.FWD)
        convolution = ConvProblem(
            direction=direction,
            dtypes=dtypes,
            layout=layout,
            wei_layout=wei_layout,
            g=described.groups,
            n=_images(values["mb"]) or described.images,
            k=described.k,
            c=described.c,
            filter=tuple(axis.filter for axis in described.axes),
            input=tuple(axis.input for axis in described.axes),
            stride=tuple(axis.stride for axis in described.axes),
            dilation=tuple(axis.dilation + 1 for axis in described.axes),
            left_pad=tuple(left for left, _ in described.pads),
            right_pad=tuple(right for _, right in described.pads),
            op=op,
        )
        yield convolution, note if name == "FWD_B" and dtypes.out.name != own else ""
        if name == "BWD_WB":
            yield _bias_gradient(convolution), note if dtypes.out.name != own else ""
    except ProblemError as error:
        raise ProblemError(f"descriptor '{descriptor}': {error}") from None


def _bias_gradient(convolution: ConvProblem) -> ReductionProblem:
    """Return the sum of dy over images and space, a value a channel. ProblemError if dy is no matrix of channels."""
    places, channels = convolution.n * prod(convolution.output), convolution.g * convolution.k
    try:
        dtypes = types_of(convolution.dtypes.out, Kind.SUM)
        if convolution.layout in _IMAGE_LAYOUTS["last"]:
            return ReductionProblem(dtypes, outer=1, length=places, inner=channels)
        if convolution.n == 1:
            return ReductionProblem(dtypes, outer=channels, length=places)
        raise ProblemError("channels before space, several images")
    except ProblemError as error:
        raise ProblemError(f"the gradient of the bias (--dir=BWD_WB) is not understood: {error}") from None


def _stated_bias(values: Values, dtypes: DtypeSet, direction: Pass) -> bool:
    """Return whether ``--bia-dt`` asks for a bias. ProblemError for one that is not the result's."""
    bias = bias_of(values["bia-dt"], dtypes.out.name)
    if bias and direction is not Pass.FWD:
        raise ProblemError(f"--bia-dt={values['bia-dt']}: --dir={values['dir']} with a bias is not understood")
    return bias


def settled(values: Values) -> Values:
    """Return values without a type of bias where the direction decides it."""
    return {**values, "bia-dt": DEFAULTS["bia-dt"]} if values["dir"].upper() in BIASED else values


def spelled(descriptor: str, values: Values) -> str:
    """Print options and descriptor as benchdnn does: with all lengths, without what is at its default."""
    described = _described(descriptor)
    numbers = {"g": described.groups} if described.grouped else {}
    images = _images(values["mb"]) or described.images
    numbers |= {"mb": images} if images != IMAGES else {}
    axes, pads = described.axes, [left for left, _ in described.pads]
    letters = "dhw"[3 - len(axes) :]
    alike = {(axis.input, axis.filter, axis.stride, axis.dilation) for axis in axes}
    same = len(alike) == len(set(described.outputs)) == len(set(pads)) == 1
    printed = [0] if same else range(len(axes))

    def spatial(name: str, of_axes: Sequence[int], usual: int | None = None) -> None:
        if any(number != usual for number in of_axes):
            numbers.update({f"{name}{letters[at]}": of_axes[at] for at in printed})

    numbers["ic"] = described.c * described.groups
    spatial("i", [axis.input for axis in axes])
    numbers["oc"] = described.k * described.groups
    spatial("o", described.outputs)
    spatial("k", [axis.filter for axis in axes])
    spatial("s", [axis.stride for axis in axes], 1)
    spatial("p", pads)
    spatial("d", [axis.dilation for axis in axes], 0)
    options = [f"--{name}={value}" for name, value in values.items() if value != DEFAULTS.get(name) and name != "mb"]
    return " ".join([*options, "".join(f"{name}{number}" for name, number in numbers.items()) + described.name])


def resembles(descriptor: str) -> str:
    """Return deconv where a descriptor's name or lengths fit that driver, and for a convolution the last window would
    be padding alone."""
    if "deconv" in descriptor:
        return "deconv"
    try:
        described = _described(descriptor)
    except ProblemError:
        return ""
    for axis, (left, right) in zip(described.axes, described.pads, strict=True):
        window = (axis.filter - 1) * (axis.dilation + 1) + 1
        transposed = (axis.input - 1) * axis.stride + window - 2 * left
        if axis.output and right >= window and abs(transposed - axis.output) < axis.stride:
            return "deconv"
    return ""


@lru_cache(maxsize=256)
def _dtypes(value: str) -> DtypeSet:
    return dtypes_of(value)


@lru_cache(maxsize=256)
def _described(descriptor: str) -> _Described:
    """Read a descriptor, whatever the options are."""
    numbers = _numbers(descriptor)
    try:
        axes = _axes(numbers)
        groups, channels = _channels(numbers)
        pads = tuple(_pads(axis) for axis in axes)
        images = numbers.get("mb", IMAGES)
        name = "".join(descriptor.partition("n")[1:])
        return _Described(groups, "g" in numbers, images, channels["ic"], channels["oc"], axes, pads, name)
    except ProblemError as error:
        raise ProblemError(f"descriptor '{descriptor}': {error}") from None


def _images(value: str) -> int:
    """Parse ``--mb``: 0 leaves each descriptor its number of images."""
    if not re.fullmatch(r"\d{1,18}", value):
        raise ProblemError(f"--mb={value} is not a number of images")
    return int(value)


def _numbers(descriptor: str) -> dict[str, int]:
    """{field: number}. A name, from the first n on, is no part of the problem."""
    numbers: dict[str, int] = {}
    at = 0
    while at < len(descriptor) and descriptor[at] != "n":
        found = _FIELD.match(descriptor, at)
        if found is None and descriptor[at] != "_":
            raise ProblemError(f"descriptor '{descriptor}': '{descriptor[at:]}' is not understood")
        if found is not None:
            numbers[found[1]] = int(found[2])
            if numbers[found[1]] < 0:
                raise ProblemError(f"descriptor '{descriptor}': {found[0]} is negative, nothing here can be")
        at = at + 1 if found is None else found.end()
    return numbers


def _axes(numbers: Mapping[str, int]) -> tuple[_Axis, ...]:
    """Return the axes that the problem has, slowest first, with what whole axes borrow from each other."""
    d, h, w = (_given(numbers, name) for name in "dhw")
    if not d.absent:
        if h.absent and w.absent:
            return tuple(_complete(axis) for axis in (d, _as(d, "h"), _as(d, "w")))
        if h.absent or w.absent:
            raise ProblemError(f"axes d and {'w' if h.absent else 'h'} are given, {'h' if h.absent else 'w'} is not")
        return tuple(_complete(axis) for axis in (d, h, w))
    if not h.absent:
        return tuple(_complete(axis) for axis in (h, _as(h, "w") if w.absent else w))
    if w.absent:
        raise ProblemError("no axis is given (iw, ih or id)")
    return (_complete(w),)


def _given(numbers: Mapping[str, int], name: str) -> _Axis:
    i, o, k, s, d, p = (numbers.get(f"{letter}{name}") for letter in "ioksdp")
    return _Axis(name, i or 0, o or 0, k or 0, 1 if s is None else s, d or 0, -1 if p is None else p)


def _as(axis: _Axis, name: str) -> _Axis:
    return _Axis(name, axis.input, axis.output, axis.filter, axis.stride, axis.dilation, axis.pad)


def _complete(axis: _Axis) -> _Axis:
    """ProblemError unless the axis has what nothing follows for."""
    for letter, number in (("i", axis.input), ("k", axis.filter), ("s", axis.stride)):
        if not number:
            raise ProblemError(f"{letter}{axis.name} is missing or 0")
    return axis


def _pads(axis: _Axis) -> tuple[int, int]:
    """Left and right pad. A right pad below zero drops cells that no filter reaches: less than a stride of them change
    nothing; more, or a left one, would be another image."""
    if not axis.output:
        return max(axis.pad, 0), max(axis.pad, 0)
    window = (axis.filter - 1) * (axis.dilation + 1) + 1
    both = (axis.output - 1) * axis.stride + window - axis.input
    left = axis.pad if axis.pad >= 0 else (abs(both) // 2) * (1 if both >= 0 else -1)
    right = both - left
    if left < 0:
        raise ProblemError(f"axis {axis.name}: the left pad that follows is {left}, there are none below zero here")
    if right <= -axis.stride:
        raise ProblemError(f"axis {axis.name}: the right pad that follows is {right}: o{axis.name} leaves outputs out")
    return left, max(right, 0)


def _channels(numbers: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    groups = numbers.get("g", 1)
    for name in ("ic", "oc"):
        if not numbers.get(name):
            raise ProblemError(f"{name} is missing or 0")
        if groups < 1 or numbers[name] % groups:
            raise ProblemError(f"{name}{numbers[name]} does not divide into {groups} groups")
    return groups, {name: numbers[name] // groups for name in ("ic", "oc")}


def _layouts(values: Mapping[str, str], ndim: int, grouped: bool) -> tuple[str, str]:
    """Return the layouts of the input and the weights. The output's tag has to agree with the input's."""
    source, destination = (_image_order(f"--{name}", values[name], ndim) for name in ("stag", "dtag"))
    if source and destination and source != destination:
        raise ProblemError(f"--stag={values['stag']} --dtag={values['dtag']}: images in two layouts are not understood")
    tag = values["wtag"]
    weights = default_weight_layout(ndim)
    if tag != "any":
        letters = letters_of(tag, ndim + 2 + grouped)
        order = next((o for o in ("first", "last") if letters in _WEIGHT_NAMES[grouped, o][ndim - 1]), None)
        if order is None:
            known = sorted(name for o in ("first", "last") for name in _WEIGHT_NAMES[grouped, o][ndim - 1])
            raise ProblemError(f"--wtag={tag} is not understood: any, {', '.join(known)} are")
        weights = _WEIGHT_LAYOUTS[order][ndim - 1]
    return _IMAGE_LAYOUTS[source or destination or "last"][ndim - 1], weights


def _image_order(option: str, tag: str, ndim: int) -> str:
    if tag == "any":
        return ""
    letters = letters_of(tag, ndim + 2)
    for order, names in _IMAGE_NAMES.items():
        if letters in names[ndim - 1]:
            return order
    known = sorted(name for names in _IMAGE_NAMES.values() for name in names[ndim - 1])
    raise ProblemError(f"{option}={tag} is not understood: any, axb, abx, {', '.join(known)} are")


DRIVER = BenchdnnDriver(problems, DEFAULTS, DESCRIPTOR, settled, spelled, resembles)
DIALECT = Dialect(PASSES, drivers={"conv": DRIVER})
