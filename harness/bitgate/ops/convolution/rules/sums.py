"""Rules that ask which of its products a wrong cell is missing, or has from somewhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from math import gcd, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bitgate.model import ProblemError
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.verify.diagnose import sums as shared
from bitgate.verify.diagnose.scene import Scene, along
from bitgate.verify.diagnose.sums import Floats, Index, SumOrder, cells_at_most, finish, lost_end

Ints: TypeAlias = "NDArray[Any]"


class OutsideError(Exception):
    """Raised where a window leads outside its tensor: what is read there depends on the layout."""


@dataclass(frozen=True)
class Window:
    """The relation i = o * stride + f * dilation - left_pad, of the problem or as a kernel takes it by mistake.

    ``between``: output positions that the stride does not reach count as well, rounded towards 0; ``masked``: a stride
    reaches those whose bits below it are 0, as of a power of 2.
    """

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    left_pad: tuple[int, ...]
    between: bool = False
    masked: bool = False
    reach: tuple[int, ...] = ()
    """The lengths at which coordinates of the operand in space end, where a kernel takes others."""
    apart: tuple[int, ...] = ()
    """Outputs from one tap of a sub-GEMM to its next, where a kernel takes others."""
    bounds: Window | None = None
    """The window whose coordinates are checked, where a kernel reads at those of another."""

    def ends(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """Return the lengths at which coordinates end."""
        return tuple(map(min, lengths, self.reach)) if self.reach else lengths

    @staticmethod
    def of(problem: ConvProblem) -> Window:
        return Window(problem.stride, problem.dilation, problem.left_pad)

    @property
    def shown(self) -> dict[str, list[int]]:
        """The window as evidence."""
        return {"stride": list(self.stride), "dilation": list(self.dilation), "left_pad": list(self.left_pad)}

    def with_value(self, name: str, axis: int, value: int) -> Window:
        """Return the window with another stride, dilation or left pad of one axis."""
        values: tuple[int, ...] = getattr(self, name)
        return self.with_values(name, (*values[:axis], value, *values[axis + 1 :]))

    def with_values(self, name: str, values: tuple[int, ...]) -> Window:
        """Return the window with another stride, dilation or left pad of all axes."""
        changes: dict[str, Any] = {name: values}
        return replace(self, **changes)

    def inputs(self, axis: int, o: Ints, f: Ints) -> Ints:
        """Return the input coordinates that output positions and taps meet at."""
        return np.asarray(o * self.stride[axis] + f * self.dilation[axis] - self.left_pad[axis])

    def outputs(self, axis: int, i: Ints, f: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the output positions that inputs and taps meet at, and whether there is one; it may lie outside."""
        numerator = i + self.left_pad[axis] - f * self.dilation[axis]
        if self.between:
            return np.trunc(numerator / self.stride[axis]).astype(np.intp), np.ones(np.shape(numerator), np.bool_)
        rest = numerator & (self.stride[axis] - 1) if self.masked else numerator % self.stride[axis]
        at = numerator // self.stride[axis]
        if self.apart:
            common = gcd(self.stride[axis], self.dilation[axis])
            at = at + (self.dilation[axis] // common - self.apart[axis]) * (f // (self.stride[axis] // common))
        return np.asarray(at), np.asarray(rest == 0)

    def found_inputs(self, axis: int, o: Ints, f: Ints, length: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Return input coordinates within a length, and whether the kernel takes them for inside."""
        return self._found(self.inputs(axis, o, f), (self.bounds or self).inputs(axis, o, f), True, length)

    def found_outputs(self, axis: int, i: Ints, f: Ints, length: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Return output coordinates within a length, and whether the kernel takes them for inside."""
        checked, is_there = (self.bounds or self).outputs(axis, i, f)
        return self._found(self.outputs(axis, i, f)[0], checked, is_there, length)

    def _found(self, at: Ints, checked: Ints, is_there: Any, length: int) -> tuple[Ints, NDArray[np.bool_]]:
        inside = is_there & (checked >= 0) & (checked < length)
        if (inside & ((at < 0) | (at >= length))).any():
            raise OutsideError
        return np.where(inside, at, 0), inside

    def meets(self, problem: ConvProblem, at: Sequence[int], tap: Sequence[int]) -> Index | None:
        """Return the cell of the operand in space that a cell of the result meets at a tap; None outside."""
        place = []
        for axis, (position, f) in enumerate(zip(at, tap, strict=True)):
            one, length = self.inputs(axis, np.array(position), np.array(f)), problem.input[axis]
            is_there = np.array(True)
            if problem.direction is not Pass.FWD:
                one, is_there = self.outputs(axis, np.array(position), np.array(f))
                length = problem.output[axis]
            if not is_there or not 0 <= one < length:
                return None
            place.append(int(one))
        return tuple(place)


def terms(problem: ConvProblem, inputs: Mapping[str, Array], cell: Index, window: Window | None = None) -> Floats:
    """Return the products of a cell in f64; 0 where a tap falls outside.

    The shape is (reduction channel, taps...) for fwd and bwd_data, (image, output cells...) for bwd_weight.
    """
    return _TERMS[problem.direction](problem, inputs, cell, window or Window.of(problem))


def gemm_terms(problem: ConvProblem, products: Floats, cell: Index) -> Floats:
    """Return the products as the GEMM's K runs over them: the taps of the cell's sub-GEMM, and the channels of each."""
    if problem.direction is Pass.BWD_DATA:
        products = class_only(problem, products, cell)
    if problem.direction is Pass.BWD_WEIGHT:
        return products.reshape(-1)
    return np.moveaxis(products, 0, -1).reshape(-1)


def class_only(problem: ConvProblem, products: Floats, cell: Index) -> Floats:
    """Return the products of the filter taps of the cell's sub-GEMM, whose GEMM K is shorter than the whole filter."""
    for axis, x in enumerate(cell[3:]):
        f = np.arange(problem.filter[axis])
        mine = (x + problem.left_pad[axis] - f * problem.dilation[axis]) % problem.stride[axis] == 0
        products = np.compress(mine, products, axis=axis + 1)
    return products


def _fwd(problem: ConvProblem, inputs: Mapping[str, Array], cell: Index, window: Window) -> Floats:
    g, n, k, *o = cell
    positions, valid = [], []
    ends = window.ends(problem.input)
    for axis, at in enumerate(o):
        i, inside = window.found_inputs(axis, np.array(at), np.arange(problem.filter[axis]), ends[axis])
        positions.append(i)
        valid.append(inside)
    x = inputs["in"][g, n][np.ix_(np.arange(problem.c), *positions)]
    return _product(x, inputs["wei"][g, k], valid)


def _bwd_data(problem: ConvProblem, inputs: Mapping[str, Array], cell: Index, window: Window) -> Floats:
    g, n, c, *x = cell
    positions, valid = [], []
    ends = window.ends(problem.output)
    for axis, at in enumerate(x):
        o, inside = window.found_outputs(axis, np.array(at), np.arange(problem.filter[axis]), ends[axis])
        positions.append(o)
        valid.append(inside)
    dy = inputs["out"][g, n][np.ix_(np.arange(problem.k), *positions)]
    return _product(dy, inputs["wei"][g, :, c], valid)


def _bwd_weight(problem: ConvProblem, inputs: Mapping[str, Array], cell: Index, window: Window) -> Floats:
    g, k, c, *f = cell
    positions, valid = [], []
    ends = window.ends(problem.input)
    for axis, tap in enumerate(f):
        i, inside = window.found_inputs(axis, np.arange(problem.output[axis]), np.array(tap), ends[axis])
        positions.append(i)
        valid.append(inside)
    x = inputs["in"][g, :, c][np.ix_(np.arange(problem.n), *positions)]
    return _product(x, inputs["out"][g, :, k], valid)


def _product(first: Array, second: Array, valid: list[NDArray[np.bool_]]) -> Floats:
    product = first.astype(np.float64) * second.astype(np.float64)
    for axis, inside in enumerate(valid):
        product = np.where(along(inside, axis, len(valid)), product, 0.0)
    return np.asarray(product)


_TERMS = {Pass.FWD: _fwd, Pass.BWD_DATA: _bwd_data, Pass.BWD_WEIGHT: _bwd_weight}


def aliased_d(scene: Scene[ConvProblem]) -> Finding | None:
    """Find what became of a D that is in the result's buffer."""
    return shared.aliased_d(scene, terms)


def k_tail(scene: Scene[ConvProblem]) -> Finding | None:
    """Find a lost end of the reduction: channels, or the end of the GEMM's K."""
    return lost_end(scene, _reductions(scene))


def _reductions(scene: Scene[ConvProblem]) -> tuple[SumOrder, ...]:
    problem = scene.problem

    def flat(cell: Index) -> Floats:
        return gemm_terms(problem, terms(problem, scene.inputs, cell), cell)

    if problem.direction is Pass.BWD_WEIGHT:
        return (SumOrder("flat", "terms of the GEMM's K = N * outputs", problem.reduction, flat),)
    both = {"K": problem.k, "C": problem.c}
    letter = "K" if problem.direction is Pass.BWD_DATA else "C"
    channels = both.pop(letter)
    return (
        SumOrder("channel", f"channels of {letter}", channels, _by_channel(scene), others=both),
        SumOrder(
            "flat",
            f"terms of the GEMM's K = taps * {letter}",
            problem.reduction,
            flat,
            partial(_steps_counted_once, problem, scene.tile),
        ),
    )


def _steps_counted_once(problem: ConvProblem, tile: tuple[int, int, int] | None, missing: int) -> str:
    """Return words for steps that are counted as if taps followed each other in them, where each begins a step."""
    if tile is None or problem.direction is not Pass.FWD:
        return ""
    taps, each_tap = prod(problem.filter), -(-problem.c // tile[2])
    steps, counted = taps * each_tap, -(-taps * problem.c // tile[2])
    lost = sum(min(tile[2], problem.c - step % each_tap * tile[2]) for step in range(counted, steps))
    if lost != missing:
        return ""
    return f"{counted} steps of {tile[2]} hold all terms at once, but each tap takes {each_tap}, {steps} in all"


def _by_channel(scene: Scene[ConvProblem]) -> Callable[[Index], Floats]:
    def by_channel(cell: Index) -> Floats:
        products = terms(scene.problem, scene.inputs, cell)
        return np.asarray(products.sum(axis=tuple(range(1, products.ndim))))

    return by_channel


def split_slice(scene: Scene[ConvProblem]) -> Finding | None:
    """Find a missing slice, a block that did not run or whose addition was lost.

    This is for kernels that cut taps times K, in steps of Tile K within a tap, into slices of equal numbers of steps.
    """
    problem = scene.problem
    if scene.split_k < 2 or scene.tile is None or not scene.inputs or problem.direction is not Pass.BWD_DATA:
        return None
    missing = set(range(scene.split_k))
    alone = set(missing)
    for cell in scene.sample(cells_at_most(problem.reduction)):
        lacked, held = _missing_slices(scene, cell, scene.tile[2])
        missing, alone = missing & lacked, alone & held
        if not missing and not alone:
            return None
    if not missing:
        which = " or ".join(f"slice {number + 1}" for number in sorted(alone))
        text = (
            f"the wrong cells hold {which} of {scene.split_k} of the split reduction alone: slices overwrite each other"
        )
        shown = {"alone": sorted(alone)[:16], "split_k": scene.split_k, "tile_k": scene.tile[2]}
        return Finding("split_slice", Role.CAUSE, 0.985, text, shown, frozenset({"k_tail", "other", "zero"}))
    numbers = [number + 1 for number in sorted(missing)]
    which = " or ".join(f"slice {number}" for number in numbers)
    text = f"{which} of {scene.split_k} of the split reduction is missing from the sums of the wrong cells"
    evidence = {"slices": numbers[:16], "split_k": scene.split_k, "tile_k": scene.tile[2]}
    return Finding("split_slice", Role.CAUSE, 0.99, text, evidence, frozenset({"k_tail", "other", "zero"}))


def _missing_slices(scene: Scene[ConvProblem], cell: Index, tile_k: int) -> tuple[set[int], set[int]]:
    """Return the slices, counted from 0, without any one of which the sum is what the cell holds, and those that it is
    alone."""
    problem, true = scene.problem, scene.true_cell(cell)
    sums = _slice_sums(gemm_terms(problem, terms(problem, scene.inputs, true), true), problem.k, tile_k, scene.split_k)
    without, own = (finish(problem, scene.inputs, true, part) for part in (sums.sum() - sums, sums))
    found = bits_of(scene.result[cell].reshape(1))[0]
    lacked = {int(number) for number in np.flatnonzero((without == found) & (sums != 0))}
    return lacked, {int(number) for number in np.flatnonzero((own == found) & (sums != 0))}


def _slice_sums(products: Floats, k: int, tile_k: int, slices: int) -> Floats:
    """Return the sum of each slice; a cell may have none.

    ``products`` are those of each tap's K channels, tap after tap.
    """
    steps = [chunk.sum() for tap in products.reshape(-1, k) for chunk in np.split(tap, range(tile_k, k, tile_k))]
    length = -(-len(steps) // slices)
    return np.array([sum(steps[length * number : length * (number + 1)], 0.0) for number in range(slices)])


CELLS = 32


def missing_tap(scene: Scene[ConvProblem]) -> Finding | None:
    """Find one filter tap that is missing from the sums: an index or a bounds check lost it. Kind: other."""
    if not scene.inputs or scene.problem.direction is Pass.BWD_WEIGHT or int(np.prod(scene.problem.filter)) < 2:
        return None
    candidates: NDArray[np.bool_] | None = None
    for cell in scene.sample(CELLS):
        true = scene.true_cell(cell)
        by_tap = terms(scene.problem, scene.inputs, true).sum(axis=0)
        without = finish(scene.problem, scene.inputs, true, by_tap.sum() - by_tap.reshape(-1))
        # A cell that the tap alone makes up would be zero without it: too weak to name a tap by.
        if np.count_nonzero(by_tap) < 2:
            return None
        matches = without == bits_of(scene.result[cell].reshape(1))[0]
        candidates = matches if candidates is None else candidates & matches
        if not candidates.any():
            return None
    if candidates is None or candidates.sum() != 1:
        return None
    tap = [int(i) for i in np.unravel_index(int(candidates.argmax()), scene.problem.filter)]
    text = f"filter tap {tuple(tap) if len(tap) > 1 else tap[0]} is missing from the sums of the wrong cells"
    return Finding("other", Role.CAUSE, 0.985, text, {"missing_tap": tap}, examined=min(CELLS, scene.count))


def pad_side(scene: Scene[ConvProblem]) -> Finding | None:
    """Find that the right pad is used for the left one, or left pads of other axes."""
    p = scene.problem
    if not scene.inputs:
        return None
    for left, text in _mistakes(p):
        # Only the left pad is in the index relation: the output keeps its size, and every index moves.
        right = tuple(one + other - used for one, other, used in zip(p.left_pad, p.right_pad, left, strict=True))
        try:
            mistaken = replace(p, left_pad=left, right_pad=right)
        except ProblemError:
            continue  # more on one side than there is on both
        if _explains(scene, mistaken):
            evidence = {"left_pad": list(p.left_pad), "right_pad": list(p.right_pad), "used": list(left)}
            return Finding("pad_side", Role.CAUSE, 0.98, text, evidence, frozenset({"border", "shifted", "other"}))
    return None


def _mistakes(p: ConvProblem) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield left pads that a kernel may take instead, and the words for them."""
    if p.right_pad != p.left_pad:
        yield p.right_pad, f"the right pad {p.right_pad} is used where the left one {p.left_pad} belongs"
    for pads in sorted(set(permutations(p.left_pad)) - {p.left_pad, p.right_pad}):
        yield pads, f"left pads stand on the wrong axes: {pads} is used where {p.left_pad} belongs"


def _explains(scene: Scene[ConvProblem], other: ConvProblem) -> bool:
    """Return whether every sampled cell, wrong or right, is the one of the other problem."""
    limit = cells_at_most(other.reduction)
    if 2 * np.count_nonzero(scene.wrong_result) < scene.count:
        return False  # zeros are what many mistakes leave
    for cell in (*scene.sample(limit), *scene.sample(limit // 3, wrong=False)):
        true = scene.true_cell(cell)
        value = finish(other, scene.inputs, true, terms(other, scene.inputs, true).sum().reshape(1))
        if value[0] != bits_of(scene.result[cell].reshape(1))[0]:
            return False
    return True
