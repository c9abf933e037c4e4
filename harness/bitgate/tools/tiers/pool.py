"""The pool that a tier is solved from: drawn problems with an instance, data and options, and the classes of each.

What no case of the pool has counts as impossible: declarations and the maths of real problems are the constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from itertools import cycle
from math import prod
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import is_safe
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily
from bitgate.kernel.resolved import Kernel, Options
from bitgate.model import Problem, ProblemError, case_id, operation_called
from bitgate.model.facts import OF_OPERATION
from bitgate.model.space import ProblemSpace
from bitgate.model.space.candidates import problems_of
from bitgate.model.space.details import Cut, split, turns
from bitgate.model.space.factor import Constants
from bitgate.model.space.variations import with_gaps_of_tensors
from bitgate.numerics.certificate import has_products
from bitgate.numerics.fill import DECIMAL, fill_named, make_inputs, plan_fill
from bitgate.tools.fuzz.draw import RoundSize, draw_round
from bitgate.tools.fuzz.round import fills_of
from bitgate.tools.tiers.apart import elements_apart
from bitgate.tools.tiers.cost import VERDICT, CostModel
from bitgate.tools.tiers.limits import limits
from bitgate.tools.tiers.request import OffsetRequest, SolveRequest
from bitgate.verify.bounds import bounded_results

ROUND = 2000
SPLITS = (2, 3, 4, 7, 12, -1)
PLAIN = 0.55
"""Shares of the pool with an exact fill, and of splits that are drawn anew."""
SPLIT_SHARE = 0.3
OPTION_SHARE = 0.35
FEW_CELLS = 64
"""Results of which all may lie so near to zero, or be so undefined, that bounds show nothing."""
LIMIT, LIMIT_SECONDS, CHEAP = "limit", 2.0, 200
"""The factor of the limit at which a case lies, the most seconds of such a case, whose grid is large, and how many
cases are taken to limits."""
TRIES = 12
"""Draws for each case of the pool, at most: what an instance refuses is drawn again."""


@dataclass(frozen=True, eq=False)
class PoolCase:
    """A case that a tier may hold; ``refused`` is the clause by which the kernel must refuse it, and ``violates`` the
    only quantity, axis or gap for which it does; empty where there may be several."""

    problem: Problem
    kernel: Kernel
    fill: str
    seconds: float
    classes: Mapping[str, str]
    refused: str = ""
    violates: str = ""

    @property
    def key(self) -> tuple[str, str, Options, str]:
        return case_id(self.problem), self.kernel.name, self.kernel.options, self.fill


class CandidatePool:
    """The candidates of one family and operation, on the instances of the host."""

    def __init__(self, family: KernelFamily, operation: str, costs: CostModel, most_seconds: float) -> None:
        self.family, self.operation = family, operation
        self.space: ProblemSpace = operation_called(operation).space
        self.instances = [one for one in family.instances if operation in family.operations_of(one)]
        self.costs, self.most_seconds = costs, most_seconds
        self._options = tuple(tuple(sorted(one)) for one in family.drawn_options)

    def cases(self, count: int, seed: int) -> list[PoolCase]:
        """Return about ``count`` different cases with their classes, the same ones for the same arguments."""
        drawn = self.drawn(count, seed)
        spaced = elements_apart(drawn, self.costs)
        return self._classified([*drawn, *self._at_limits(drawn), *spaced])

    def drawn(self, count: int, seed: int) -> list[PoolCase]:
        """Return about ``count`` different cases that are taken, and those beside them that are refused, without
        classes; the same ones for the same arguments."""
        rng = np.random.default_rng([seed, *self.family.name.encode(), *self.operation.encode()])
        found: dict[tuple[str, str, Options, str], PoolCase] = {}
        problems = self._problems(seed)
        turn = cycle(self.instances)
        taken = 0
        for _ in range(count * TRIES):
            if taken >= count:
                break
            for case in self._drawn(next(problems), next(turn), rng):
                taken += not case.refused and case.key not in found
                found.setdefault(case.key, case)
        return list(found.values())

    def _problems(self, seed: int) -> Iterator[Problem]:
        layouts = tuple(dict.fromkeys(layout for one in self.instances for layout in one.layouts))
        for visit in range(10**6):
            wide = visit % 4 == 3
            size = RoundSize("wide" if wide else "tiny", 2e7 if wide else 4e6, ROUND)
            yield from problems_of(draw_round(self.space, (seed, visit), size, layouts))

    def _drawn(self, problem: Any, instance: Instance, rng: np.random.Generator) -> Iterator[PoolCase]:
        """Yield the problem on the instance, if that takes it or can be made to; and one beside it that it refuses."""
        space, cut = self.space, cut_of(instance)
        dtypes = [space.types(text) for text in instance.dtypes]
        options = self._options[int(rng.integers(len(self._options)))] if rng.random() < OPTION_SHARE else ()
        kernel = Kernel(self.family, instance, options)
        try:
            problem = space.varied(problem, dtypes, rng)
            problem = with_gaps_of_tensors(space.fitted(problem, cut, rng), rng)
            if hasattr(problem, "split_k") and rng.random() < SPLIT_SHARE:
                problem = replace(problem, split_k=int(rng.choice(SPLITS)))
        except ProblemError:
            return
        taken = self._made_to_fit(problem, kernel)
        fills = fills_of(problem)
        fill = fills[0] if rng.random() < PLAIN else str(rng.choice(fills))
        if taken is not None:
            if fill != fills[0] and may_show_nothing(taken, instance, fill):
                fill = fills[0]
            yield from self._affordable(PoolCase(taken, kernel, fill, 0.0, {}))
            if taken is not problem and (refusal := kernel.refusal(problem)) is not None:
                for changed, violates in _between(taken, problem):
                    if (refusal_alone := kernel.refusal(changed)) is not None:
                        yield PoolCase(changed, kernel, fills[0], VERDICT, {}, refusal_alone.clause, violates)
                yield PoolCase(problem, kernel, fills[0], VERDICT, {}, refusal.clause)

    def _affordable(self, case: PoolCase) -> Iterator[PoolCase]:
        seconds = self.costs.seconds(case.kernel, case.problem)
        if seconds <= self.most_seconds:
            yield replace(case, seconds=seconds + VERDICT)

    def _made_to_fit(self, problem: Any, kernel: Kernel) -> Any:
        """Return the problem as the kernel takes it, with the fewest changes of ``bends``; None if none helps."""
        if kernel.refusal(problem) is None:
            return problem
        bends = self.space.bends(kernel.instance.layouts)
        for bend in reversed(bends):
            bent = bend(problem)
            if bent != problem and kernel.refusal(bent) is None:
                return bent
        bent = problem
        for bend in reversed(bends):
            before, bent = bent, bend(bent)
            if bent != before and kernel.refusal(bent) is None:
                return bent
        return None

    def _at_limits(self, cases: list[PoolCase]) -> Iterator[PoolCase]:
        """Yield the cheapest case at each limit of the cheapest cases, and the one beyond it; see ``limits``."""
        found: dict[str, tuple[PoolCase, PoolCase]] = {}
        cheap = sorted((one for one in cases if not one.refused), key=lambda one: one.seconds)[:CHEAP]
        for case in cheap:
            for limit in limits(case.kernel, case.problem):
                name = f"{limit.clause} of {limit.name}"
                seconds = self.costs.seconds(case.kernel, limit.last) + VERDICT
                if seconds <= (found[name][0].seconds if name in found else LIMIT_SECONDS):
                    own = {LIMIT: name}
                    last = replace(case, problem=limit.last, seconds=seconds, classes=own)
                    beyond = replace(
                        case,
                        problem=limit.first,
                        seconds=VERDICT,
                        classes=own,
                        refused=limit.clause,
                        violates=limit.name,
                    )
                    found[name] = last, beyond
        for both in found.values():
            yield from both

    def _classified(self, cases: list[PoolCase]) -> list[PoolCase]:
        """Return the cases with the classes of all factors: the operation's, the details, the instance and the data."""
        if not cases:
            raise UsageError(f"{self.family.name} takes no drawn problem of {self.operation}")
        factors = [factor for factor in self.space.factors if factor.column != "dtypes" and factor.name != "dtypes"]
        batch = self.space.batch([case.problem for case in cases])
        named = {}
        for factor in factors:
            codes = factor.classify(batch, Constants())
            names = [cls.name for cls in factor.classes]
            named[factor.name] = [names[code] if code < len(names) else "other" for code in codes]
        classified = []
        for row, case in enumerate(cases):
            coarse = {f"{name}{OF_OPERATION}": values[row] for name, values in named.items()}
            classified.append(replace(case, classes={**coarse, LIMIT: "none", **case.classes, **self._details(case)}))
        return classified

    def _details(self, case: PoolCase) -> dict[str, str]:
        instance = case.kernel.instance
        found = dict(self.space.details(case.problem, cut_of(instance)))
        found |= instance_classes(instance, case.problem)
        found["fill"] = case.fill
        chosen = dict(case.kernel.options)
        found |= {option.name: chosen.get(option.name, "") for option in self.family.options if option.drawn}
        if case.refused:
            return {**found, "violates": case.violates or "several"}
        found |= _turns(case)
        prediction = case.kernel.prediction(case.problem)
        if prediction is not None:
            found |= _automatic(case, prediction)
            found["path"] = prediction.path
            found["launches"] = str(min(prediction.launches, 3))
            found["transposes"] = str(prediction.transposes)
            for name in ("main_loop", "split_n"):
                found[name] = _few(prediction.facts.get(name, ""))
        return found


