"""Mistakes of layouts: a tensor that is read with other strides, those of another tensor, another axis, or packed ones.

Memory between rows counts as it is: a kernel that reads it gets the pattern that bitgate puts there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, combinations

import numpy as np

from bitgate.model import Dtype, Problem, Tensor
from bitgate.model.cell_places import by_axis, offsets, places_along
from bitgate.model.host_tensor import GAP_PATTERN
from bitgate.numerics.bits import Array
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed
from bitgate.verify.diagnose.operations import MOST_CELLS
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Index, S, applied_to

MOST_NAMED = 2
MOST_STEPPED = 1 << 17
"""Tensors with more cells are not read with other steps: there are several for each axis and length of a block."""

Read = Callable[[], Array]


def layout_mistakes(known: Recomputed[S]) -> Iterator[Mistake]:
    """Yield mistakes in the strides of an operand, or of D."""
    scene = known.scene
    problem, op = scene.problem, scene.problem.op
    for role in (*problem.operation.numerics.operands(problem), *(["d0"] if op.num_d and not op.in_place else [])):
        array = np.asarray(scene.inputs[role])
        tensor = problem.tensors[role]
        if tensor.space > MOST_CELLS or array.size > MOST_CELLS or array.shape != tensor.lengths:
            continue
        memory = lru_cache(partial(_memory, tensor, array))
        for walk in other_walks(problem, role, scene.tile):
            text, read = walk.text, lru_cache(partial(_read, memory, walk.along))
            if role == "d0":

                def value(cell: Index, read: Read = read) -> float:
                    return float(applied_to(op, np.array(known.sum(cell)), float(read()[cell])))

                yield Mistake(text, "epilogue", value, evidence={"operand": role})
                continue

            def of(cell: Index, role: str = role, read: Read = read) -> float:
                total = known.terms(problem, {**scene.inputs, role: read()}, cell).sum()
                return float(applied_to(op, np.asarray(total), known.d(cell) if op.num_d else 0.0))

            def is_open(
                cell: Index, role: str = role, along: Sequence[Array] = walk.along, space: int = tensor.space
            ) -> bool:
                places = places_along(along)
                beyond = ((places < 0) | (places >= space)).astype(np.float64)
                ones = {other: np.ones(np.shape(cells)) for other, cells in scene.inputs.items()}
                return bool(known.terms(problem, {**ones, role: beyond}, cell).any())

            yield Mistake(text, "operand", of, evidence={"operand": role}, is_open=is_open)


def read_otherwise(scene: Scene[Problem], *roles: str, has_steps: bool = True) -> Iterator[tuple[str, Walk, Array]]:
    """Yield a role, a walk, and what a kernel reads of that operand by it, as numbers of f64.

    Walks that lead beyond the end of the tensor's memory are left out: such a kernel crashes. Those by other steps are
    many, and left out without ``has_steps``.
    """
    for role in roles:
        array, tensor = np.asarray(scene.inputs[role]), scene.problem.tensors[role]
        if tensor.space > MOST_CELLS or array.shape != tensor.lengths:
            continue
        memory = lru_cache(partial(_memory, tensor, array))
        for walk in other_walks(scene.problem, role, scene.tile, has_steps):
            if sum(int(axis.max(initial=0)) for axis in walk.along) < tensor.space:
                yield role, walk, _read(memory, walk.along).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Walk:
    """Places of a tensor's cells that a kernel may compute: how far each coordinate of each axis moves a cell.

    ``is_likely``: all of a tensor's strides, or one, are packed or another tensor's.
    """

    text: str
    along: Sequence[Array]
    is_likely: bool = False


def other_walks(
    problem: Problem, role: str, tile: tuple[int, int, int] | None = None, has_steps: bool = True
) -> Iterator[Walk]:
    """Yield walks with other strides than the tensor's, or with other steps."""
    lengths = problem.tensors[role].lengths
    letters = problem.operation.diagnostics.letters(problem, role)
    of_axes = tuple(f"that of {letter}" for letter in letters)
    for text, strides in other_strides(problem, role, mixed=True):
        yield Walk(text, by_axis(lengths, strides), not text.split(" along ")[-1].partition(" ")[2].startswith(of_axes))
    if has_steps and problem.tensors[role].space <= MOST_STEPPED:
        yield from _other_steps(problem, role, tile)


