"""Laws: what holds between results of one kernel whatever the data, so that no reference has to take part.

A law takes a kernel as a function of data, and yields pairs that must be equal; it does not know what the right result
is. Those of this module hold for every operation that has a form: it is linear in each operand, and an axis may be
turned, or cut into parts that are computed apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.float64]
"""A tensor in logical order; its values are integers."""

Data: TypeAlias = dict[str, Cells]
"""All tensors of a problem by role, the result's among them."""

Pair: TypeAlias = tuple[str, Cells, Cells]
"""A pair: the words for what is compared, and both sides of it."""


class KernelFunction(Protocol):
    """A kernel instance as a function of data, to be called as often as a law likes."""

    @property
    def name(self) -> str:
        """The kernel's name: ``family.instance``."""

    def takes(self, problem: Any) -> bool:
        """Return whether the instance supports the problem."""

    def __call__(self, problem: Any, data: Data, output: str = "", /) -> Cells:
        """Compute an output of the problem, the result unless another is named."""

    def partner(self, problem: Any) -> KernelFunction | None:
        """Return a kernel for a problem that this one is not for; None if there is none to be trusted."""


@dataclass(frozen=True)
class Law:
    """A law: ``applies`` returns whether there is anything to try on a problem, ``sides`` tries it."""

    name: str
    words: str
    applies: Callable[[Any, KernelFunction], bool]
    sides: Callable[[Any, KernelFunction, Data], Iterator[Pair]]


# ---- linearity


def _is_linear(problem: Any, kernel: KernelFunction) -> bool:
    return problem.operation.numerics.form(problem) is not None


def _sums(problem: Any, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    for name in problem.operation.numerics.operands(problem):
        other = np.roll(data[name], 1, axis=-1)[..., ::-1]
        both = kernel(problem, {**data, name: data[name] + other})
        yield f"sum of two {name}", both, kernel(problem, data) + kernel(problem, {**data, name: other})


LINEAR = Law("linear", "f(a + a', b) = f(a, b) + f(a', b)", _is_linear, _sums)
"""The law of every multilinear operation: its form names the operands."""


# ---- axes


def resized(name: str) -> Callable[[Any, int], Any]:
    """Return a function that gives a problem another length of that name."""
    return lambda problem, length: replace(problem, **{name: length})


@dataclass(frozen=True)
class Axis:
    """An axis along which a problem falls into parts that do not know of each other, or whose results are summed.

    ``places``: its place in the logical order of each tensor that has it. ``resized`` is the problem with another
    length of it. ``apart``: it is cut into single steps, else in two parts. Beside the result the laws are about all
    outputs of floats, and about those of integers that are named as ``indices``: they count along another axis.
    """

    letter: str
    noun: str
    places: Mapping[str, int]
    resized: Callable[[Any, int], Any]
    apart: bool = False
    indices: tuple[str, ...] = ()

    def outputs(self, problem: Any) -> tuple[str, ...]:
        """Return the roles that the laws are about."""
        tensors = problem.tensors
        return tuple(
            role
            for role in problem.outputs
            if role == problem.result or role in self.indices or tensors[role].dtype.is_float
        )

    def length(self, problem: Any) -> int:
        name, place = next(iter(self.places.items()))
        length: int = problem.tensors[name].lengths[place]
        return length

    def parts(self, problem: Any, kernel: KernelFunction) -> tuple[int, ...]:
        """Return lengths of parts that the kernel takes, two as equal as vectors allow; () if there are none."""
        whole = self.length(problem)
        if self.apart:
            ways: list[tuple[int, ...]] = [(1,) * whole]
        else:
            ways = [(cut, whole - cut) for cut in sorted(range(1, whole), key=lambda cut: abs(2 * cut - whole))]
        for parts in ways:
            if all(kernel.takes(self.resized(problem, part)) for part in set(parts)):
                return parts
        return ()


def turned(axis: Axis) -> Law:
    """Return the law that an axis may be in reverse order."""

    def sides(problem: Any, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
        places = axis.places
        reverse = {name: np.flip(cells, places[name]) if name in places else cells for name, cells in data.items()}
        for role in axis.outputs(problem):
            result = kernel(problem, data, role)
            expected = np.flip(result, places[role]) if role in places else result
            yield _of(problem, role, f"{axis.noun} in reverse order"), kernel(problem, reverse, role), expected

    words = f"{axis.noun} may be put in another order"
    return Law(f"turned_{axis.letter}", words, lambda problem, _: axis.length(problem) > 1, sides)


def cut(axis: Axis) -> Law:
    """Return the law that an axis may be computed in parts."""

    def applies(problem: Any, kernel: KernelFunction) -> bool:
        return axis.length(problem) > 1 and bool(axis.parts(problem, kernel))

    def sides(problem: Any, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
        lengths = axis.parts(problem, kernel)
        for role in axis.outputs(problem):
            if role == problem.result or role in axis.places:  # parts of other outputs need not be summed
                joined = _joined(axis, problem, kernel, data, lengths, role)
                yield _of(problem, role, f"parts of the {axis.noun}"), kernel(problem, data, role), joined

    return Law(f"cut_{axis.letter}", f"{axis.noun} may be computed in parts", applies, sides)


def _joined(axis: Axis, problem: Any, kernel: KernelFunction, data: Data, lengths: tuple[int, ...], role: str) -> Cells:
    """Join the outputs of the parts, or add them."""
    places, at, results = axis.places, 0, []
    for length in lengths:
        part = {
            name: np.take(cells, range(at, at + length), places[name]) if name in places else cells
            for name, cells in data.items()
        }
        results.append(kernel(axis.resized(problem, length), part, role))
        at += length
    return np.concatenate(results, places[role]) if role in places else np.asarray(np.sum(results, axis=0))


def _of(problem: Any, role: str, what: str) -> str:
    return what if len(problem.outputs) == 1 else f"{role}: {what}"


# ---- data of the operation


def exact_data(problem: Any, data: Data, name: str = "exact") -> Data:
    """Return the data of one of the operation's fills, next to what else there is."""
    fill = next(one for one in problem.operation.numerics.fills(problem) if one.name == name)
    assert fill.make is not None
    return {**data, **{role: np.asarray(cells, np.float64) for role, cells in fill.make(problem, 0).items()}}


def on_exact(law: Law, fill: str = "exact") -> Law:
    """Return a law that is tried on the operation's own data: others are rounded on the way."""

    def sides(problem: Any, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
        yield from law.sides(problem, kernel, exact_data(problem, data, fill))

    return replace(law, sides=sides)


def only(law: Law, condition: Callable[[Any], bool]) -> Law:
    """Return the law for problems of which a condition is true."""
    return replace(law, applies=lambda problem, kernel: condition(problem) and law.applies(problem, kernel))
