"""The products that a wrong cell sums, found by launches on data that are nearly all zero.

The result of a form is linear in each operand. So where one operand, ``hot``, is zero but for some elements, a cell
holds their products alone. Halving these elements leads to those whose products are wrong; then the other operand holds
its own coordinates, one axis a launch, and the cell says which element it multiplied. Nothing is guessed, and nothing
depends on the mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite, prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.cell_places import offsets
from bitgate.model.form import Form
from bitgate.numerics.rounding import gain_of
from bitgate.verify.diagnose.layouts import other_strides
from bitgate.verify.diagnose.places import format_indices

Index = tuple[int, ...]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Data = Mapping[str, Ints]
"""Small integers by operand, and for D; what is left out is 0."""
Search = Generator[Sequence[Data], Sequence[Floats], str]
"""Asks for the sums of a kernel on each of some data, before its element-wise operation, and returns a clause; empty if
nothing was found."""

T = TypeVar("T")

MOST_LAUNCHES, LEAST_LAUNCHES = 800, 48
BUDGET, COST_OF_CELL = 400_000_000, 64
"""The operations that all launches may take together, counting some for each cell of the result."""
MOST_SOUGHT = 48
"""Halves of wrong parts that are followed further at a time."""
MOST_NAMED = 6
"""Wrong products whose factors are found."""
MOST_ELEMENTS = 1 << 20
"""Operands with more elements are not made again and again."""
HOT_CODES, OTHER_CODES = 3, 61
"""Factors are 1 to these, where there is room: most permutations of them give another sum."""


@dataclass(frozen=True)
class Wrong:
    """A product that a cell should sum, or sums by mistake: ``one`` of the hot operand times ``due`` of the other.

    ``due`` is None where the two should not meet. ``count`` products with ``one`` are summed; ``met`` is the other
    factor, or the one besides ``due``, where there is only one such.
    """

    one: Index
    due: Index | None
    count: float
    met: Index | None
    is_one_product: bool = True
    """Is each of the products that of ``one`` and ``due``?"""

    @property
    def kind(self) -> str:
        """One of the keys of ``_TEXTS``; empty if the product is right alone."""
        if self.due is None:
            return "added" if self.count else ""
        if self.count == 0:
            return "missing"
        if self.count == 1:
            return "moved" if self.met is not None and self.met != self.due else ""
        return "also" if self.met not in (None, self.due) else "repeated" if self.is_one_product else "crowded"


@dataclass(frozen=True, eq=False)
class _Cell:
    """A wrong cell of the result, and the operand that is hot in the search."""

    problem: Problem
    form: Form
    at: Index
    hot: str

    @property
    def other(self) -> str:
        return next((role for role in self.form.operands if role != self.hot), "")

    def lengths(self, role: str) -> Index:
        return self.problem.tensors[role].lengths

    @property
    def room(self) -> int:
        """The largest sum of factors that all types on the way hold."""
        numerics = self.problem.operation.numerics
        tensors = [self.problem.tensors[role].dtype.exact_integer for role in (self.form.result, *self.form.operands)]
        factors = [numerics.multiplicand(self.problem, role).exact_integer for role in self.form.operands]
        return max(1, min(*tensors, *factors) // max(1, ceil(abs(self.scale))))

    @property
    def scale(self) -> float:
        """The factor that a sum has in the result, by which a kernel's answers are divided."""
        gain = prod(gain_of(self.problem, role) for role in self.form.operands)
        return gain * self.problem.operation.numerics.epilogue(self.problem).alpha

    def places(self) -> Ints:
        """Return the flat places of the hot elements that have the indices of the cell."""
        names, shared = self.form.axes[self.hot], dict(zip(self.form.axes[self.form.result], self.at, strict=True))
        grid = np.ix_(*[
            [shared[name]] if name in shared else range(length)
            for name, length in zip(names, self.lengths(self.hot), strict=True)
        ])  # fmt: skip
        own = np.ravel_multi_index(grid, self.lengths(self.hot)).reshape(-1)
        return np.asarray(own, np.int64)

    def data(self, hot: Ints, other: Ints | int) -> Data:
        """Return the operands: ``hot`` as it is, the other one of these numbers."""
        data = {self.hot: hot}
        if self.other:
            data[self.other] = np.broadcast_to(np.asarray(other, np.int64), self.lengths(self.other))
        return data

    def only(self, places: Ints, values: Ints | int = 1) -> Ints:
        """Return the hot operand with these values at flat places, and 0 elsewhere."""
        hot = np.zeros(prod(self.lengths(self.hot)), np.int64)
        hot[places] = values
        return hot.reshape(self.lengths(self.hot))

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """The flat places of the elements that the cell should multiply: of the hot operand, and of the other."""
        places = self.places()
        if not self.other:
            return places, places
        met, lengths = self.problem.operation.numerics.met, self.lengths(self.other)
        found = [
            (place, met(self.problem, self.hot, _index(place, self.lengths(self.hot)), self.at)) for place in places
        ]
        both = [(int(place), int(np.ravel_multi_index(due, lengths))) for place, due in found if due is not None]
        hot, other = np.array(both, np.int64).reshape(-1, 2).T
        return hot, other

    def due(self, data: Data) -> float:
        """Return what the cell should sum."""
        hot, other = self.pairs
        factors = data[self.hot].reshape(-1)[hot]
        return float((factors * data[self.other].reshape(-1)[other]).sum() if self.other else factors.sum())


