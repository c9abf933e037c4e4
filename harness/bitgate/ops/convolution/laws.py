"""Laws of a convolution.

It is linear in either operand; groups, images and channels may be put in another order or cut into parts that are
computed apart; the three passes are adjoint to each other; and a strided convolution is the dense one of which some
outputs are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.law import LINEAR, Axis, Data, KernelFunction, Law, Pair, cut, resized, turned
from bitgate.ops.convolution.problem import ConvProblem, Pass

AXES = tuple(
    Axis(letter, noun, places, resized(letter), apart=letter == "g")
    for letter, noun, places in (
        ("g", "groups", {"in": 0, "wei": 0, "out": 0}),
        ("n", "images", {"in": 1, "out": 1}),
        ("k", "channels k", {"wei": 1, "out": 2}),
        ("c", "channels c", {"in": 2, "wei": 2}),
    )
)


# ---- the three passes


def passes(problem: ConvProblem) -> tuple[ConvProblem, ...]:
    """Return the same layer in each pass."""
    return tuple(in_pass(problem, direction) for direction in Pass)


def in_pass(problem: ConvProblem, direction: Pass) -> ConvProblem:
    """Return the same layer in one pass."""
    return problem if problem.direction is direction else problem.changed(direction=direction)


def _adjoint(problem: ConvProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield both sides of <dx, x> = <dy, y> = <dw, w>.

    Here dx = bwd_data(dy, w), y = fwd(x, w) and dw = bwd_weight(x, dy).
    """
    own = np.sum(kernel(problem, data) * data[problem.result])
    for other in passes(problem):
        partner = kernel.partner(other) if other is not problem else None
        if partner is not None:
            theirs = np.sum(partner(other, data) * data[other.result])
            yield f"adjoint of {partner.name}", np.asarray(own), np.asarray(theirs)


def _has_adjoint(problem: ConvProblem, kernel: KernelFunction) -> bool:
    return any(kernel.partner(other) for other in passes(problem) if other is not problem)


# ---- stride


def _dense(problem: ConvProblem) -> ConvProblem:
    return replace(problem, stride=(1,) * problem.ndim)


def _subsampled(problem: ConvProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    dense = _dense(problem)
    every: Any = (..., *(slice(0, (o - 1) * s + 1, s) for o, s in zip(problem.output, problem.stride, strict=True)))
    result = kernel(problem, data)
    if problem.direction is Pass.FWD:
        yield "outputs of stride 1, some left out", result, kernel(dense, data)[every]
        return
    spread = np.zeros(dense.tensors["out"].lengths)
    spread[every] = data["out"]
    yield "dy of stride 1, zero in between", result, kernel(dense, {**data, "out": spread})


def _is_strided(problem: ConvProblem, kernel: KernelFunction) -> bool:
    return problem.strided and kernel.takes(_dense(problem))


LAWS: tuple[Law, ...] = (
    LINEAR,
    *map(turned, AXES),
    *map(cut, AXES),
    Law("adjoint", "<bwd_data(dy, w), x> = <dy, fwd(x, w)> = <bwd_weight(x, dy), w>", _has_adjoint, _adjoint),
    Law("subsampled", "stride s is stride 1 with outputs left out", _is_strided, _subsampled),
)
