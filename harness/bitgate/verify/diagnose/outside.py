"""Places outside a tensor's cells that a kernel wrote or read, and the mistakes that lead there: another tensor's
strides, or a coordinate beyond its axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem, Tensor
from bitgate.model.cell_places import offsets
from bitgate.model.finding import Finding, Role
from bitgate.model.form import Form
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import Array, bits_of
from bitgate.verify.diagnose.layouts import other_strides
from bitgate.verify.diagnose.operations import MOST_CELLS
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene

Index = tuple[int, ...]

MOST_NAMED = 3
FARTHEST = 64
NEAR = 2
"""Coordinates that are at most this far outside are likelier than other strides."""
WHOLE = ": those of "
"""Words of ``other_strides`` for the strides of all axes of another tensor."""
NEAR_SHARE = 2.0**-5
"""The difference of numbers, in shares of the smaller one, that a rounded sum may have."""
SLACK = 16
"""Bytes after a tensor that no guard may meet."""
WRAP = 1 << 32
"""Elements by which an offset of 32 bits misses its cell, or some times as many."""
ENOUGH = 4
"""Cells with another content than they should have, fewer of which agree with some strides by chance."""


@dataclass(frozen=True, eq=False)
class _Written:
    """Memory that a result was written into with other strides; ``several`` marks places that more than one cell has
    taken."""

    bits: Array
    several: NDArray[np.bool_]


def _written(right: HostTensor, poison: int, strides: Index) -> _Written:
    """Return the memory that has a result's cells at other places, and poison and gaps where none is."""
    tensor = right.tensor
    memory = HostTensor(tensor, right.storage.copy())
    memory.bits[...] = poison
    places = offsets(tensor.lengths, strides).reshape(-1)
    inside = (places >= 0) & (places < tensor.space)
    flat = memory.storage.view(tensor.dtype.bits)
    flat[places[inside]] = right.bits.reshape(-1)[inside]
    return _Written(flat, np.bincount(places[inside], minlength=tensor.space) > 1)


def _alike(tensor: Tensor, one: Array, other: Array) -> NDArray[np.bool_]:
    """Return where memory holds the same bits, or numbers that differ no more than sums of real numbers may."""
    same = np.asarray(one == other)
    if not tensor.dtype.is_float:
        return same
    with np.errstate(all="ignore"):
        ours, theirs = (bits.view(tensor.dtype.numpy).astype(np.float64) for bits in (one, other))
        return same | (np.abs(ours - theirs) <= NEAR_SHARE * np.minimum(np.abs(ours), np.abs(theirs)))


def written_elsewhere(problem: Problem, found: HostTensor, right: HostTensor, poison: int) -> str:
    """Return the strides with which a result's memory is what a launch left there; empty if there are none."""
    role, tensor = right.tensor.name, right.tensor
    if tensor.space > MOST_CELLS or problem.in_place:
        return ""
    left = found.storage.view(tensor.dtype.bits)
    for text, strides in other_strides(problem, role, "written"):
        written = _written(right, poison, strides)
        if (_alike(tensor, written.bits, left) | written.several).all() and not written.several.all():
            return text
    return ""


def stored_elsewhere(scene: Scene[Problem]) -> Finding | None:
    """Find that a result was written with other strides, within its cells."""
    problem, role = scene.problem, scene.role
    tensor = problem.tensors[role]
    if scene.channels is not None or tensor.space > MOST_CELLS or problem.in_place or scene.count < ENOUGH:
        return None
    right = HostTensor.empty(tensor)
    right.bits[...] = bits_of(scene.reference)
    for text, strides in other_strides(problem, role, "written"):
        written = _written(right, scene.poison, strides)
        cells = HostTensor(tensor, written.bits.view(tensor.dtype.numpy)).bits
        several = written.several[offsets(tensor.lengths, tensor.strides)]
        same = (cells == bits_of(scene.result)) | several
        moved = scene.wrong & ~several & (bits_of(scene.result) != scene.poison)
        if same.all() and np.count_nonzero(moved) >= ENOUGH:
            implied = frozenset({"never_written", "zero", "shifted", "other"})
            return Finding("operand", Role.CAUSE, 0.97, text, {"strides": list(strides)}, implied)
    return None


