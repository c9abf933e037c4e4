"""The products that a cell of a convolution's result sums: which elements of the operands they multiply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from bitgate.model.thread_map import Cell
from bitgate.ops.convolution.problem import ConvProblem, Pass


@dataclass(frozen=True)
class Contributions:
    """The products of one cell.

    ``pairs`` has for each spatial axis what is multiplied: (tap, position) of the other image, or for dw (position in
    dy, position in x). ``possible`` counts those of the axis that the padding takes part in too. ``shared`` is the
    length of the sum over channels or images.
    """

    problem: ConvProblem
    cell: Cell
    pairs: tuple[tuple[tuple[int, int], ...], ...]
    possible: tuple[int, ...]
    shared: int

    @property
    def count(self) -> int:
        return self.shared * prod(map(len, self.pairs))

    def operands(self, end: int) -> str:
        """Format the first product (``end`` 0) or the last one (-1), in the order in which kernels add them."""
        problem, (group, first, second) = self.problem, self.cell[:3]
        at = (self.shared - 1) * (end == -1)
        left, right = zip(*(axis[end] for axis in self.pairs), strict=True)
        if problem.direction is Pass.FWD:
            return f"{_element('x', group, first, at, right)} * {_element('w', group, second, at, left)}"
        if problem.direction is Pass.BWD_DATA:
            return f"{_element('dy', group, first, at, right)} * {_element('w', group, at, second, left)}"
        return f"{_element('dy', group, at, first, left)} * {_element('x', group, at, second, right)}"


def _element(name: str, *places: int | Sequence[int]) -> str:
    numbers = [number for place in places for number in ((place,) if isinstance(place, int) else place)]
    return f"{name}[{','.join(map(str, numbers))}]"


def contributions(problem: ConvProblem, cell: Cell) -> Contributions:
    """Return the products of a cell; each tap and position of an axis is tried."""
    pairs = tuple(axis_pairs(problem, axis, at) for axis, at in enumerate(cell[3:]))
    possible = problem.output if problem.direction is Pass.BWD_WEIGHT else problem.filter
    shared = {Pass.FWD: problem.c, Pass.BWD_DATA: problem.k, Pass.BWD_WEIGHT: problem.n}[problem.direction]
    return Contributions(problem, cell, pairs, possible, shared)


@lru_cache(maxsize=4096)
def axis_pairs(problem: ConvProblem, axis: int, at: int) -> tuple[tuple[int, int], ...]:
    """Return what is multiplied along an axis for a coordinate of the result, as ``Contributions.pairs`` has it."""
    s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    taps, inputs, outputs = problem.filter[axis], problem.input[axis], problem.output[axis]
    if problem.direction is Pass.BWD_DATA:
        touched = [(tap, *divmod(at + p - tap * d, s)) for tap in range(taps)]
        return tuple((tap, out) for tap, out, rest in touched if rest == 0 and 0 <= out < outputs)
    if problem.direction is Pass.FWD:
        met = [(tap, at * s + tap * d - p) for tap in range(taps)]
    else:
        met = [(out, out * s + at * d - p) for out in range(outputs)]
    return tuple(pair for pair in met if 0 <= pair[1] < inputs)


def contribution_lines(problem: ConvProblem, cell: Cell) -> list[str]:
    """Return how many products a cell sums, over what, and the first and last of them."""
    found = contributions(problem, cell)
    noun, of = {Pass.FWD: ("tap", "C"), Pass.BWD_DATA: ("tap", "K"), Pass.BWD_WEIGHT: ("output", "N")}[
        problem.direction
    ]
    met, possible = prod(map(len, found.pairs)), prod(found.possible)
    reason = {
        Pass.FWD: "the others are in the padding",
        Pass.BWD_DATA: "the others reach no output from here",
        Pass.BWD_WEIGHT: "the others meet the padding",
    }[problem.direction]
    rest = f"; {reason}" if met < possible else ""
    lines = [f"inputs: {found.count} products, {of} = {found.shared} times {met} of {possible} {noun}s{rest}"]
    if found.count:
        lines.append(f"  first {found.operands(0)}, last {found.operands(-1)}")
    return lines