def _other_steps(problem: Problem, role: str, tile: tuple[int, int, int] | None) -> Iterator[Walk]:
    """Yield walks of a pointer that moves by another stride than it should from block to block of an axis,
    or within each block.

    A kernel computes a first place with care and then adds a step, or reads a vector from there. From a tile to the
    next the stride is right.
    """
    names, letters = problem.operation.diagnostics.names(problem), problem.operation.diagnostics.letters(problem, role)
    tensor = problem.tensors[role]
    own = by_axis(tensor.lengths, tensor.strides)
    name = names.get(role, "D" if role == "d0" else role)
    for axis, (letter, length, right) in enumerate(zip(letters, tensor.lengths, tensor.strides, strict=False)):
        whose: dict[int, list[str]] = {}
        for words, stride in (*_stated(problem, role, axis), ("as if they were neighbours in memory", 1)):
            if stride != right:
                whose.setdefault(stride, []).append(words)
        at = np.arange(length, dtype=np.int64)
        for stride, owners in whose.items() if length > 1 else ():
            text = f"{name} is read with stride {stride} instead of {right}"
            for block in _blocks(problem, role, axis):
                words = f"{letter}: {format_list(owners[:MOST_NAMED], 'or')}"
                first = at // block * block
                walk = first * right + (at - first) * stride
                if block > 1:
                    there = f"{text} within each block of {block} {words}"
                    yield Walk(there, (*own[:axis], walk, *own[axis + 1 :]))
                for whole in (length, *(side for side in dict.fromkeys(tile or ()) if block < side < length)):
                    steps = at % whole // block * block
                    walk = (at - steps) * right + steps * stride
                    if stride != 1 and (block > 1 or whole < length):
                        there = f"{text} from one block of {block} to the next along {words}"
                        yield Walk(there, (*own[:axis], walk, *own[axis + 1 :]))