def place_of_fault(problem: Problem, role: str, offset: int) -> str:
    """Return the mistakes that lead to a byte offset outside a tensor's memory; empty if none is near at hand."""
    if role not in problem.tensors:
        return ""
    tensor = problem.tensors[role]
    element = offset // tensor.dtype.bytes
    name = {"d0": "D", **problem.operation.diagnostics.names(problem)}.get(role, role)
    if tensor.space > WRAP // 2 and (cut := _cut_offset(tensor, element, name)):
        return cut
    if 0 <= element < tensor.space:
        return ""
    letters = problem.operation.diagnostics.letters(problem, role)
    found = list(_beyond(tensor, element))
    form = problem.operation.numerics.form(problem)
    edges = form.own_axes(role) if form is not None and role in form.axes else ()
    if form is not None and edges:
        found = [one for one in found if _is_reached(form, role, edges, one[1])]
    # Where memory has no gaps several axes may be left to blame: first those whose coordinates a window computes.
    found = sorted((one for one in found if one[0] <= NEAR or one[2] in edges), key=lambda one: one[2] not in edges)
    nearest = [one for one in found if one[0] == min(found)[0]]
    there = ""
    if nearest:
        cells = format_list([f"{name}({','.join(map(str, cell))})" for _, cell, _ in nearest[:MOST_NAMED]], "or")
        lengths = format_list([f"{letters[axis]} has {tensor.lengths[axis]}" for _, _, axis in nearest[:MOST_NAMED]])
        there = f"that is {cells} ({lengths})"
        if nearest[0][0] <= NEAR and any(axis in edges for _, _, axis in nearest):
            return there
    likely = []
    if tensor.space <= MOST_CELLS:
        likely = [text for text, strides in other_strides(problem, role, "taken") if _leads(tensor, strides, element)]
    if nearest and nearest[0][0] <= NEAR:  # here a stride of a single axis would agree by chance too often
        likely = [text for text in likely if WHOLE in text]
        return f"{there}, or as where {likely[0]}" if len(likely) == 1 else there
    return f"as where {likely[0]}" if len(likely) == 1 else there


def _cut_offset(tensor: Tensor, element: int, name: str) -> str:
    """Return the cells whose offset, cut to 32 bits, leads to a place; empty if there are none."""
    cells = (_inside(tensor, element + times * WRAP, -1) for times in (1, 2, 3, -1))
    texts = [f"{name}({','.join(map(str, cell))})" for cell in cells if cell is not None]
    return f"that is the offset of {format_list(texts, 'or')}, cut to 32 bits" if texts else ""


def _is_reached(form: Form, role: str, edges: Sequence[int], cell: Index) -> bool:
    """Return whether a window computes all coordinates of a cell that has one outside."""
    return all(form.reaches(role, axis, cell[axis]) for axis in edges)


def _beyond(tensor: Tensor, element: int) -> Iterator[tuple[int, Index, int]]:
    """Yield elements with one coordinate outside its axis that would lie at a place: how far outside, and which axis.

    Their other coordinates are inside.
    """
    for axis, (length, stride) in enumerate(zip(tensor.lengths, tensor.strides, strict=True)):
        if stride <= 0:
            continue
        for distance in range(1, FARTHEST):
            for index in (length - 1 + distance, -distance):
                rest = _inside(tensor, element - index * stride, axis)
                if rest is not None:
                    yield distance, (*rest[:axis], index, *rest[axis + 1 :]), axis


def _inside(tensor: Tensor, place: int, without: int) -> Index | None:
    """Return the coordinates of a place along all axes but one, None if there is no such cell."""
    cell = [0] * len(tensor.lengths)
    for axis in sorted(range(len(cell)), key=lambda a: -tensor.strides[a]):
        stride, length = tensor.strides[axis], tensor.lengths[axis]
        if axis == without or stride <= 0:
            continue
        cell[axis] = min(max(place // stride, 0), length - 1)
        place -= cell[axis] * stride
    return tuple(cell) if place == 0 else None


def _leads(tensor: Tensor, strides: Index, element: int) -> bool:
    """Return whether the first cell that these strides put outside lies at a place.

    A kernel is stopped after memory that ends unaligned only past SLACK. Of a tensor that is read at one cell for all,
    which has no strides, any cell may be the first.
    """
    places = offsets(tensor.lengths, strides).reshape(-1)
    outside = places[(places < 0) | (places >= tensor.space)]
    if not outside.size:
        return False
    late = element - tensor.space
    if not any(tensor.strides) or 0 < late * tensor.dtype.bytes < SLACK:
        return bool((outside == element).any())
    return bool(element in (outside[0], outside[outside >= 0].min(initial=np.iinfo(np.int64).max)))
