"""The end of the reduction is missing from the sums: channels that do not fill a vector or a K block (#12089)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitgate.operations.convolution import ConvProblem, Pass
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
    """The one tail length that explains every sampled wrong cell, None if there is none.

    A cell that is just zero without its tail agrees, and tells nothing: half of the cells must tell.
    """
    agree = np.ones(LONGEST, np.bool_)
    telling = np.zeros(LONGEST, np.int64)
    seen = 0
    limit = max(4, min(CELLS, TERMS // max(1, scene.problem.reduction)))
    for cell in scene.sample(limit):
        matches, left = _tails(scene, cell, order)
        size = min(agree.size, matches.size)  # the cells' sums may be of different lengths
        agree = agree[:size] & matches[:size]
        telling = telling[:size] + left[:size]
        seen += 1
        if not agree.any():
            return None
    agree &= 2 * telling >= seen
    return int(agree.argmax()) + 1 if seen and agree.any() else None


def _tails(scene: Scene, cell: tuple[int, ...], order: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For r = 1, 2, ...: is the cell the sum without the last r terms, and is any non-zero one left?"""
    true = scene.true_cell(cell)
    products = terms(scene.problem, scene.inputs, true)
    sequence = _by_channel(products) if order == "channel" else gemm_terms(scene.problem, products, true)
    longest = min(LONGEST, sequence.size - 1)
    whole = sequence.sum()
    without = whole - np.cumsum(sequence[::-1])[:longest]
    bits = finish(scene.problem, scene.inputs, true, without)
    found: Array = bits_of(scene.result[cell].reshape(1))
    left = np.count_nonzero(sequence) - np.cumsum(sequence[::-1] != 0)[:longest]
    return np.asarray(bits == found[0]), np.asarray(left > 0)


def _by_channel(products: Floats) -> Floats:
    return np.asarray(products.sum(axis=tuple(range(1, products.ndim))))


def gemm_terms(problem: ConvProblem, products: Floats, cell: tuple[int, ...]) -> Floats:
    """The products as the GEMM's K runs over them: the taps of the cell's sub-GEMM, and the channels of each."""
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
    if problem.operation.name == "gemm":
        return (("channel", "terms of K", problem.c),)
    letter, channels = ("K", problem.k) if problem.direction is Pass.BWD_DATA else ("C", problem.c)
    return (
        ("channel", f"channels of {letter}", channels),
        ("flat", f"terms of the GEMM's K = taps * {letter}", problem.reduction),
    )
