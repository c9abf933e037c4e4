"""Mistakes of layouts: a tensor that is read with other strides, those of another tensor, another axis, or packed ones.

Memory between rows counts as it is: a kernel that reads it gets the pattern that bitgate puts there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial

import numpy as np

from bitgate.model import Problem, Tensor
from bitgate.model.host_tensor import GAP_PATTERN
from bitgate.numerics.bits import Array
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed
from bitgate.verify.diagnose.operations import MOST_CELLS
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Index, S, applied_to

MOST_NAMED = 2

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
        for text, strides in other_strides(problem, role):
            read = lru_cache(partial(_read, memory, tensor.lengths, strides))
            if role == "d0":

                def value(cell: Index, read: Read = read) -> float:
                    return float(applied_to(op, np.array(known.sum(cell)), float(read()[cell])))

                yield Mistake(text, "epilogue", value, evidence={"operand": role, "strides": list(strides)})
                continue

            def of(cell: Index, role: str = role, read: Read = read) -> float:
                total = known.terms(problem, {**scene.inputs, role: read()}, cell).sum()
                return float(applied_to(op, np.asarray(total), known.d(cell) if op.num_d else 0.0))

            yield Mistake(text, "operand", of, evidence={"operand": role, "strides": list(strides)})


def read_otherwise(scene: Scene[Problem], *roles: str) -> Iterator[tuple[str, str, Array]]:
    """Yield a role, words, and what a kernel reads of that operand with other strides, as numbers of f64.

    Those that lead beyond the end of the tensor's memory are left out: such a kernel crashes.
    """
    for role in roles:
        array, tensor = np.asarray(scene.inputs[role]), scene.problem.tensors[role]
        if tensor.space > MOST_CELLS or array.shape != tensor.lengths:
            continue
        memory = lru_cache(partial(_memory, tensor, array))
        for text, strides in other_strides(scene.problem, role):
            if offsets(tensor.lengths, strides).max() < tensor.space:
                yield role, text, _read(memory, tensor.lengths, strides).astype(np.float64)


def other_strides(problem: Problem, role: str, verb: str = "read") -> Iterator[tuple[str, Index]]:
    """Yield strides that a kernel may take for those of a tensor, with words for the mistake."""
    names, tensor = problem.operation.diagnostics.names(problem), problem.tensors[role]
    own = tensor.strides
    whose: dict[Index, list[str]] = {}
    for words, strides in _candidates(problem, role):
        if strides != own and len(strides) == len(own):
            whose.setdefault(strides, []).append(words)
    for strides, owners in whose.items():
        text = f"{names.get(role, 'D' if role == 'd0' else role)} is {verb} with strides {strides} instead of {own}"
        yield f"{text}: {format_list(list(dict.fromkeys(owners))[:MOST_NAMED], 'or')}", strides


def _candidates(problem: Problem, role: str) -> Iterator[tuple[str, Index]]:
    """Yield strides with words for whose they are, first those of all axes, then those of one."""
    diagnostics, tensor = problem.operation.diagnostics, problem.tensors[role]
    names, letters, own = diagnostics.names(problem), diagnostics.letters(problem, role), tensor.strides
    packed = _packed(tensor)
    others = {
        names.get(other, "D" if other == "d0" else other): dict(
            zip(diagnostics.letters(problem, other), one.strides, strict=False)
        )
        for other, one in problem.tensors.items()
        if other != role
    }
    for name, theirs in others.items():
        yield f"those of {name}", tuple(theirs.get(letter, by) for letter, by in zip(letters, own, strict=False))
    yield "packed ones", packed
    for axis, letter in enumerate(letters[: len(own)]):
        if tensor.lengths[axis] < 2:
            continue
        stated = [(f"that of {name}", theirs[letter]) for name, theirs in others.items() if letter in theirs]
        stated += [("a packed one", packed[axis])]
        stated += [(f"that of {letters[b]}", own[b]) for b in range(len(own)) if b != axis]
        for words, stride in stated:
            yield f"along {letter} {words}", (*own[:axis], stride, *own[axis + 1 :])


def _packed(tensor: Tensor) -> Index:
    """Return the strides without gaps, of the axes in the order that they have in memory."""
    order = sorted(range(len(tensor.strides)), key=lambda axis: (tensor.strides[axis], tensor.lengths[axis]))
    strides, step = [0] * len(order), 1
    for axis in order:
        strides[axis] = step if tensor.strides[axis] else 0
        step *= tensor.lengths[axis] if tensor.strides[axis] else 1
    return tuple(strides)


def offsets(lengths: Index, strides: Index) -> Array:
    """Return the place of each cell in memory, in elements."""
    places = np.zeros(lengths, np.int64)
    for axis, (length, stride) in enumerate(zip(lengths, strides, strict=True)):
        along = np.arange(length, dtype=np.int64) * stride
        places += along.reshape([-1 if a == axis else 1 for a in range(len(lengths))])
    return places


def _memory(tensor: Tensor, array: Array) -> Array:
    """Return the tensor's memory, with the pattern in its gaps."""
    memory = np.full(tensor.space * array.dtype.itemsize, GAP_PATTERN, np.uint8).view(array.dtype)
    memory[offsets(tensor.lengths, tensor.strides)] = array
    return memory


def _read(memory: Read, lengths: Index, strides: Index) -> Array:
    """Return what is read with these strides; NaN, or the pattern, beyond the end."""
    held, places = memory(), offsets(lengths, strides)
    beyond = np.full(held.dtype.itemsize, GAP_PATTERN, np.uint8).view(held.dtype)[0]
    inside = (places >= 0) & (places < held.size)
    return np.asarray(np.where(inside, held[np.where(inside, places, 0)], beyond))
