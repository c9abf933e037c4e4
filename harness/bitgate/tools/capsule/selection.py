"""The capsules of a night, solved like a tier: the cheapest cases that have all in which device code can differ.

The cases of a family have together each combination of its core that the tier has, each instance in each of its forms,
and each pair of the other classes: of copies of layouts with operators, of merged groups with splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.resolved import Kernel, kernel_called
from bitgate.model import Problem, parse_case_id
from bitgate.model.host_tensor import has_gaps
from bitgate.model.problem import held_bytes
from bitgate.model.space.problem_property import PropertyKind
from bitgate.results.plan import PlannedItem
from bitgate.suite.durations import work_of
from bitgate.suite.tier_solver import LEAST_SECONDS
from bitgate.tools.tiers.cover import Cover, goals, pairs_of
from bitgate.tools.tiers.pool import cut_of

Classes = Mapping[str, str]
"""The class of a case by each factor that it has."""

CORE = ("operation", "kind", "mask", "dtypes", "path", "main_loop", "split_k")
"""Factors of which every combination is chosen, as far as a family has them."""
INSTANCE = "instance"
FORM = (INSTANCE, "path", "main_loop")
"""Factors by which an instance's kernels are compiled apart."""
DETAILS = ("in_op", "wei_op")
"""Details of a problem that choose other code: the operators by which operands are read."""
FACTS = ("main_loop", "split_k", "split_n", "gemms_count", "buckets", "atomic", "order")
"""Predicted facts that choose other code; counts are classed as one or several."""
MOST_WORK = 1 << 26
"""FLOPs of a case that an emulator ends within a minute or so; what only larger cases have is left out."""
MOST_BYTES = 1 << 24
"""Bytes of a case's tensors with their gaps, all of which are in a capsule."""


def chosen(items: Iterable[PlannedItem], families: Mapping[str, KernelFamily], target: str) -> list[PlannedItem]:
    """Return the items of a night's capsules, family by family; those that show most for their seconds come first.

    UsageError as ``kernel_called``, or if there is none.
    """
    pools: dict[str, list[tuple[PlannedItem, Classes]]] = {}
    for item in items:
        key = item.key
        if item.refused or key.kernel not in families or not _is_recorded(families[key.kernel]):
            continue
        problem = parse_case_id(key.case)
        if work_of(problem) <= MOST_WORK and held_bytes(problem) <= MOST_BYTES:
            kernel = kernel_called(families, key.kernel, key.instance, key.options)
            pools.setdefault(key.kernel, []).append((item, classes_of(kernel, problem)))
    if not pools:
        raise UsageError(f"no case of {target} has a capsule here: see bitgate cases --target {target}")
    return [item for pool in pools.values() for item in _solved(pool)]


def _is_recorded(family: KernelFamily) -> bool:
    """Return whether capsules hold the family's launches: they are recorded on the host, out of its sources."""
    return "host" in family.platforms and not family.is_probe and family.library is None and family.opens is None


def _solved(pool: Sequence[tuple[PlannedItem, Classes]]) -> list[PlannedItem]:
    classes = [one for _, one in pool]
    names = dict.fromkeys(name for one in classes for name in one)
    varied = [name for name in names if name != INSTANCE and len({one.get(name) for one in classes}) > 1]
    cover = Cover([max(LEAST_SECONDS, item.seconds) for item, _ in pool])
    products = [tuple(name for name in factors if name in names) for factors in (CORE, FORM)]
    cover.extend(goals(classes, [*products, *pairs_of(varied)]))
    return [pool[place][0] for place in cover.chosen]


def classes_of(kernel: Kernel, problem: Problem) -> Classes:
    """Return the classes of a case: of its problem, its instance, and what is predicted to run."""
    space = problem.operation.space
    details = space.details(problem, cut_of(kernel.instance))
    named = (PropertyKind.NAME, PropertyKind.FLAG)
    found = {
        "operation": problem.operation.name,
        INSTANCE: kernel.instance.name,
        **{name: str(one.of(problem)) for name, one in space.properties.items() if one.kind in named},
        **{name: details[name] for name in DETAILS if name in details},
        "gap of a result": str(any(has_gaps(problem.tensors[role]) for role in problem.outputs)),
        "dtypes": " ".join(tensor.dtype.name for tensor in problem.tensors.values()),
        **{f"trait {name}": str(value) for name, value in kernel.instance.traits.items()},
        **{f"option {name}": value for name, value in kernel.options},
    }
    if (predicted := kernel.prediction(problem)) is not None:
        found |= {name: _few(predicted.facts[name]) for name in FACTS if name in predicted.facts}
        found |= {"path": predicted.path, "launches": _few(predicted.launches)}
        found |= {"transposes": str(predicted.transposes), "zero_fill": str(predicted.zero_fill)}
    return found


def _few(value: int | str) -> str:
    return value if isinstance(value, str) else str(value) if value in (0, 1) else "several"
