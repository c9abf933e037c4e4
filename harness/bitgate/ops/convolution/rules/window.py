"""Mistakes of a convolution's window: a stride, dilation or pad of another axis, and the walk over filter taps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, isnan, prod
from typing import Any

import numpy as np

from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.sums import OutsideError, Window, terms
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed, Value
from bitgate.verify.diagnose.sums import Index, applied_to

NAMES = {"stride": "stride", "dilation": "dilation", "left_pad": "left pad"}


def window_mistakes(known: Recomputed[ConvProblem]) -> Iterator[Mistake]:
    """Yield mistakes of the relation between input, output and filter coordinates."""
    problem = known.scene.problem
    right = Window.of(problem)
    for window, text in _windows(problem, right):
        kind = "pad_side" if window.left_pad != right.left_pad else "parameter"
        yield Mistake(text, kind, _value(known, window), evidence={"used": window.shown})


def bounds_mistakes(known: Recomputed[ConvProblem]) -> Iterator[Mistake]:
    """Yield mistakes of the relation in where an operand is read, or in what is checked to be inside, but not in both.

    Where a window leads outside the operand the cell is open: it holds what lies there in memory.
    """
    right = Window.of(known.scene.problem)

    def mistake(text: str, kind: str, window: Window, used: Window) -> Mistake:
        value = _value(known, window)
        return Mistake(text, kind, value, evidence={"used": used.shown}, is_open=lambda cell: isnan(value(cell)))

    for window, text in _windows(known.scene.problem, right):
        if window.reach or window.between or window.masked or window.apart:
            continue
        read = f"{text} where elements are read, not where these are checked to be inside"
        yield mistake(read, "parameter", replace(window, bounds=right), window)
        checked = f"{text} where elements are checked to be inside, not where these are read"
        yield mistake(checked, "border", replace(right, bounds=window), window)


def _value(known: Recomputed[ConvProblem], window: Window) -> Value:
    problem, inputs = known.scene.problem, known.scene.inputs

    def value(cell: Index) -> float:
        try:
            total = terms(problem, inputs, cell, window).sum()
        except OutsideError:
            return float("nan")
        return float(applied_to(problem.op, np.asarray(total), known.d(cell) if problem.op.num_d else 0.0))

    return value


def _windows(problem: ConvProblem, right: Window) -> Iterator[tuple[Window, str]]:
    """Yield windows that a kernel may use instead, and the words for them."""
    letters = "dhw"[-problem.ndim :]
    seen = {right}

    def fresh(window: Window) -> bool:
        new = window not in seen
        seen.add(window)
        return new

    for name, words in NAMES.items():
        values = getattr(right, name)
        for axis, letter in enumerate(letters):
            for other, source in enumerate(letters):
                window = right.with_value(name, axis, values[other])
                if fresh(window):
                    is_from = f"the {words} of {source} = {values[other]}"
                    yield window, f"{is_from} is used for {letter}, whose {words} is {values[axis]}"
        for other, source in enumerate(letters):
            window = right.with_values(name, (values[other],) * len(values))
            if fresh(window):
                yield window, f"the {words} of {source} = {values[other]} is used for every axis"
        turned = right.with_values(name, values[::-1])
        if fresh(turned):
            yield turned, f"{words}s stand on the wrong axes: {values[::-1]} is used where {values} belongs"
    for axis, letter in enumerate(letters):
        stride, dilation, pad = (getattr(right, name)[axis] for name in NAMES)
        for name, value, text in (
            ("stride", 1, f"the stride {stride} of {letter} is left out"),
            ("stride", dilation, f"the dilation {dilation} of {letter} is used for its stride {stride}"),
            ("stride", stride + 1, f"the stride of {letter} is taken as {stride + 1} instead of {stride}"),
            ("dilation", 1, f"the dilation {dilation} of {letter} is left out"),
            ("dilation", stride, f"the stride {stride} of {letter} is used for its dilation {dilation}"),
            ("dilation", dilation + 1, f"the dilation of {letter} is taken as {dilation + 1} instead of {dilation}"),
            ("left_pad", 0, f"the left pad {pad} of {letter} is left out"),
            ("left_pad", problem.right_pad[axis], f"the right pad of {letter} is used for its left pad {pad}"),
            ("left_pad", pad + 1, f"coordinates along {letter} are one too low{_as_with(pad + 1, pad)}"),
            (
                "left_pad",
                pad - 1,
                f"coordinates along {letter} are one too high{_as_with(pad - 1, pad)}",
            ),
        ):
            window = right.with_value(name, axis, value)
            if fresh(window):
                yield window, text
    for name, values, text in (
        ("dilation", right.stride, f"the strides {right.stride} are used for the dilations {right.dilation}"),
        ("stride", right.dilation, f"the dilations {right.dilation} are used for the strides {right.stride}"),
        ("left_pad", (0,) * problem.ndim, f"the left pads {right.left_pad} are left out"),
    ):
        window = right.with_values(name, values)
        if fresh(window):
            yield window, text
    for name, words in (("stride", "strides"), ("dilation", "dilations")):
        window = right.with_values(name, (1,) * problem.ndim)
        if fresh(window):
            yield window, f"the {words} {getattr(right, name)} are left out"
    yield from _reaches(problem, right)
    yield from _steps_of_classes(problem, right)
    if problem.direction is Pass.BWD_DATA and problem.strided:
        yield replace(right, between=True), "positions that the stride does not reach are taken too, rounded towards 0"
        if any(stride & (stride - 1) for stride in right.stride):
            text = f"the strides {right.stride} are taken for powers of 2: positions are masked by stride - 1"
            yield replace(right, masked=True), text


def _reaches(problem: ConvProblem, right: Window) -> Iterator[tuple[Window, str]]:
    """Yield windows whose coordinates end too early."""
    backwards = problem.direction is Pass.BWD_DATA
    own, other = (problem.output, problem.input) if backwards else (problem.input, problem.output)
    name, wrong = ("output", "input") if backwards else ("input", "output")
    if any(a > b for a, b in zip(own, other, strict=True)):
        yield replace(right, reach=other), f"coordinates of the {name} end at the lengths of the {wrong} {other}"
    for axis, letter in enumerate("dhw"[-problem.ndim :]):
        short = (*own[:axis], own[axis] - 1, *own[axis + 1 :])
        yield replace(right, reach=short), f"the last {letter} of the {name} is not read"


def _steps_of_classes(problem: ConvProblem, right: Window) -> Iterator[tuple[Window, str]]:
    """Yield windows of backward data in which the taps of a sub-GEMM are a wrong number of outputs apart."""
    if problem.direction is not Pass.BWD_DATA:
        return
    divisors = [gcd(stride, dilation) for stride, dilation in zip(right.stride, right.dilation, strict=True)]
    due = tuple(dilation // common for dilation, common in zip(right.dilation, divisors, strict=True))
    letters = "dhw"[-problem.ndim :]
    seen = {due}

    def made(apart: tuple[int, ...], why: str) -> Iterator[tuple[Window, str]]:
        if apart not in seen:
            seen.add(apart)
            words = f"the taps of a sub-GEMM are {apart} outputs apart ({letters}) instead of {due}"
            yield replace(right, apart=apart), f"{words}: {why}"

    whole = "the dilation is not divided by what it has in common with the stride"
    yield from made(right.dilation, whole)
    yield from made((1,) * problem.ndim, "as without a dilation")
    for axis, letter in enumerate(letters):
        for apart, why in (
            (right.dilation[axis], whole),
            (1, "as without a dilation"),
            (right.stride[axis], "the stride stands for it"),
            *((due[b], f"those of {other}") for b, other in enumerate(letters)),
        ):
            yield from made((*due[:axis], apart, *due[axis + 1 :]), f"along {letter} {why}")


def _as_with(used: int, due: int) -> str:
    return f": as with left pad {used}, not {due}"


@dataclass(frozen=True)
class _FilterWalk:
    """The order in which a kernel visits the taps: ``lengths`` at which each axis carries into the one before."""

    lengths: tuple[int, ...]

    def taps(self, count: int) -> Iterator[tuple[int, ...]]:
        """Yield the coordinates of the first ``count`` steps; the first axis never carries."""
        rest = self.lengths[1:]
        for step, tail in zip(range(count), _endless(rest), strict=False):
            yield (step // prod(rest), *tail)


def _endless(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    while True:
        yield from product(*map(range, lengths))


def carry_mistakes(known: Recomputed[ConvProblem]) -> Iterator[Mistake]:
    """Yield mistakes in walking over the filter: an axis that carries at another one's length."""
    problem = known.scene.problem
    if problem.direction is Pass.BWD_WEIGHT or problem.ndim == 1 or prod(problem.filter) < 2:
        return
    letters = "dhw"[-problem.ndim :]
    for axis in range(1, problem.ndim):
        for length in dict.fromkeys((*problem.filter, problem.filter[axis] + 1, problem.filter[axis] - 1)):
            if length < 1 or length == problem.filter[axis]:
                continue
            walk = _FilterWalk((*problem.filter[:axis], length, *problem.filter[axis + 1 :]))
            text = (
                f"the filter coordinate of {letters[axis]} carries at {length} instead of {problem.filter[axis]}:"
                " taps are taken in a wrong order"
            )
            yield Mistake(text, "parameter", _walked(known, walk), evidence={"carries_at": list(walk.lengths)})


def _walked(known: Recomputed[ConvProblem], walk: _FilterWalk) -> Value:
    """Return the value of a cell whose taps are walked so; filters lie with their taps row-major."""
    problem, inputs = known.scene.problem, known.scene.inputs
    count = prod(problem.filter)
    weights = np.asarray(inputs["wei"])
    flat = weights.reshape(*weights.shape[:3], count).astype(np.float64)
    window = Window.of(problem)
    operand = np.asarray(inputs["in" if problem.direction is Pass.FWD else "out"])

    def value(cell: Index) -> float:
        g, n, channel, *at = cell
        total = 0.0
        for tap in walk.taps(count):
            number = sum(f * prod(problem.filter[axis + 1 :]) for axis, f in enumerate(tap))
            if number >= count:
                return float("nan")  # another filter's memory: what is read there depends on the layout
            place = window.meets(problem, at, tap)
            if place is None:
                continue
            row = flat[g, channel, :, number] if problem.direction is Pass.FWD else flat[g, :, channel, number]
            at_place: tuple[Any, ...] = (g, n, slice(None), *place)
            total += float(operand[at_place].astype(np.float64) @ row)
        return float(applied_to(problem.op, np.array(total), known.d(cell) if problem.op.num_d else 0.0))

    return value
