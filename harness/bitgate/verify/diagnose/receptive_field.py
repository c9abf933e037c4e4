"""A rule for one-hot data: which element reached a cell that it should not, or missed one of its receptive field."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of, blocks, coordinates
from bitgate.numerics.one_hot import Index, product_of_ones
from bitgate.verify.diagnose.scene import Scene, holds_bits

CELLS = 2048
"""The number of wrong cells that are examined."""
EXAMPLES = 8


@dataclass(frozen=True)
class _Wrong:
    """A wrong cell. ``one`` is the one-hot element that shares its indices.

    ``due`` is the element of the other operand that the cell should hold, None outside the receptive field. ``held`` is
    the one whose value it does hold, if only one has it. ``silent`` cells hold zero, or were never written.
    """

    cell: Index
    one: Index
    due: Index | None
    held: Index | None
    value: float
    silent: bool


def receptive_field(scene: Scene[Problem]) -> Finding | None:
    """Return the finding for operations that have a form, which says which elements meet."""
    ones = _one_hot(scene.problem, scene.inputs)
    if ones is None:
        return None
    wrong = _examine(scene, ones)
    if not wrong:
        return None
    groups = {
        "reached": [one for one in wrong if one.due is None],
        "missed": [one for one in wrong if one.due is not None and one.silent],
        "mixed_up": [one for one in wrong if one.due is not None and not one.silent],
    }
    formatter = _Formatter(scene.problem, ones.hot)
    texts = [_FORMATS[kind](formatter, cells[0]) + _format_rest(cells) for kind, cells in groups.items() if cells]
    evidence = {kind: [list(one.cell) for one in cells[:EXAMPLES]] for kind, cells in groups.items() if cells}
    return Finding("receptive_field", Role.CAUSE, 1.0, "; ".join(texts), evidence)


@dataclass(frozen=True, eq=False)
class _Ones:
    """The ones of the one-hot operand ``hot``: their places, a row each, by the indices that they share with the
    result. The shared indices are along ``axes`` of the operand, of these ``lengths``."""

    hot: str
    axes: Index
    lengths: Index
    places: NDArray[np.intp]

    def of(self, shared: Sequence[int]) -> Index:
        return _index(self.places[_numbers(np.array([shared], np.intp), self.lengths)[0]])


def _one_hot(problem: Problem, inputs: Mapping[str, Array]) -> _Ones | None:
    """Return the ones, or None for other data and where elements meet no others."""
    numerics = problem.operation.numerics
    if not inputs or numerics.form(problem) is None or len(numerics.operands(problem)) < 2:
        return None
    for name in numerics.operands(problem):
        tensor, axes = inputs[name], numerics.shared_axes(problem, name)
        lengths = tuple(tensor.shape[axis] for axis in axes)
        count = prod(lengths)
        places = _places(tensor, count) if count < tensor.size else None
        if places is None:
            continue
        shared = _numbers(places[:, list(axes)], lengths)
        order = np.argsort(shared)
        if (shared[order] == np.arange(count)).all() and bool((tensor[tuple(places.T)] == 1).all()):
            return _Ones(name, axes, lengths, places[order])
    return None


def _places(tensor: Array, count: int) -> NDArray[np.intp] | None:
    """Return where a tensor is not zero, a row each, if ``count`` cells are not; for most data the first block shows
    that more are."""
    found: list[NDArray[np.intp]] = []
    for block in blocks(tensor.shape):
        hit = tensor[block] != 0
        count -= int(np.count_nonzero(hit))
        if count < 0:
            return None
        origin = [part.start for part in block] + [0] * (tensor.ndim - len(block))
        found.append(np.argwhere(hit) + origin)
    return np.concatenate(found) if count == 0 and found else None


def _numbers(rows: NDArray[np.intp], lengths: Index) -> NDArray[np.intp]:
    """Return rows of indices as numbers, in row-major order."""
    numbers = np.zeros(len(rows), np.intp)
    for column, length in zip(rows.T, lengths, strict=True):
        numbers = numbers * length + column
    return numbers


def _examine(scene: Scene[Problem], ones: _Ones) -> list[_Wrong]:
    problem, hot = scene.problem, ones.hot
    numerics = problem.operation.numerics
    form = numerics.form(problem)
    assert form is not None
    places = list(scene.sample(CELLS))
    cells = [scene.true_cell(place) for place in places]
    values = [
        _sum(problem, scene.inputs, cell, float(scene.result[place])) for cell, place in zip(cells, places, strict=True)
    ]
    silent = [
        value == 0 or bool(holds_bits(scene.result[place].reshape(1), scene.poison)[0])
        for value, place in zip(values, places, strict=True)
    ]
    other = next(name for name in numerics.operands(problem) if name != hot)
    values_held = {value for value, is_silent in zip(values, silent, strict=True) if not is_silent}
    held = holders(np.asarray(scene.inputs[other]), values_held)
    shared = [form.axes[problem.result].index(form.axes[hot][axis]) for axis in ones.axes]
    wrong = []
    for cell, value, is_silent in zip(cells, values, silent, strict=True):
        one = ones.of([cell[axis] for axis in shared])
        due = numerics.met(problem, hot, one, cell)
        if due is None and value == 0:
            continue  # nothing reached the cell: it has the sign of another zero
        wrong.append(_Wrong(cell, one, due, None if is_silent else held.get(value), value, is_silent))
    return wrong


def _index(row: NDArray[np.intp]) -> Index:
    return tuple(int(i) for i in row)


def _sum(problem: Problem, inputs: Mapping[str, Array], cell: Index, value: float) -> float:
    """Return what a cell summed, before its element-wise operation and without those of the operands."""
    op = problem.operation.numerics.epilogue(problem)
    d0 = float(inputs["d0"][cell]) if op.num_d else 0.0
    if op.alpha == 0:
        return 0.0  # no sum shows in the cell
    found = (value - op.d_factor * d0) / op.alpha / product_of_ones(problem)
    return found if op.unit or not isfinite(found) else float(round(found))


@dataclass(frozen=True)
class _Formatter:
    problem: Problem
    hot: str

    def name(self, tensor: str, index: Index) -> str:
        return f"{self.problem.operation.diagnostics.names(self.problem)[tensor]}({','.join(map(str, index))})"

    def other(self, index: Index) -> str:
        """Return the name of an element of the other operand; for a filter also its tap and channel."""
        tensor = next(name for name in self.problem.operation.numerics.operands(self.problem) if name != self.hot)
        tap = f", tap ({','.join(map(str, index[3:]))})" if tensor == "wei" and index[3:] else ""
        return self.name(tensor, index) + tap

    def reached(self, wrong: _Wrong) -> str:
        through = f" through {self.other(wrong.held)}" if wrong.held else f" (it holds {wrong.value:g})"
        return f"{self._one(wrong)} reached {self._cell(wrong)}{through}, outside its receptive field"

    def missed(self, wrong: _Wrong) -> str:
        assert wrong.due is not None
        what = "0" if wrong.value == 0 else "poison, as it was never written"
        return f"{self._one(wrong)} did not reach {self._cell(wrong)} through {self.other(wrong.due)}: it holds {what}"

    def mixed_up(self, wrong: _Wrong) -> str:
        assert wrong.due is not None
        holds = self.other(wrong.held) if wrong.held else f"{wrong.value:g}"
        return f"{self._one(wrong)} reached {self._cell(wrong)} through {holds} instead of {self.other(wrong.due)}"

    def _one(self, wrong: _Wrong) -> str:
        return self.name(self.hot, wrong.one)

    def _cell(self, wrong: _Wrong) -> str:
        return self.name(self.problem.result, wrong.cell)


_FORMATS: dict[str, Callable[[_Formatter, _Wrong], str]] = {
    "reached": _Formatter.reached,
    "missed": _Formatter.missed,
    "mixed_up": _Formatter.mixed_up,
}


def _format_rest(cells: Sequence[_Wrong]) -> str:
    return f" (and {len(cells) - 1} more like it)" if len(cells) > 1 else ""


_FOLDED = 1 << 16


def holders(tensor: Array, values: Collection[float]) -> dict[float, Index]:
    """Return the place in a large tensor of each of the values, none of them 0, that a single element holds.

    The search takes at most one pass over the tensor, and ends when two elements are known of every value.
    """
    wanted = _bits_in_type(tensor, values)
    counts = dict.fromkeys(wanted, 0)
    first: dict[int, Index] = {}
    for block in blocks(tensor.shape):
        sought = np.array([bits for bits, count in counts.items() if count < 2], bits_of(tensor[:0]).dtype)
        if not sought.size:
            break
        part = bits_of(tensor[block])
        flat, found = _find_bits(part.reshape(-1), sought)
        each, where, often = np.unique(found, return_index=True, return_counts=True)
        for bits, place, count in zip(each, coordinates(block, part.shape, flat[where]), often, strict=True):
            counts[int(bits)] += int(count)
            first.setdefault(int(bits), place)
    return {wanted[bits]: first[bits] for bits, count in counts.items() if count == 1}


def _bits_in_type(tensor: Array, values: Collection[float]) -> dict[int, float]:
    """Return the values by their bits in the tensor's type, without those that the type does not have."""
    numbers = np.array(list(values), np.float64)
    with np.errstate(all="ignore"):
        cells = numbers.astype(tensor.dtype)
        held = cells.astype(np.float64) == numbers
    return {int(bits): float(value) for bits, value in zip(bits_of(cells)[held], numbers[held], strict=True)}


def _find_bits(cells: Array, sought: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the places of the sought bits in a flat array, and the bits there.

    Wide bits are first folded into 16 for a table: no search is as fast as a look-up.
    """
    table = np.zeros(_FOLDED, np.bool_)
    table[_folded(sought)] = True
    flat = np.flatnonzero(table[_folded(cells)])
    found = cells[flat]
    is_sought = np.isin(found, sought)
    return flat[is_sought], found[is_sought]


def _folded(bits: Array) -> Array:
    while bits.dtype.itemsize > 2:
        half = 4 * bits.dtype.itemsize
        bits = (bits ^ (bits >> half)).astype(f"u{bits.dtype.itemsize // 2}")
    return bits