def subjects_of(
    request: SolveRequest | OffsetRequest, families: Mapping[str, KernelFamily]
) -> list[tuple[KernelFamily, str]]:
    """Return each family of a request, with the instances on the host that it asks for, and each operation of it that
    is asked for."""
    asked = {name: _with_instances(families[name].on("host"), request) for name in request.kernels}
    return [
        (family, operation)
        for family in asked.values()
        for operation in family.operations
        if operation in request.operations
    ]


def _with_instances(family: KernelFamily, request: SolveRequest | OffsetRequest) -> KernelFamily:
    def is_asked(name: str) -> bool:
        return fnmatchcase(name, request.instances) and not fnmatchcase(name, request.without)

    return replace(family, instances=tuple(one for one in family.instances if is_asked(one.name)))


def cut_of(instance: Instance) -> Cut:
    """Return how an instance cuts its products."""
    merge = int(instance.traits.get("merge", 1))
    return Cut(instance.tile or (1, 1, 1), instance.vector or (1, 1, 1), merge)


def may_show_nothing(problem: Problem, instance: Instance, fill: str) -> bool:
    """Return whether bounds may admit a cleared result: without a product, of few cells, or of many rounded slices."""
    if fill_named(problem, fill).exact:
        return False
    cells = problem.tensors[problem.result].elements
    if cells < FEW_CELLS or not has_products(problem):
        return True
    is_automatic = getattr(problem, "split_k", 1) == -1
    return is_automatic and instance.accumulation_for(problem).partial is not None


