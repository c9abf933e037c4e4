"""On one-hot data: which element reached a cell that it should not, or did not reach one of its receptive field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.diagnose.scene import Scene, holds_bits
from bitgate.exact.bits import Array
from bitgate.exact.one_hot import Index, product_of_ones
from bitgate.operation import Problem
from bitgate.operation.finding import Finding, Role

CELLS = 2048
"""Wrong cells that are looked at."""
EXAMPLES = 8


@dataclass(frozen=True)
class _Wrong:
    """A wrong cell. ``one`` is the one-hot element that shares its indices. ``due`` is the element of the other operand
    that it should hold, None outside the receptive field; ``held`` the one whose value it does hold, if only one has
    it. ``silent``: zero, or memory that nobody wrote."""

    cell: Index
    one: Index
    due: Index | None
    held: Index | None
    value: float
    silent: bool


def receptive_field(scene: Scene[Problem]) -> Finding | None:
    """Of operations that have a form: it says which elements meet."""
    found = _one_hot(scene.problem, scene.inputs)
    if found is None:
        return None
    hot, ones = found
    wrong = [_look(scene, hot, ones, place) for place in scene.sample(CELLS)]
    groups = {
        "reached": [one for one in wrong if one.due is None],
        "missed": [one for one in wrong if one.due is not None and one.silent],
        "mixed_up": [one for one in wrong if one.due is not None and not one.silent],
    }
    words = _Words(scene.problem, hot)
    texts = [_SAY[kind](words, cells[0]) + _more(cells) for kind, cells in groups.items() if cells]
    evidence = {kind: [list(one.cell) for one in cells[:EXAMPLES]] for kind, cells in groups.items() if cells}
    return Finding("receptive_field", Role.CAUSE, 1.0, "; ".join(texts), evidence)


def _one_hot(problem: Problem, inputs: Mapping[str, Array]) -> tuple[str, dict[Index, Index]] | None:
    """The operand with the ones, and its ones by the indices that it shares with the result; None for other data."""
    exactness = problem.operation.exactness
    if not inputs or exactness.form(problem) is None:
        return None
    for name in exactness.operands(problem):
        tensor, axes = inputs[name], exactness.shared_axes(problem, name)
        pairs = int(np.prod([tensor.shape[axis] for axis in axes]))
        if np.count_nonzero(tensor) != pairs or pairs >= tensor.size:  # of other data a million places are not listed
            continue
        places = np.argwhere(tensor != 0)
        ones = {_index(place[list(axes)]): _index(place) for place in places}
        if len(ones) == pairs and bool((tensor[tuple(places.T)] == 1).all()):
            return name, ones
    return None


def _look(scene: Scene[Problem], hot: str, ones: Mapping[Index, Index], place: Index) -> _Wrong:
    problem, cell = scene.problem, scene.true_cell(place)
    exactness = problem.operation.exactness
    other = next(name for name in exactness.operands(problem) if name != hot)
    form = exactness.form(problem)
    assert form is not None
    at = dict(zip(form.axes[problem.result], cell, strict=True))
    one = ones[tuple(at[form.axes[hot][axis]] for axis in exactness.shared_axes(problem, hot))]
    value = _sum(problem, scene.inputs, cell, float(scene.result[place]))
    silent = value == 0 or bool(holds_bits(scene.result[place].reshape(1), scene.poison)[0])
    candidates = np.argwhere(scene.inputs[other] == value) if not silent else np.empty((0, 0), np.int64)
    held = _index(candidates[0]) if len(candidates) == 1 else None
    return _Wrong(cell, one, exactness.met(problem, hot, one, cell), held, value, silent)


def _index(row: NDArray[np.int64]) -> Index:
    return tuple(int(i) for i in row)


def _sum(problem: Problem, inputs: Mapping[str, Array], cell: Index, value: float) -> float:
    """What a cell summed, before its element-wise operation and without those of the operands."""
    op = problem.operation.exactness.epilogue(problem)
    d0 = float(inputs["d0"][cell]) if op.num_d else 0.0
    return (value - (op.beta or 1.0) * d0) / op.alpha / product_of_ones(problem)


@dataclass(frozen=True)
class _Words:
    problem: Problem
    hot: str

    def name(self, tensor: str, index: Index) -> str:
        return f"{self.problem.operation.insight.names(self.problem)[tensor]}({','.join(map(str, index))})"

    def other(self, index: Index) -> str:
        """An element of the other operand; of a filter also its tap and channel, as people speak of them."""
        tensor = next(name for name in self.problem.operation.exactness.operands(self.problem) if name != self.hot)
        tap = f", tap ({','.join(map(str, index[3:]))})" if tensor == "wei" else ""
        return self.name(tensor, index) + tap

    def reached(self, wrong: _Wrong) -> str:
        through = f" through {self.other(wrong.held)}" if wrong.held else f" (it holds {wrong.value:g})"
        return f"{self._one(wrong)} reached {self._cell(wrong)}{through}, outside its receptive field"

    def missed(self, wrong: _Wrong) -> str:
        assert wrong.due is not None
        what = "0" if wrong.value == 0 else "what nobody wrote"
        return f"{self._one(wrong)} did not reach {self._cell(wrong)} through {self.other(wrong.due)}: it holds {what}"

    def mixed_up(self, wrong: _Wrong) -> str:
        assert wrong.due is not None
        holds = self.other(wrong.held) if wrong.held else f"{wrong.value:g}"
        return f"{self._one(wrong)} reached {self._cell(wrong)} through {holds} instead of {self.other(wrong.due)}"

    def _one(self, wrong: _Wrong) -> str:
        return self.name(self.hot, wrong.one)

    def _cell(self, wrong: _Wrong) -> str:
        return self.name(self.problem.result, wrong.cell)


_SAY: dict[str, Callable[[_Words, _Wrong], str]] = {
    "reached": _Words.reached,
    "missed": _Words.missed,
    "mixed_up": _Words.mixed_up,
}


def _more(cells: Sequence[_Wrong]) -> str:
    return f" (and {len(cells) - 1} more like it)" if len(cells) > 1 else ""
