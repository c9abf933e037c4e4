"""The scene of a diagnosis: a wrong result, its reference, and what is known of how they came about. Pure data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype, Problem
from bitgate.numerics.bits import Array, bits_of, blocks

CELLS = 8_000_000
"""The number of cells of the result that a diagnosis examines; of larger tensors it takes some channels, the last ones
among them."""
TAIL_CHANNELS = 16
HIT_CHANNELS = 16
"""Wrong cells in at most this many channels are all examined; of more channels as many, if no other would show any."""
SPREAD = 1 << 20
"""The number of wrong cells that samples are drawn from."""
CHANCE = 0.05
"""A place that wrong cells would share by chance with more than this probability says nothing."""

P_co = TypeVar("P_co", bound=Problem, covariant=True)
P = TypeVar("P", bound=Problem)


@dataclass(frozen=True, eq=False)
class Scene(Generic[P_co]):
    """The data of a diagnosis: ``result`` and ``reference`` are arrays of the type of one output, in logical order.

    ``poison`` holds the bits of one cell that was never written. ``inputs`` are the logical operands by role,
    ``other_run`` is the second run's result, ``tile`` the instance's (M, N, K). ``outside`` marks the wrong cells,
    where they are known already or not a matter of bits.
    """

    problem: P_co
    result: Array
    reference: Array
    poison: int
    inputs: Mapping[str, Array] = field(default_factory=dict)
    tile: tuple[int, int, int] | None = None
    other_run: Array | None = None
    outside: NDArray[np.bool_] | None = None
    runs: tuple[str, str] = ("the first run", "the second run")
    channels: tuple[int, ...] | None = None
    """The coordinates of the channel axis that are examined; None for all."""
    output: str = ""
    """The role of the examined output; empty for ``problem.result``."""
    exact: bool = True
    """False where the sums of these data are rounded, so that recomputed ones agree but for their rounding."""
    slices: int = 0
    """The number of slices of a split reduction that the dispatch record states; 0 if there is no record."""
    ordered: bool = False
    """True where the reference sums in the order that the kernel states, so that rounded sums agree too."""
    operands: Mapping[str, Array] = field(default_factory=dict)
    """The operands before the operations that they go through; ``inputs`` has them after these."""

    @staticmethod
    def thinned(problem: P, result: Array, reference: Array, **more: Any) -> Scene[P]:
        """Return a scene of at most about CELLS cells, some wrong ones among them."""
        whole = Scene(problem, result, reference, **more)
        axis = whole.channel_axis
        channels = _thin(whole, axis)
        if channels is None:
            return whole
        for name in ("other_run", "outside"):
            if more.get(name) is not None:
                more[name] = take(more[name], channels, axis)
        few, right = take(result, channels, axis), take(reference, channels, axis)
        return Scene(problem, few, right, channels=channels, **more)

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        if self.outside is not None:
            return self.outside
        return np.asarray(bits_of(self.result) != bits_of(self.reference))

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.wrong))

    @cached_property
    def wrong_result(self) -> Array:
        """The contents of the wrong cells, one-dimensional."""
        return np.asarray(self.result[self.wrong])

    @cached_property
    def wrong_reference(self) -> Array:
        return np.asarray(self.reference[self.wrong])

    @property
    def split_k(self) -> int:
        """The slices of the reduction: those of the record where the kernel chooses."""
        stated = int(getattr(self.problem, "split_k", 1))
        return stated if stated > 0 else max(1, self.slices)

    @property
    def role(self) -> str:
        """The role of the examined output."""
        return self.output or self.problem.result

    @property
    def dtype(self) -> Dtype:
        return self.problem.tensors[self.role].dtype

    @property
    def tensor_name(self) -> str:
        """The name of the output that people use."""
        return self.problem.operation.diagnostics.names(self.problem)[self.role]

    @property
    def letters(self) -> str:
        """One letter for each axis of the output."""
        return self.problem.operation.diagnostics.letters(self.problem, self.role)

    @property
    def channel_axis(self) -> int:
        """The axis along which a large result is examined in part."""
        if self.role != self.problem.result:
            return max(0, self.result.ndim - 1)
        return self.problem.operation.diagnostics.channel_axis(self.problem)

    @property
    def neighbours(self) -> Sequence[int]:
        """Axes along which a cell may hold its neighbour's value."""
        if self.role != self.problem.result:
            return range(self.result.ndim)
        return self.problem.operation.diagnostics.neighbours(self.problem)

    @cached_property
    def differs(self) -> NDArray[np.bool_]:
        """Cells that are wrong, or that differ between two runs."""
        if self.other_run is None:
            return self.wrong
        return np.asarray(self.wrong | (bits_of(self.result) != bits_of(self.other_run)))

    def wrong_along(self, axis: int) -> NDArray[np.bool_]:
        """Return for each coordinate of the axis whether any cell with it is wrong."""
        others = tuple(a for a in range(self.wrong.ndim) if a != axis)
        return np.asarray(self.wrong.any(axis=others))

    def by_chance(self, share: float, hits: int | None = None) -> bool:
        """Return whether ``hits`` random cells (default: as many as are wrong) would probably all be in this share of
        the tensor."""
        return share ** (self.count if hits is None else hits) > CHANCE

    def sample(self, limit: int, wrong: bool = True) -> Iterator[tuple[int, ...]]:
        """Yield up to ``limit`` wrong (or right) cells, spread evenly over the tensor, as indices into ``result``."""
        flat = self._wrong_places if wrong else _spread(~self.wrong, self.wrong.size - self.count)
        if flat.size == 0:
            return
        step = max(1, flat.size // limit)
        for cell in flat[::step][:limit]:
            yield tuple(int(i) for i in np.unravel_index(cell, self.wrong.shape))

    @cached_property
    def _wrong_places(self) -> NDArray[np.intp]:
        return _spread(self.wrong, self.count)

    def true_index(self, axis: int, index: int) -> int:
        """Return the coordinate in the whole tensor of an index along an axis of ``result``."""
        return index if self.channels is None or axis != self.channel_axis else self.channels[index]

    def true_cell(self, cell: tuple[int, ...]) -> tuple[int, ...]:
        """Return the coordinates in the whole tensor of an index into ``result``."""
        return tuple(self.true_index(axis, index) for axis, index in enumerate(cell))


def is_zero(array: Array) -> NDArray[np.bool_]:
    """Return a mask, true for 0 and -0."""
    return np.asarray(array == array.dtype.type(0))


def holds_bits(array: Array, bits: int) -> NDArray[np.bool_]:
    """Return a mask, true where a cell's bits are these."""
    return np.asarray(bits_of(array) == bits)


def along(flags: NDArray[np.bool_], axis: int, ndim: int) -> NDArray[np.bool_]:
    """Return flags of one axis, shaped to broadcast over an array of ``ndim`` axes (np.ix_ turns booleans into
    indices)."""
    shape = [1] * ndim
    shape[axis] = flags.size
    return flags.reshape(shape)


def take(array: Array, coordinates: tuple[int, ...], axis: int) -> Array:
    """Return the part of the array with these coordinates of an axis."""
    chosen: Array = np.asarray(array[(slice(None),) * axis + (list(coordinates),)])
    return chosen


def _spread(flags: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
    """Return flat places of the ``count`` cells that are true; of very many only some, spread evenly."""
    step = max(1, count // SPREAD)
    found, seen, first = [np.empty(0, np.intp)], 0, 0
    for block in blocks(flags.shape):
        part = flags[block]
        places = np.flatnonzero(part)
        found.append(first + places[-seen % step :: step])
        seen += places.size
        first += part.size
    return np.concatenate(found)


def _thin(scene: Scene[P], axis: int) -> tuple[int, ...] | None:
    result = scene.result
    channels = result.shape[axis] if result.ndim else 0
    if result.size <= CELLS or channels <= 2 * TAIL_CHANNELS:
        return None
    step = -(-result.size // CELLS)
    chosen = {*range(0, channels, step), *range(channels - TAIL_CHANNELS, channels)}
    others = tuple(a for a in range(result.ndim) if a != axis)
    hit = [int(channel) for channel in scene.differs.any(axis=others).nonzero()[0]]
    if len(hit) <= HIT_CHANNELS or chosen.isdisjoint(hit):
        chosen.update(hit[:: -(-len(hit) // HIT_CHANNELS)] if hit else ())
    return tuple(sorted(chosen))
