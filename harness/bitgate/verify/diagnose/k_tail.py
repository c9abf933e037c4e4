"""The end of the reduction is missing from the sums: channels that do not fill a vector or a K block (#12089)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.problem import ConvProblem, Pass
from bitgate.verify.compare import Array, bits_of
from bitgate.verify.diagnose.scene import Finding, Role, Scene
from bitgate.verify.diagnose.terms import Floats, finish, terms

CELLS = 48
LONGEST = 256
"""Longest tail that is tried, in terms of the reduction."""
TERMS = 4_000_000
"""Products that the rule computes at most, over all sampled cells."""


def k_tail(scene: Scene) -> Finding | None:
    if not scene.inputs:
        return None
    for order, words, length in _lengths(scene.problem):
        missing = _common_tail(scene, order)
        if missing:
            evidence = {"missing": missing, "of": length, "order": order}
            text = _sentence(missing, words, length)
            return Finding("k_tail", Role.CAUSE, 0.97, text, evidence, frozenset({"other", "zero"}))
    return None


def _sentence(missing: int, what: str, length: int) -> str:
    vector = next((v for v in (64, 32, 16, 8, 4, 2) if v < length and length % v == missing), None)
    why = f" ({length} mod {vector} = {missing})" if vector else ""
    return f"the last {missing} of {length} {what} are missing from the sums of the wrong cells{why}"


def _common_tail(scene: Scene, order: str) -> int | None:
    """The one tail length that explains every sampled wrong cell, None if there is none."""
    candidates: NDArray[np.bool_] | None = None
    limit = max(4, min(CELLS, TERMS // max(1, scene.problem.reduction)))
    for cell in scene.sample(limit):
        matches = _tails(scene, cell, order)
        candidates = matches if candidates is None else _both(candidates, matches)
        if not candidates.any():
            return None
    if candidates is None:
        return None
    return int(candidates.argmax()) + 1


def _both(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    shorter = min(first.size, second.size)
    return np.asarray(first[:shorter] & second[:shorter])


def _tails(scene: Scene, cell: tuple[int, ...], order: str) -> NDArray[np.bool_]:
    """For r = 1, 2, ...: is the cell the sum without the last r terms? Never of none that counts: that is just zero."""
    true = scene.true_cell(cell)
    sequence = _sequence(scene.problem, terms(scene.problem, scene.inputs, true), true, order)
    longest = min(LONGEST, sequence.size - 1)
    whole = sequence.sum()
    without = whole - np.cumsum(sequence[::-1])[:longest]
    bits = finish(scene.problem, scene.inputs, true, without)
    found: Array = bits_of(scene.result[cell].reshape(1))
    left = np.count_nonzero(sequence) - np.cumsum(sequence[::-1] != 0)[:longest]
    return np.asarray((bits == found[0]) & (left > 0))


def _sequence(problem: ConvProblem, products: Floats, cell: tuple[int, ...], order: str) -> Floats:
    """The products as the GEMM's K runs over them, or summed per reduction channel."""
    if order == "channel":
        return np.asarray(products.sum(axis=tuple(range(1, products.ndim))))
    if problem.direction is Pass.BWD_DATA:
        products = _class_only(problem, products, cell)
    if problem.direction is Pass.BWD_WEIGHT:
        return products.reshape(-1)
    return np.moveaxis(products, 0, -1).reshape(-1)


def _class_only(problem: ConvProblem, products: Floats, cell: tuple[int, ...]) -> Floats:
    """The products of the filter taps of the cell's sub-GEMM, whose GEMM K is shorter than the whole filter."""
    for axis, x in enumerate(cell[3:]):
        f = np.arange(problem.filter[axis])
        mine = (x + problem.left_pad[axis] - f * problem.dilation[axis]) % problem.stride[axis] == 0
        products = np.compress(mine, products, axis=axis + 1)
    return products


def _lengths(problem: ConvProblem) -> tuple[tuple[str, str, int], ...]:
    """The orders in which a reduction may lose its end: (order, in words, length), the simpler one first."""
    if problem.direction is Pass.BWD_WEIGHT:
        return (("flat", "terms of the GEMM's K = N * outputs", problem.reduction),)
    if problem.operation is Pass.GEMM:
        return (("channel", "terms of K", problem.c),)
    letter, channels = ("K", problem.k) if problem.direction is Pass.BWD_DATA else ("C", problem.c)
    return (
        ("channel", f"channels of {letter}", channels),
        ("flat", f"terms of the GEMM's K = taps * {letter}", problem.reduction),
    )