def has_short_id(case: PoolCase) -> bool:
    """Return whether a test's id of the case may be a name in a path (core/untrusted.py)."""
    options = "".join(f"_{name}_{value}" for name, value in case.kernel.options)
    return is_safe(f"{case_id(case.problem)}__{case.kernel.name}{options}__{case.fill}")


def shows_nothing(case: PoolCase) -> bool:
    """Return whether bounds of special numbers admit a cleared result: all taps of many cells lie in the padding, or
    each cell meets an infinity."""
    problem, instance = case.problem, case.kernel.instance
    is_bounded = case.fill != DECIMAL and not fill_named(problem, case.fill).exact
    if not is_bounded or not problem.tensors[problem.result].dtype.is_float:
        return False
    accumulation = instance.accumulation_for(problem)
    inputs = make_inputs(problem, plan_fill(problem, accumulation, case.fill))
    return all(bounds.is_loose for bounds in bounded_results(problem, inputs, accumulation)[1].values())


def instance_classes(instance: Instance, problem: Problem) -> dict[str, str]:
    """Return the classes of an instance: its types, its waves, and its tiling with all that its name says of it."""
    tiling = instance.name.removesuffix("_w32")
    types = problem.dtypes.canonical
    return {
        "dtypes": types,
        "wave": str(instance.wave_size),
        "tiling": tiling.replace(instance.dtypes[0], "").strip("_"),
    }


def _between(taken: Any, refused: Any) -> Iterator[tuple[Any, str]]:
    """Yield the problem that is taken with one quantity, axis or gap of the one that is refused, and the name of it."""
    for name in (one.name for one in fields(taken)):
        own, other = getattr(taken, name), getattr(refused, name)
        if own == other:
            continue
        values: list[tuple[str, Any]] = [(name, other)]
        if name == "gaps":
            values = [(f"gap_{gap.tensor}_{gap.axis}", (gap,)) for gap in other]
        elif isinstance(own, tuple) and len(own) == len(other):
            pairs = enumerate(zip(own, other, strict=True))
            values = [(f"{name}{at}", (*own[:at], two, *own[at + 1 :])) for at, (one, two) in pairs if one != two]
        for violates, value in values:
            try:
                yield replace(taken, **{name: value}), violates
            except ProblemError:
                continue


def _turns(case: PoolCase) -> dict[str, str]:
    """Return the class of the turns that blocks take, where an option limits the grid."""
    kernel = case.kernel
    if kernel.is_production or (own := kernel.thread_map(case.problem)) is None:
        return {}
    usual = Kernel(kernel.family, kernel.instance).thread_map(case.problem)
    launches = [] if usual is None else list(zip(own.launches, usual.launches, strict=False))
    if any(one.name != two.name for one, two in launches) or len(launches) < len(own.launches):
        return {}
    grids = [(prod(one.grid), prod(two.grid)) for one, two in launches]
    limited = [(one, two) for one, two in grids if one < two]
    return {"turns": turns(*limited[0])} if limited else {}


LENGTHS = ("n", "k", "c", "g")
"""The lengths by which an automatic split may change."""


def _automatic(case: PoolCase, prediction: Dispatch) -> dict[str, str]:
    """Return the classes of an automatic split: its answer, and the length by one more or less of which it changes."""
    problem: Any = case.problem
    answer = prediction.facts.get("split_k")
    if getattr(problem, "split_k", 1) != -1 or not isinstance(answer, int):
        return {}
    for name in (one for one in LENGTHS if hasattr(problem, one)):
        for step in (1, -1):
            if getattr(problem, name) + step < 1:
                continue
            near = replace(problem, **{name: getattr(problem, name) + step})
            found = case.kernel.prediction(near) if case.kernel.refusal(near) is None else None
            if found is not None and found.facts.get("split_k") != answer:
                return {"auto": split(answer), "auto_limit": f"{name}{step:+d}"}
    return {"auto": split(answer), "auto_limit": "none"}


def _few(value: int | str) -> str:
    return str(min(value, 3)) if isinstance(value, int) else value
