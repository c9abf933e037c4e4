"""The solved list of offsets: a small problem for each stride of each tensor, which padding takes beyond 2^32 elements.

A product of an index and a stride in 32 bits is wrong only there. Padding takes the stride so far while the data stay
tiny: their digest is that of the packed problem, and the device fills, launches and judges within a second. The host
has memory for the data alone (model/memory_runs.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from bitgate.core.choices import REGRESSION
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem, ProblemError, Tensor, case_id
from bitgate.model.fill import DEFAULT
from bitgate.model.gap import Gap, packed
from bitgate.model.problem import MAX_LENGTH, held_bytes
from bitgate.numerics.certificate import has_products
from bitgate.numerics.fill import is_stored, plan_fill
from bitgate.runtime.tools import can_fill
from bitgate.suite.solved_list import HOST, SolvedCase
from bitgate.tools.tiers.cost import CostModel
from bitgate.tools.tiers.pool import CandidatePool, PoolCase, subjects_of
from bitgate.tools.tiers.request import OffsetRequest

LIMIT = 2**32
STEP = 16
"""Gaps are whole steps, such that the widest vectors stay aligned."""
LARGE_BYTES = 1 << 28
"""Bytes of an operand from which the host may not make it: that takes seconds, and as much memory."""
MOST_DATA = 32 << 20
"""Bytes of a problem without its padding, at most: the host makes them too."""
FEWEST = 3
"""Rows of an axis, at least: the second of two alone has an offset, and its stride would be out of a gap's range."""

Place = tuple[str, int, bool, int]
"""An offset's tensor and axis, whether the kernel copies tensors to another layout first, and its lanes a wave."""


@dataclass(frozen=True)
class _Offer:
    """A case for a place; the least is taken: of the fewest GiB, and among these any."""

    gib: int
    draw: bytes
    line: SolvedCase

    @property
    def rank(self) -> tuple[int, bytes]:
        return self.gib, self.draw


def solve_offsets(
    request: OffsetRequest, families: Mapping[str, KernelFamily], progress: Callable[[str], None]
) -> list[SolvedCase]:
    """Return a case for each place of each family and operation, on the instances that the host has too."""
    lines: list[SolvedCase] = []
    for family, operation in subjects_of(request, families):
        best: dict[Place, _Offer] = {}
        for case in CandidatePool(family, operation, CostModel(), float("inf")).drawn(request.pool, request.seed):
            for place, offer in _offers(case, request.offsets << 30) if not case.refused else ():
                if place not in best or offer.rank < best[place].rank:
                    best[place] = offer
        progress(f"{family.name} {operation}: {len(best)} offsets beyond 2^32 elements")
        lines += _in_tiers(best)
    return lines


def _in_tiers(best: Mapping[Place, _Offer]) -> Iterator[SolvedCase]:
    """Yield the lines: one for each axis of each tensor is smoke on the host, where it takes no more than its data."""
    known: set[tuple[str, int]] = set()
    for (tensor, axis, *_), offer in best.items():
        yield replace(offer.line, tier=REGRESSION if (tensor, axis) in known else HOST)
        known.add((tensor, axis))


def _offers(case: PoolCase, most_bytes: int) -> Iterator[tuple[Place, _Offer]]:
    problem: Any = case.problem
    if not hasattr(problem, "gap_orders"):
        return
    bare = packed(problem)
    if sum(tensor.bytes for tensor in bare.tensors.values()) > MOST_DATA:
        return
    for tensor, order in bare.gap_orders.items():
        for letter in order[1:]:
            for axis, gapped in _stretched(bare, tensor, letter, most_bytes):
                offer = _offer(gapped, replace(case, problem=bare, fill=DEFAULT), f"{tensor} after {letter}")
                if offer is not None:
                    predicted = case.kernel.prediction(bare)
                    copies = predicted is not None and predicted.transposes > 0
                    yield (tensor, axis, copies, case.kernel.instance.wave_size), offer


def _stretched(bare: Any, tensor: str, letter: str, most_bytes: int) -> Iterator[tuple[int, Problem]]:
    """Yield the axis whose stride a gap after the rows of ``letter`` sets, and the problem with that gap."""
    try:
        probe = replace(bare, gaps=(Gap(tensor, letter, STEP),))
    except ProblemError:
        return
    dense, padded = _changed(bare, probe)
    for axis, (length, before, after) in enumerate(zip(dense.lengths, dense.strides, padded.strides, strict=True)):
        if after - before != STEP or length < FEWEST:
            continue
        gap = min(-(-(LIMIT // (length - 1) + before) // STEP), MAX_LENGTH // STEP) * STEP
        if (length - 1) * (before + gap) <= LIMIT or _rows(dense, axis) * gap * dense.dtype.bytes > most_bytes:
            continue
        problem: Problem = replace(bare, gaps=(Gap(tensor, letter, gap),))
        if held_bytes(problem) <= most_bytes:
            yield axis, problem


def _changed(bare: Problem, probe: Problem) -> tuple[Tensor, Tensor]:
    """Return the tensor that has a gap in ``probe``, without it and with it."""
    pairs = ((one, probe.tensors[name]) for name, one in bare.tensors.items())
    return next(((one, other) for one, other in pairs if one.strides != other.strides))


def _rows(tensor: Tensor, axis: int) -> int:
    """Return the number of gaps that the axis and those outside it have in memory."""
    rows = tensor.lengths[axis]
    for length, stride in zip(tensor.lengths, tensor.strides, strict=True):
        if stride > tensor.strides[axis]:
            rows *= length
    return rows - 1


def _offer(problem: Problem, case: PoolCase, what: str) -> _Offer | None:
    kernel: Kernel = case.kernel
    if not is_stored(problem, case.fill) or not has_products(problem) or not _is_made_on_gpu(problem, case):
        return None
    if kernel.refusal(problem) is not None:
        return None
    name = case_id(problem)
    line = SolvedCase(
        REGRESSION, name, kernel.name, case.fill, kernel.options, why=f"{what}: offsets beyond 2^32 elements"
    )
    return _Offer(held_bytes(problem) >> 30, sha256(name.encode()).digest(), line)


def _is_made_on_gpu(problem: Problem, case: PoolCase) -> bool:
    """Return whether a GPU makes the operands that are large."""
    plan = plan_fill(problem, case.kernel.instance.accumulation_for(problem), case.fill)
    wide = (problem.tensors[name] for name, _ in plan.tensors)
    return all(one.bytes < LARGE_BYTES or can_fill("gpu", one, plan.of(one.name)) for one in wide)
