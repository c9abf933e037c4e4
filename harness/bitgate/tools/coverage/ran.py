"""Cases with their dispatch: from results, from a plan, or predicted for problems drawn at random."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.resolved import Kernel
from bitgate.model import Operation, Problem, ProblemError, parse_case_id
from bitgate.model.space.variations import with_single_gaps

DRAWN = 3000


@dataclass(frozen=True)
class RanCase:
    """A case and the path that it took. ``main_loop`` is empty where the kernel does not report it."""

    problem: Problem
    kernel: Kernel
    path: str
    gemms_count: int
    buckets: int
    launches: int
    split_k: int
    split_n: int
    zero_fill: bool
    main_loop: str

    @property
    def tile(self) -> tuple[int, int, int] | None:
        return self.kernel.instance.tile

    @property
    def vector(self) -> tuple[int, int, int] | None:
        return self.kernel.instance.vector

    def option(self, name: str, otherwise: int) -> int:
        """Return the option's value, or that of production."""
        return int(self.kernel.settings.get(name, otherwise))


@dataclass(frozen=True)
class RanCases:
    """The cases that files report; ``unknown`` counts the cases of unknown kernels by name."""

    ran: tuple[RanCase, ...]
    unknown: Mapping[str, int]

    @property
    def words(self) -> str:
        """The cases that are left out, in words; empty if there are none."""
        if not self.unknown:
            return ""
        names = ", ".join(sorted(self.unknown))
        return f"left out: {sum(self.unknown.values())} cases of kernels that are unknown here: {names}"


def read_ran(paths: Sequence[Path], families: Mapping[str, KernelFamily]) -> RanCases:
    """Read cases and their dispatch from files.

    From ``results.jsonl`` every case with a DispatchRecord is taken. For plans (plan.json, or the output of ``bitgate
    cases --json``) the families predict the dispatch. Raises UsageError for another file, and where all cases are of
    unknown kernels.
    """
    ran: list[RanCase] = []
    unknown: Counter[str] = Counter()
    for path in paths:
        for case, stated in _cases(path):
            family = families.get(case["kernel"])
            instance = family.instance(case["instance"]) if family else None
            if family is None or instance is None:
                unknown[f"{case['kernel']}.{case['instance']}"] += 1
                continue
            try:
                problem = parse_case_id(case["case"])
            except ProblemError as error:
                raise UsageError(f"{path}: {error}") from None
            kernel = Kernel(family, instance, tuple(sorted(case["options"].items())))
            ran += [_ran(problem, kernel, stated)] if stated else predicted(problem, kernel)
    if unknown and not ran:
        where = "name their declarations in BITGATE_LOAD, or ask in the folder of their bitgate.toml"
        raise UsageError(f"{', '.join(map(str, paths))}: no kernel of these cases is known here; {where}")
    return RanCases(tuple(ran), unknown)


def _cases(path: Path) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the cases of a file, each with its DispatchRecord, which is empty for a plan. Raises UsageError for another
    file."""
    try:
        text = path.read_text()
        if path.suffix == ".jsonl":
            events = [json.loads(line) for line in text.splitlines() if line.strip()]
            found = [(event, event["dispatch"]) for event in events if event.get("dispatch")]
        else:
            document = json.loads(text)
            found = [(case, {}) for case in document.get("plan", document)["cases"] if not case["refused"]]
        for case, _ in found:
            _ = case["case"], case["kernel"], case["instance"], case["options"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: neither a results.jsonl nor a plan ({type(error).__name__}: {error})") from None
    yield from found


def predicted(problem: Problem, kernel: Kernel) -> Iterator[RanCase]:
    """Yield what the declaration predicts; nothing if it refuses the problem or predicts nothing."""
    dispatch = kernel.prediction(problem) if kernel.refusal(problem) is None else None
    if dispatch is not None:
        yield _ran(problem, kernel, dispatch.stated)


def _ran(problem: Problem, kernel: Kernel, stated: Mapping[str, Any]) -> RanCase:
    return RanCase(
        problem,
        kernel,
        stated["path"],
        stated.get("gemms_count", 1),
        stated.get("buckets", 1),
        stated["launches"],
        stated.get("split_k", 1),
        stated.get("split_n", 1),
        stated["zero_fill"],
        stated.get("main_loop", ""),
    )


def possible(family: KernelFamily, operation: Operation, instances: Sequence[Instance], seed: int = 1) -> list[RanCase]:
    """Predict the dispatch of random problems of an operation, each on one of the instances that take it."""
    if not operation.space.factors:
        return []
    layouts = [layout for instance in instances for layout in instance.layouts]
    dtypes = [operation.space.types(text) for text in dict.fromkeys(text for i in instances for text in i.dtypes)]
    batch = operation.space.candidates((seed,), DRAWN, layouts, "usual")
    rng = np.random.default_rng(seed)
    found: list[RanCase] = []
    for row in np.flatnonzero(batch.possible):
        typed = operation.space.typed(batch.problem(int(row)), dtypes[int(rng.integers(len(dtypes)))])
        problem = with_single_gaps(typed)
        for index in rng.permutation(len(instances)):
            if problem.dtypes.canonical not in instances[index].dtypes:
                continue
            way = list(predicted(problem, Kernel(family, instances[index])))
            found += way
            if way:
                break
    return found
