"""The capsules of a night: one case for each way in which a target's kernels work, the cheapest of each.

A way is what device code differs in: family, types, path, main loop, split, merged groups, copies of layouts, and the
operations of the epilogue. Cases of one way execute the same instructions on other sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.resolved import kernel_called
from bitgate.model import Problem, parse_case_id
from bitgate.results.plan import PlannedItem
from bitgate.suite.durations import work_of
from bitgate.verify.planned import PlannedCase

Way = tuple[str, ...]

FACTS = ("main_loop", "split_k", "split_n", "gemms_count", "buckets", "atomic", "order")
"""Predicted facts that choose other code; counts are classed as one or several."""
MOST_WORK = 1 << 26
"""FLOPs of a case that an emulator ends within a minute or so; a way that only larger cases have is left out."""


def chosen(items: Iterable[PlannedItem], families: Mapping[str, KernelFamily], target: str) -> list[PlannedItem]:
    """Return the items of a night's capsules, in the order of the plan. UsageError as ``kernel_called``."""
    best: dict[Way, tuple[int, int, PlannedItem]] = {}
    for place, item in enumerate(items):
        if item.refused or item.key.kernel not in families or "host" not in families[item.key.kernel].platforms:
            continue
        family = families[item.key.kernel]
        if family.is_probe or family.library is not None or family.opens is not None:
            continue
        problem = parse_case_id(item.key.case)
        if (work := work_of(problem)) > MOST_WORK:
            continue
        way = way_of(item, problem, families, target)
        rank = (work, place, item)
        if way not in best or rank[:2] < best[way][:2]:
            best[way] = rank
    if not best:
        raise UsageError(f"no case of {target} has a capsule here: see bitgate cases --target {target}")
    return [item for _, _, item in sorted(best.values(), key=lambda rank: rank[1])]


def way_of(item: PlannedItem, problem: Problem, families: Mapping[str, KernelFamily], target: str) -> Way:
    """Return what distinguishes the device code that a case runs."""
    key = item.key
    kernel = kernel_called(families, key.kernel, key.instance, key.options)
    planned = PlannedCase(problem, kernel, key.fill, key.seed, target=target)
    dtypes = " ".join(tensor.dtype.name for tensor in problem.tensors.values())
    traits = sorted(f"{name}={value}" for name, value in kernel.instance.traits.items())
    predicted = planned.predicted
    if predicted is None:
        return (key.kernel, str(problem.operation), dtypes, *traits)
    facts = [f"{name}={_classed(predicted.facts[name])}" for name in FACTS if name in predicted.facts]
    launches = f"launches={_classed(predicted.launches)}"
    copies = f"transposes={predicted.transposes} zero_fill={predicted.zero_fill}"
    return (key.kernel, str(problem.operation), dtypes, *traits, predicted.path, *facts, launches, copies)


def _classed(value: int | str) -> str:
    return value if isinstance(value, str) else "1" if value == 1 else "0" if value == 0 else "several"