def _codes(count: int, most: int) -> Ints:
    numbers = np.arange(count, dtype=np.int64)
    return np.asarray(1 + (numbers * 7 + numbers // 5) % most)


def search(problem: Problem, cell: Index) -> Search:
    """Find which products a wrong cell lacks, has too often, or takes from somewhere else."""
    form = problem.operation.numerics.form(problem)
    if form is None or len(form.operands) > 2:
        return ""
    cost = 1 + problem.flops + COST_OF_CELL * prod(problem.tensors[form.result].lengths)
    launches = min(MOST_LAUNCHES, BUDGET // cost)
    if launches < LEAST_LAUNCHES or max(prod(problem.tensors[role].lengths) for role in form.operands) > MOST_ELEMENTS:
        return ""
    both = sorted((_Cell(problem, form, cell, role) for role in form.operands), key=lambda one: one.places().size)
    if not both[0].scale:
        return ""  # alpha is 0: no product reaches the result
    (nothing,) = yield [both[0].data(both[0].only(np.empty(0, np.int64)), 0)]
    if np.isnan(nothing[cell]):
        return ""
    if nothing[cell] != 0:
        return f"with all operands 0, {_name(both[0], form.result, cell)} holds {nothing[cell]:g}, not 0"
    if text := (yield from _of_d(both[0])):
        return text
    texts = {}
    for known in both:
        text, is_telling = yield from _searched(known, launches)
        if not text or is_telling:
            return text
        texts[known.hot] = text
    return texts[both[0].hot]  # each operand says as little as the other


def _of_d(known: _Cell) -> Generator[Sequence[Data], Sequence[Floats], str]:
    """Return which element of D a cell takes instead of that at its place; empty if it takes that one."""
    problem = known.problem
    op = problem.operation.numerics.epilogue(problem)
    if not op.num_d or op.in_place:
        return ""
    lengths, by = problem.tensors["d0"].lengths, (op.beta or 1.0) / known.scale
    names = problem.operation.diagnostics.names(problem)
    if max(lengths) * abs(by * known.scale) > known.room:
        return ""
    zeros = known.data(known.only(np.empty(0, np.int64)), 0)
    ones = np.ones(lengths, np.int64)
    axes = [axis for axis, length in enumerate(lengths) if length > 1]
    coordinates = np.indices(lengths, dtype=np.int64)
    answers = yield [{**zeros, "d0": ones}, *({**zeros, "d0": coordinates[axis]} for axis in axes)]
    if text := _strides_of_d(known, axes, [answer / by for answer in answers]):
        return text
    count, *found = (float(answer[known.at]) / by for answer in answers)
    due = tuple(0 if length == 1 else i for i, length in zip(known.at, lengths, strict=True))
    taken = dict(zip(axes, found, strict=True))
    cell = tuple(taken.get(axis, 0.0) for axis in range(len(lengths)))
    name, ours = names.get("d0", "D"), _name(known, known.form.result, known.at)
    if count == 0:
        return f"with all operands 0, {ours} takes no element of {name}, or one between its rows"
    if count != 1 or cell == due or not all(value.is_integer() for value in cell):
        return ""
    return f"with all operands 0, {ours} takes {_element(name, cell)} instead of {_element(name, due)}"


def _strides_of_d(known: _Cell, axes: Sequence[int], answers: Sequence[Floats]) -> str:
    """Return the strides with which all cells take the elements of D that they do; empty if there are none."""
    tensor = known.problem.tensors["d0"]
    count, *found = (np.nan_to_num(answer) for answer in answers)
    if not np.isin(count, (0, 1)).all():
        return ""
    at = [np.zeros(count.shape, np.int64) for _ in tensor.lengths]
    for axis, along in zip(axes, found, strict=True):
        at[axis] = np.clip(along, 0, tensor.lengths[axis] - 1).astype(np.int64)
    taken = np.where(count == 1, np.ravel_multi_index(at, tensor.lengths), -1)
    owner = np.full(tensor.space, -1, np.int64)
    owner[offsets(tensor.lengths, tensor.strides)] = np.arange(prod(tensor.lengths)).reshape(tensor.lengths)
    for text, strides in other_strides(known.problem, "d0"):
        places = np.broadcast_to(offsets(tensor.lengths, strides), count.shape)
        inside = (places >= 0) & (places < tensor.space)
        if (np.where(inside, owner[np.where(inside, places, 0)], -1) == taken).all():
            return text
    return ""


def _element(name: str, index: Sequence[float]) -> str:
    return f"{name}({','.join(f'{i:g}' for i in index)})"


def _searched(known: _Cell, launches: int) -> Generator[Sequence[Data], Sequence[Floats], tuple[str, bool]]:
    """Return a clause on a cell, and whether it says which element stands in another's place.

    A product that is missing may be one that another hot element has taken: then the other operand, made hot, says so.
    """
    places, is_complete = yield from _wrong_places(known, launches)
    found = []
    for place in _some(list(places), MOST_NAMED):
        wrong = yield from _examine(known, int(place))
        if wrong is None:
            return "", False
        if wrong.kind:
            found.append(wrong)
    if not found:
        return "", False
    kinds = {wrong.kind for wrong in found}
    is_telling = bool(kinds & {"moved", "also", "crowded"}) or kinds == {"repeated"}
    return _sentence(known, found, places, is_complete), is_telling


def _wrong_places(known: _Cell, launches: int) -> Generator[Sequence[Data], Sequence[Floats], tuple[Ints, bool]]:
    """Return flat places of hot elements whose products are wrong in the cell, in order, and whether these are all."""
    own = known.places()
    rest = np.setdiff1d(np.arange(prod(known.lengths(known.hot))), own)
    most = max(2, min(OTHER_CODES, int(known.room**0.5)))
    lengths = known.lengths(known.other) if known.other else ()
    other = _codes(prod(lengths), most).reshape(lengths) if known.other else 1
    first = launches // 2
    size = max(1, known.room // (HOT_CODES * most)) if own.size > first else 1
    parts = [own[begin : begin + size] for begin in range(0, own.size, size)]
    is_complete = len(parts) <= first
    parts = [*_some(parts, first), *([rest] if rest.size else [])]
    wrong: list[Ints] = []
    while parts and launches > 0:
        data = [known.data(known.only(part, _codes(part.size, HOT_CODES)), other) for part in parts]
        answers = yield data
        launches -= len(data)
        bad = [p for p, d, got in zip(parts, data, answers, strict=True) if got[known.at] != known.due(d)]
        wrong += [part for part in bad if part.size == 1]
        halves = [half for part in bad if part.size > 1 for half in np.array_split(part, 2)]
        is_complete = is_complete and len(halves) <= MOST_SOUGHT
        parts = _some(halves, MOST_SOUGHT)
    return np.sort(np.concatenate(wrong)) if wrong else np.empty(0, np.int64), is_complete and not parts


def _some(parts: list[T], most: int) -> list[T]:
    """Return at most this number of them, spread evenly."""
    return [parts[i] for i in np.linspace(0, len(parts) - 1, min(most, len(parts))).astype(np.intp)]


def _examine(known: _Cell, place: int) -> Generator[Sequence[Data], Sequence[Floats], Wrong | None]:
    """Return what a cell does with a hot element; None where its sums are no whole numbers."""
    hot = known.only(np.array([place]))
    one = _index(place, known.lengths(known.hot))
    numbers: list[Ints | int] = [1]
    lengths = known.lengths(known.other) if known.other else ()
    digits: list[tuple[int, int]] = []
    base = max(2, known.room // 2)
    for axis, length in enumerate(lengths):
        scale = 1
        while scale < length:
            coordinate = np.arange(length, dtype=np.int64) // scale % base
            numbers.append(coordinate.reshape([-1 if a == axis else 1 for a in range(len(lengths))]))
            digits.append((axis, scale))
            scale *= base
    answers = yield [known.data(hot, number) for number in numbers]
    values = [float(answer[known.at]) for answer in answers]
    if not all(isfinite(value) and value.is_integer() for value in values):
        return None
    due, count = _due(known, one), values[0]
    met = None
    if known.other and (count == 1 or (count == 2 and due)):
        at = [-i for i in due] if due and count == 2 else [0] * len(lengths)
        for (axis, scale), digit in zip(digits, values[1:], strict=True):
            at[axis] += int(digit) * scale
        met = tuple(at)
    sums = [0.0] * len(lengths)
    for (axis, scale), digit in zip(digits, values[1:], strict=True):
        sums[axis] += digit * scale
    return Wrong(one, due, count, met, due is not None and sums == [count * i for i in due])


def _due(known: _Cell, one: Index) -> Index | None:
    """Return the element of the other operand that the cell should multiply with a hot one, () where there is no other
    operand."""
    if known.other:
        return known.problem.operation.numerics.met(known.problem, known.hot, one, known.at)
    return () if np.ravel_multi_index(one, known.lengths(known.hot)) in known.places() else None


def _index(place: int, lengths: Index) -> Index:
    return tuple(int(i) for i in np.unravel_index(place, lengths))


def _sentence(known: _Cell, found: Sequence[Wrong], places: Ints, is_complete: bool) -> str:
    first = found[0]
    alike = [wrong for wrong in found if wrong.kind == first.kind]
    text = f"with all other elements 0, {_name(known, known.form.result, known.at)} {_TEXTS[first.kind](known, first)}"
    moves = {_move(one) for one in alike}
    if first.kind == "moved" and len(moves) == 1:
        text += f" ({_steps(known, moves.pop())})"
    if (other := next((wrong for wrong in found if wrong.kind != first.kind), None)) is not None:
        text += f", and {_TEXTS[other.kind](known, other)}"
    if places.size == 1:
        return text if is_complete else f"{text}, among others"
    own = known.places()
    if not is_complete:
        return f"{text}; more than {places.size} of its products are wrong"
    if np.isin(own, places).all():
        return f"{text}; all {own.size} of its products are wrong"
    return f"{text}; {places.size} of its products are wrong{_where(known, places)}"


def _where(known: _Cell, places: Ints) -> str:
    """Return the coordinates of hot elements, along the axes on which they are not everywhere."""
    shared = set(known.form.axes[known.form.result])
    letters, words, cells = _letters(known, known.hot), list[str](), 1
    for axis, along in enumerate(np.unravel_index(places, known.lengths(known.hot))):
        some = [int(i) for i in np.unique(along)]
        if known.form.axes[known.hot][axis] not in shared and len(some) < known.lengths(known.hot)[axis]:
            words.append(f"{letters[axis]} {format_indices(some)}")
        cells *= len(some)
    at = f": those with {_role_name(known, known.hot)} at {', '.join(words)}" if words else ""
    own = known.places()
    terms = np.searchsorted(own, places[np.isin(places, own)])
    steps = set(np.diff(terms).tolist())
    if cells != places.size and len(steps) == 1 and terms.size > 2 and min(steps) > 1:
        at += f", every {steps.pop()}th from number {terms[0] + 1} on"
    return at


def _move(wrong: Wrong) -> Index:
    return tuple(a - b for a, b in zip(wrong.met, wrong.due, strict=True)) if wrong.met and wrong.due else ()


def _steps(known: _Cell, move: Index) -> str:
    pairs = zip(_letters(known, known.other), move, strict=True)
    return ", ".join(f"{letter} {'+' if by > 0 else '-'} {abs(by)}" for letter, by in pairs if by)


def _missing(known: _Cell, wrong: Wrong) -> str:
    return f"lacks {_product(known, wrong.one, wrong.due)}"


def _added(known: _Cell, wrong: Wrong) -> str:
    return f"holds {_product(known, wrong.one, wrong.met)}, which is no part of its sum"


def _moved(known: _Cell, wrong: Wrong) -> str:
    assert wrong.met is not None
    assert wrong.due is not None
    right = _name(known, known.other, wrong.due)
    return f"holds {_product(known, wrong.one, wrong.met)} instead of {right}"


def _repeated(known: _Cell, wrong: Wrong) -> str:
    return f"holds {_product(known, wrong.one, wrong.due)} {wrong.count:g} times"


def _also(known: _Cell, wrong: Wrong) -> str:
    assert wrong.met is not None
    right = _product(known, wrong.one, wrong.due)
    return f"holds {right}, and {_name(known, known.hot, wrong.one)} * {_name(known, known.other, wrong.met)} as well"


def _crowded(known: _Cell, wrong: Wrong) -> str:
    right = _product(known, wrong.one, wrong.due)
    return f"holds {wrong.count:g} products with {_name(known, known.hot, wrong.one)}, and not {right} alone"


_TEXTS: dict[str, Callable[[_Cell, Wrong], str]] = {
    "missing": _missing,
    "added": _added,
    "moved": _moved,
    "repeated": _repeated,
    "also": _also,
    "crowded": _crowded,
}


def _product(known: _Cell, one: Index, other: Index | None) -> str:
    return " * ".join([_name(known, known.hot, one), *([_name(known, known.other, other)] if other else [])])


def _name(known: _Cell, role: str, index: Index) -> str:
    return f"{_role_name(known, role)}({','.join(map(str, index))})"


def _role_name(known: _Cell, role: str) -> str:
    return known.problem.operation.diagnostics.names(known.problem)[role]


def _letters(known: _Cell, role: str) -> str:
    return known.problem.operation.diagnostics.letters(known.problem, role)
