"""Rules that recompute wrong cells of a convolution as known defects would: operation, window, slices, operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

from bitgate.model.finding import Finding
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.starts import start_mistakes
from bitgate.ops.convolution.rules.sums import gemm_terms, terms
from bitgate.ops.convolution.rules.window import bounds_mistakes, carry_mistakes, window_mistakes
from bitgate.verify.diagnose.layouts import layout_mistakes
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed, explained_by
from bitgate.verify.diagnose.operations import operand_mistakes, operation_mistakes
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.slices import lane_mistakes, part_finding, slice_edges, slice_mistakes, step_mistakes
from bitgate.verify.diagnose.sums import Floats, Index, applied_to

MOST_LAST = 8
"""At most this many last indices are tried together."""
ENDS = 3
"""First and last indices of each axis of the products that are tried."""


def mistaken(scene: Scene[ConvProblem]) -> Finding | None:
    """Find the defect that gives every recomputed wrong cell."""
    if not scene.inputs:
        return None
    known = Recomputed(scene, terms)
    return explained_by(
        known,
        chain(
            operation_mistakes(known),
            window_mistakes(known),
            _slices(known),
            start_mistakes(known),
            _lost_indices(known),
            carry_mistakes(known),
            step_mistakes(known, _flat(known), scene.tile[2], scene.split_k) if scene.tile is not None else (),
            lane_mistakes(known, _flat(known), "terms of the GEMM's K"),
            operand_mistakes(known),
            layout_mistakes(known),
            bounds_mistakes(known),
        ),
    )


def missing_part(scene: Scene[ConvProblem]) -> Finding | None:
    """Find one contiguous part of the GEMM's K that is missing, or counted twice."""
    if not scene.inputs or scene.problem.reduction < 2:
        return None
    known = Recomputed(scene, terms)
    what = {Pass.FWD: "taps * C", Pass.BWD_DATA: "taps * K", Pass.BWD_WEIGHT: "N * outputs"}[scene.problem.direction]
    kind = "split_slice" if scene.problem.is_split else "k_tail"
    return part_finding(known, _flat(known), f"terms of the GEMM's K = {what}", kind)


def _flat(known: Recomputed[ConvProblem]) -> Callable[[Index], Floats]:
    return lambda cell: gemm_terms(known.scene.problem, known.products(cell), cell)


def _slices(known: Recomputed[ConvProblem]) -> Iterator[Mistake]:
    """Yield mistakes of slices; backward data cuts each tap's channels into steps, which ``split_slice`` knows."""
    scene = known.scene
    problem = scene.problem
    if scene.split_k < 2 or scene.tile is None or problem.direction is not Pass.BWD_WEIGHT:
        return
    edges = slice_edges(problem.reduction, scene.tile[2], scene.split_k)
    yield from slice_mistakes(known, _flat(known), edges, scene.tile[2], "group")


def _lost_indices(known: Recomputed[ConvProblem]) -> Iterator[Mistake]:
    """Yield mistakes that leave out all products of one index: a row of outputs, a column of taps, an image."""
    problem = known.scene.problem
    space = "dhw"[-problem.ndim :]
    names = [f"output {letter}" for letter in space]
    if problem.direction is not Pass.BWD_WEIGHT:
        names = [f"filter coordinate {letter}" for letter in space]
    lengths = problem.output if problem.direction is Pass.BWD_WEIGHT else problem.filter
    first = {Pass.FWD: ("c", problem.c), Pass.BWD_DATA: ("k", problem.k), Pass.BWD_WEIGHT: ("image", problem.n)}
    name, length = first[problem.direction]
    for axis, (word, size) in enumerate(((name, length), *zip(names, lengths, strict=True))):
        if size < 2:
            continue
        single = [(index,) for index in dict.fromkeys((*range(min(size, ENDS)), *range(max(0, size - ENDS), size)))]
        several = [tuple(range(size - count, size)) for count in range(2, min(size, MOST_LAST + 1))]
        for lost in (*single, *several):
            which = f"{word} {lost[0]}" if len(lost) == 1 else f"the last {len(lost)}"
            plural = "" if len(lost) == 1 else f" values of {word}"
            text = f"the products of {which} of {size}{plural} are missing from the sums"
            kind = "k_tail" if axis == 0 and lost[-1] == size - 1 else "other"
            yield Mistake(text, kind, partial(_without, known, axis, lost), evidence={"axis": word, "lost": list(lost)})


def _without(known: Recomputed[ConvProblem], axis: int, lost: tuple[int, ...], cell: Index) -> float:
    """Return what a cell holds without the products of some indices along an axis."""
    problem, products = known.scene.problem, known.products(cell)
    total = products.sum() - np.take(products, lost, axis).sum()
    return float(applied_to(problem.op, np.asarray(total), known.d(cell) if problem.op.num_d else 0.0))