def _blocks(problem: Problem, role: str, axis: int) -> tuple[int, ...]:
    """Return lengths of blocks along an axis: powers of 2, and how often an axis of another tensor goes into it."""
    diagnostics, length = problem.operation.diagnostics, problem.tensors[role].lengths[axis]
    letter = diagnostics.letters(problem, role)[axis]
    blocks = [2**power for power in range(length.bit_length()) if 2**power < length]
    for other, tensor in problem.tensors.items():
        theirs = dict(zip(diagnostics.letters(problem, other), tensor.lengths, strict=False)).get(letter, length)
        blocks += [length // theirs] if 0 < theirs < length else []
    return tuple(dict.fromkeys(blocks))


def other_strides(problem: Problem, role: str, verb: str = "read", mixed: bool = False) -> Iterator[tuple[str, Index]]:
    """Yield strides that a kernel may take for those of a tensor, with words for the mistake.

    With ``mixed`` these may be those of another tensor, or packed ones, along all axes but one.
    """
    names, tensor = problem.operation.diagnostics.names(problem), problem.tensors[role]
    own = tensor.strides
    whose: dict[Index, list[str]] = {}
    candidates = _candidates(problem, role)
    for words, strides in chain(candidates, _but_for_one(problem, role)) if mixed else candidates:
        if strides != own and len(strides) == len(own):
            whose.setdefault(strides, []).append(words)
    for strides, owners in whose.items():
        text = f"{names.get(role, 'D' if role == 'd0' else role)} is {verb} with strides {strides} instead of {own}"
        yield f"{text}: {format_list(list(dict.fromkeys(owners))[:MOST_NAMED], 'or')}", strides


def _candidates(problem: Problem, role: str) -> Iterator[tuple[str, Index]]:
    """Yield strides with words for whose they are, first those of all axes, then those of one."""
    letters, own = problem.operation.diagnostics.letters(problem, role), problem.tensors[role].strides
    tensor = problem.tensors[role]
    for name, theirs in _strides_of_others(problem, role).items():
        yield f"those of {name}", tuple(theirs.get(letter, by) for letter, by in zip(letters, own, strict=False))
    yield "packed ones", _packed(tensor)
    long = [axis for axis, length in enumerate(tensor.lengths) if length > 1 and own[axis]]
    for a, b in combinations(long, 2):
        yield f"packed ones with {letters[a]} and {letters[b]} in each other's place", _packed(tensor, (a, b))
    for axis, letter in enumerate(letters[: len(own)]):
        if tensor.lengths[axis] < 2:
            continue
        stated = [*_stated(problem, role, axis)]
        stated += [(f"that of {letters[b]}", own[b]) for b in range(len(own)) if b != axis]
        for words, stride in stated:
            yield f"along {letter} {words}", (*own[:axis], stride, *own[axis + 1 :])


def _but_for_one(problem: Problem, role: str) -> Iterator[tuple[str, Index]]:
    """Yield strides of which one axis has its own: a kernel adds the place along that axis by itself."""
    letters, tensor = problem.operation.diagnostics.letters(problem, role), problem.tensors[role]
    own = tensor.strides
    for axis, letter in enumerate(letters[: len(own)]):
        if tensor.lengths[axis] < 2:
            continue
        for name, theirs in _strides_of_others(problem, role).items():
            others = tuple(theirs.get(one, by) for one, by in zip(letters, own, strict=False))
            yield f"those of {name} but for {letter}", (*others[:axis], own[axis], *others[axis + 1 :])
        rest = replace(tensor, lengths=(*tensor.lengths[:axis], 1, *tensor.lengths[axis + 1 :]))
        packed = _packed(rest)
        yield f"packed ones of one {letter}", (*packed[:axis], own[axis], *packed[axis + 1 :])


def _strides_of_others(problem: Problem, role: str) -> dict[str, dict[str, int]]:
    """Return the strides of the other tensors by the letters of their axes, first of those like it."""
    diagnostics = problem.operation.diagnostics
    names, own = diagnostics.names(problem), diagnostics.letters(problem, role)
    outputs = problem.outputs
    alike = sorted(
        problem.tensors.items(),
        key=lambda one: (diagnostics.letters(problem, one[0]) != own, (one[0] in outputs) != (role in outputs)),
    )
    return {
        names.get(other, "D" if other == "d0" else other): dict(
            zip(diagnostics.letters(problem, other), one.strides, strict=False)
        )
        for other, one in alike
        if other != role
    }


def _stated(problem: Problem, role: str, axis: int) -> Iterator[tuple[str, int]]:
    """Yield strides that one axis may be taken to have, with words: another tensor's, a packed one, or a neighbour's
    stride times or over a length, which is right where nothing has gaps."""
    tensor, letters = problem.tensors[role], problem.operation.diagnostics.letters(problem, role)
    own, letter = tensor.strides, letters[axis]
    for name, theirs in _strides_of_others(problem, role).items():
        if letter in theirs:
            yield f"that of {name}", theirs[letter]
    yield "a packed one", _packed(tensor)[axis]
    within = [b for b in range(len(own)) if 0 < own[b] < own[axis] and tensor.lengths[b] > 1]
    around = [b for b in range(len(own)) if own[b] > own[axis] > 0 and tensor.lengths[b] > 1]
    if within:
        inner = max(within, key=lambda b: own[b])
        yield f"that of {letters[inner]} times its {tensor.lengths[inner]}", own[inner] * tensor.lengths[inner]
    if around:
        outer = min(around, key=lambda b: own[b])
        yield f"that of {letters[outer]} over {tensor.lengths[axis]}", own[outer] // tensor.lengths[axis]


def _packed(tensor: Tensor, exchanged: tuple[int, int] = (0, 0)) -> Index:
    """Return the strides without gaps, of the axes in the order that they have in memory, but for two."""
    order = sorted(range(len(tensor.strides)), key=lambda axis: (tensor.strides[axis], tensor.lengths[axis]))
    first, second = (order.index(axis) for axis in exchanged)
    order[first], order[second] = order[second], order[first]
    strides, step = [0] * len(order), 1
    for axis in order:
        strides[axis] = step if tensor.strides[axis] else 0
        step *= tensor.lengths[axis] if tensor.strides[axis] else 1
    return tuple(strides)


def _memory(tensor: Tensor, array: Array) -> Array:
    """Return the tensor's memory, with the pattern in its gaps."""
    memory = np.full(tensor.space * array.dtype.itemsize, GAP_PATTERN, np.uint8).view(array.dtype)
    memory[offsets(tensor.lengths, tensor.strides)] = array
    return memory


def _read(memory: Read, along: Sequence[Array]) -> Array:
    """Return what is read at these places, by axis; NaN, or the pattern, beyond the end."""
    held, places = memory(), places_along(along)
    beyond = np.full(held.dtype.itemsize, GAP_PATTERN, np.uint8).view(held.dtype)[0]
    inside = (places >= 0) & (places < held.size)
    return np.asarray(np.where(inside, held[np.where(inside, places, 0)], beyond))


def read_as(tensor: Tensor, array: Array, other: Dtype) -> tuple[Array, Array] | None:
    """Return a tensor's memory read as elements of another type, and which of them are in it; None if few are."""
    if tensor.space > MOST_CELLS or array.shape != tensor.lengths:
        return None
    memory = _memory(tensor, array).view(np.uint8)
    held = memory[: memory.size // other.bytes * other.bytes].view(other.numpy)
    places = offsets(tensor.lengths, tensor.strides)
    is_inside = places < held.size
    if 2 * np.count_nonzero(is_inside) < is_inside.size:
        return None
    return held[np.where(is_inside, places, 0)], is_inside
