"""The laws. Each takes a kernel and data and yields pairs that must be equal; none knows what the right result is.

A convolution is linear in either operand; groups, images and channels may be put in another order or cut into parts
that are computed apart; the three passes are adjoint to each other; and a strided convolution is the dense one of
which some outputs are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bitgate.metamorphic.data import Cells, Data, replaced
from bitgate.metamorphic.kernel import PASSES, Kernel
from bitgate.operations.convolution import ConvProblem, Pass

AXES = {
    "g": {"in": 0, "wei": 0, "out": 0},
    "n": {"in": 1, "out": 1},
    "k": {"wei": 1, "out": 2},
    "c": {"in": 2, "wei": 2},
}
"""Where a letter of G, N, K, C stands in the logical order of each tensor."""

GEMM_SIZES = {"g": "batch", "n": "m", "k": "n", "c": "k"}
"""What the same axes are called in a GEMM."""

NAMES = {"g": "groups", "n": "images", "k": "channels k", "c": "channels c"}

Pair = tuple[str, Cells, Cells]
"""What is compared, and both sides of it."""


@dataclass(frozen=True)
class Law:
    """``applies`` says whether there is anything to try on a problem; ``sides`` tries it."""

    name: str
    words: str
    applies: Callable[[ConvProblem, Kernel], bool]
    sides: Callable[[ConvProblem, Kernel, Data], Iterator[Pair]]


# ---- linearity


def _linear(problem: ConvProblem, kernel: Kernel, data: Data) -> Iterator[Pair]:
    for name in problem.operands:
        other = np.roll(data[name], 1, axis=-1)[..., ::-1]
        both = kernel(problem, {**data, name: data[name] + other})
        yield f"sum of two {name}", both, kernel(problem, data) + kernel(problem, {**data, name: other})


# ---- order of groups, images and channels


def _turned(letter: str) -> Callable[[ConvProblem, Kernel, Data], Iterator[Pair]]:
    def sides(problem: ConvProblem, kernel: Kernel, data: Data) -> Iterator[Pair]:
        axes = AXES[letter]
        turned = {name: np.flip(cells, axes[name]) if name in axes else cells for name, cells in data.items()}
        result = kernel(problem, data)
        expected = np.flip(result, axes[problem.result]) if problem.result in axes else result
        yield f"{NAMES[letter]} in reverse order", kernel(problem, turned), expected

    return sides


def _several(letter: str) -> Callable[[ConvProblem, Kernel], bool]:
    return lambda problem, _: _length(problem, letter) > 1


# ---- parts computed apart


def _parts(problem: ConvProblem, letter: str, kernel: Kernel) -> tuple[int, ...]:
    """Lengths of parts that the kernel takes: single groups, else two parts as equal as vectors allow; () if none."""
    whole = _length(problem, letter)
    lengths: list[tuple[int, ...]]
    if letter == "g":
        lengths = [(1,) * whole]
    else:
        lengths = [(cut, whole - cut) for cut in sorted(range(1, whole), key=lambda cut: abs(2 * cut - whole))]
    for parts in lengths:
        if all(kernel.takes(_with(problem, letter, part)) for part in set(parts)):
            return parts
    return ()


def _with(problem: ConvProblem, letter: str, length: int) -> ConvProblem:
    changes: dict[str, Any] = {letter if problem.ndim else GEMM_SIZES[letter]: length}
    return replace(problem, **changes)


def _length(problem: ConvProblem, letter: str) -> int:
    length: int = getattr(problem, letter if problem.ndim else GEMM_SIZES[letter])
    return length


def _cut(letter: str) -> Callable[[ConvProblem, Kernel, Data], Iterator[Pair]]:
    def sides(problem: ConvProblem, kernel: Kernel, data: Data) -> Iterator[Pair]:
        axes, at, results = AXES[letter], 0, []
        for length in _parts(problem, letter, kernel):
            part = {
                name: np.take(cells, range(at, at + length), axes[name]) if name in axes else cells
                for name, cells in data.items()
            }
            results.append(kernel(_with(problem, letter, length), part))
            at += length
        is_cut = problem.result in axes
        joined = np.concatenate(results, axes[problem.result]) if is_cut else np.sum(results, axis=0)
        yield f"parts of the {NAMES[letter]}", kernel(problem, data), joined

    return sides


def _divisible(letter: str) -> Callable[[ConvProblem, Kernel], bool]:
    return lambda problem, kernel: _length(problem, letter) > 1 and bool(_parts(problem, letter, kernel))


# ---- the three passes


def _adjoint(problem: ConvProblem, kernel: Kernel, data: Data) -> Iterator[Pair]:
    """<dx, x> = <dy, y> = <dw, w> for dx = bwd_data(dy, w), y = fwd(x, w), dw = bwd_weight(x, dy)."""
    own = np.sum(kernel(problem, data) * data[problem.result])
    for direction in PASSES:
        other = replaced(problem, direction)
        partner = kernel.partner(other) if direction is not problem.direction else None
        if partner is not None:
            theirs = np.sum(partner(other, data) * data[other.result])
            yield f"adjoint of {partner.family.name}.{partner.instance.name}", np.asarray(own), np.asarray(theirs)


def _has_adjoint(problem: ConvProblem, kernel: Kernel) -> bool:
    others = [replaced(problem, direction) for direction in PASSES if direction is not problem.direction]
    return problem.ndim > 0 and any(kernel.partner(other) for other in others)


# ---- stride


def _dense(problem: ConvProblem) -> ConvProblem:
    return replace(problem, stride=(1,) * problem.ndim)


def _subsampled(problem: ConvProblem, kernel: Kernel, data: Data) -> Iterator[Pair]:
    dense = _dense(problem)
    every: Any = (..., *(slice(0, (o - 1) * s + 1, s) for o, s in zip(problem.output, problem.stride, strict=True)))
    result = kernel(problem, data)
    if problem.direction is Pass.FWD:
        yield "outputs of stride 1, some left out", result, kernel(dense, data)[every]
        return
    spread = np.zeros(dense.tensors["out"].lengths)
    spread[every] = data["out"]
    yield "dy of stride 1, zero in between", result, kernel(dense, {**data, "out": spread})


def _is_strided(problem: ConvProblem, kernel: Kernel) -> bool:
    return problem.strided and kernel.takes(_dense(problem))


LAWS: tuple[Law, ...] = (
    Law("linear", "f(a + a', b) = f(a, b) + f(a', b)", lambda *_: True, _linear),
    *(
        Law(f"turned_{letter}", f"{NAMES[letter]} may be put in another order", _several(letter), _turned(letter))
        for letter in AXES
    ),
    *(
        Law(f"cut_{letter}", f"{NAMES[letter]} may be computed in parts", _divisible(letter), _cut(letter))
        for letter in AXES
    ),
    Law("adjoint", "<bwd_data(dy, w), x> = <dy, fwd(x, w)> = <bwd_weight(x, dy), w>", _has_adjoint, _adjoint),
    Law("subsampled", "stride s is stride 1 with outputs left out", _is_strided, _subsampled),
)
