"""Measurements of data that no form explains: their density, and whether a lost element would show.

Both use the operation's own reference, which is all that is known of it. An element counts as lost without a trace if
the result is the same with 0, or with the least of its tensor, in its place: a sum does not notice the one, a maximum
the other. A fill that claims exact bits must also get them in an f32 accumulator: where the reference gives other bits
in it than in f64, bits depend on the order and the precision of what a kernel does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model import Accumulation, Problem, case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import bits_of
from bitgate.numerics.stated import defined, rounded_to

SAMPLES = 8
"""Elements that are lost, one after the other."""
WORK = 2**20
"""The most cells that all recomputations together may read; a claim is tried on larger data."""
LARGEST_CLAIM = 2**22

Cells = Mapping[str, NDArray[np.float64]]
Patterns = dict[str, HostTensor]


def density(inputs: Mapping[str, HostTensor]) -> float:
    """Return the share of elements that are not zero."""
    counted = sum(host.tensor.elements for host in inputs.values())
    return sum(int(np.count_nonzero(host.logical)) for host in inputs.values()) / max(1, counted)


class Losses(NamedTuple):
    """The number of sampled elements that ``show``, of those ``tried``: their loss changes the result."""

    show: int
    tried: int

    @property
    def text(self) -> str:
        return (
            f"{self.show} of {self.tried} sampled elements show if lost" if self.tried else "sensitivity not measured"
        )

    @property
    def sensitivity(self) -> float | None:
        return self.show / self.tried if self.tried else None


UNTRIED = Losses(0, 0)


def losses(problem: Problem, inputs: Mapping[str, HostTensor], seed: int) -> Losses:
    """Return the losses, or UNTRIED where it is too much work, or where the reference takes no other data."""
    cells = _cells(inputs)
    sizes = [array.size for array in cells.values()]
    if 2 * SAMPLES * max(sum(sizes), problem.flops) > WORK:
        return UNTRIED
    rng = np.random.default_rng([seed, *sizes])
    chosen = rng.choice(sum(sizes), min(SAMPLES, sum(sizes)), replace=False)
    try:
        whole = _patterns(problem, cells)
        return Losses(sum(_shows(problem, cells, int(at), whole) for at in chosen), len(chosen))
    except UsageError:
        return UNTRIED


def check_claim(problem: Problem, inputs: Mapping[str, HostTensor], accumulation: Accumulation, fill: str) -> None:
    """Raise UsageError if the fill's claim of exact bits is refuted."""
    own, cells = accumulation.accumulator, _cells(inputs)
    if own.name != "f32" or sum(array.size for array in cells.values()) > LARGEST_CLAIM:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = {role: array.astype(own.numpy) for role, array in cells.items()}
    if not all(np.array_equal(narrow[role], array, equal_nan=True) for role, array in cells.items()):
        return  # integers that the accumulator does not hold: kernels do not take them through it
    wide = _patterns(problem, cells)
    with np.errstate(all="ignore"):
        other = _patterns(problem, narrow)
    for role, host in wide.items():
        differ = _differ(host, other[role])
        if differ.any():
            at = [int(index) for index in np.argwhere(differ)[0]]
            raise UsageError(
                f"{case_id(problem)}: fill '{fill}' claims exact bits, and the reference in {own} and in f64 differ in"
                f" {np.count_nonzero(differ)} of {differ.size} cells of {role}, the first at {at}: take other data, or"
                " state exact=False and a bound"
            )


def _cells(inputs: Mapping[str, HostTensor]) -> dict[str, NDArray[np.float64]]:
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return {role: host.logical.astype(np.float64) for role, host in inputs.items()}


def _patterns(problem: Problem, cells: Mapping[str, NDArray[np.floating]]) -> Patterns:
    # A copy: a reference that works in place must not change what the next one gets.
    values = defined(problem, {role: array.copy() for role, array in cells.items()})
    return {role: rounded_to(problem, role, array) for role, array in values.items()}


def _shows(problem: Problem, cells: Cells, place: int, whole: Patterns) -> bool:
    for role, array in cells.items():
        if place < array.size:
            return all(_changed(problem, {**cells, role: other}, whole) for other in _without(array, place))
        place -= array.size
    raise IndexError(place)


def _without(array: NDArray[np.float64], place: int) -> list[NDArray[np.float64]]:
    """Return the tensor with an element lost: zero, and its least number, in its place."""
    finite = array[np.isfinite(array)]
    lost = []
    for value in (0.0, float(finite.min(initial=0.0))):
        other = array.copy()
        other.reshape(-1)[place] = value
        lost.append(other)
    return lost


def _changed(problem: Problem, cells: Cells, whole: Patterns) -> bool:
    with np.errstate(all="ignore"):
        other = _patterns(problem, cells)
    return any(bool(_differ(host, other[role]).any()) for role, host in whole.items())


def _differ(first: HostTensor, second: HostTensor) -> NDArray[np.bool_]:
    differ = bits_of(first.logical) != bits_of(second.logical)
    if first.tensor.dtype.is_float:
        differ &= ~(np.isnan(first.logical) & np.isnan(second.logical))
    return np.asarray(differ)
