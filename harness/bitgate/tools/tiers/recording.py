"""Costs of cases, measured: a drawn sample of each family runs in this process, by the processor's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.kernel.declaration import KernelFamily
from bitgate.suite.durations import work_of
from bitgate.tools.tiers.cost import FILE, PARTS, CostModel, Costs, amounts, read_costs
from bitgate.tools.tiers.pool import CandidatePool, PoolCase, subjects_of
from bitgate.tools.tiers.request import SolveRequest, requested
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

SAMPLE = 300
"""Cases of each family and operation."""
SEED = 101
"""The sample's seed: the lists' pools are drawn with others."""

ROUNDS, SWEEPS = 4, 2000
"""Rounds of weighting a fit anew, and turns of its parts in each."""
LEAST = 1e-14
"""Seconds of a part that are none."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """The fit of a family's costs: rank correlations of measured seconds with FLOPs, and with costs that were fitted to
    the other half of the sample."""

    name: str
    cases: int
    mean: float
    by_work: float
    by_costs: float


@dataclass(frozen=True)
class _Sample:
    """Cases that ran: what each is made of, its FLOPs, and its seconds."""

    amounts: Floats
    work: Floats
    seconds: Floats


def record_costs(
    folder: Path, suites: Iterable[str], families: Mapping[str, KernelFamily], progress: Callable[[str], None]
) -> list[Fit]:
    """Measure the families of these suites (of all that are asked for, without any), and write their costs."""
    session = Session("host", repeats_all=False, progress=progress)
    costs = dict(read_costs(folder).costs)
    fits: list[Fit] = []
    for request in requested(folder, suites).values():
        is_whole = isinstance(request, SolveRequest) and request.instances == "*"  # else another table's are its costs
        for family, operation in subjects_of(request, families) if is_whole else ():
            pool = CandidatePool(family, operation, CostModel(), float("inf"))
            sample = _measured([case for case in pool.drawn(2 * SAMPLE, SEED) if not case.refused][:SAMPLE], session)
            name = f"{family.name}.{operation}"
            fits.append(_fit(name, sample))
            costs[name] = fitted(sample.amounts, sample.seconds)
            progress(f"{name}: {fits[-1].cases} cases, {1e3 * fits[-1].mean:.1f} ms each")
    write_costs(folder, costs)
    return fits


def table_of(fits: Iterable[Fit]) -> str:
    """Return fits as a Markdown table."""
    rows = [
        "| kernels | cases | ms each | rank correlation with FLOPs | with costs of the other half |",
        "|---|---|---|---|---|",
    ]
    for one in fits:
        rows.append(f"| `{one.name}` | {one.cases} | {1e3 * one.mean:.1f} | {one.by_work:.2f} | {one.by_costs:.2f} |")
    return "\n".join(rows)


def _measured(cases: Sequence[PoolCase], session: Session) -> _Sample:
    """Run each case once. UsageError for one that is not green: what it took says nothing."""
    seconds: list[float] = []
    for case in cases:
        planned = PlannedCase(case.problem, case.kernel, fill=case.fill, target="host", repeated=False)
        session.load(case.kernel)
        started = process_time()
        verdict = verify(planned, session)
        seconds.append(process_time() - started)
        if not verdict.green:
            raise UsageError(f"{planned.id}: {verdict.outcome}: {verdict.reason}; costs are of green cases")
    parts: list[Any] = [amounts(case.kernel, case.problem) for case in cases]
    return _Sample(np.array(parts), np.array([work_of(case.problem) for case in cases], float), np.array(seconds))


def _fit(name: str, sample: _Sample) -> Fit:
    predicted = np.empty(len(sample.seconds))
    odd = np.arange(len(predicted)) % 2 == 1
    for half in (odd, ~odd):
        predicted[half] = sample.amounts[half] @ np.array(fitted(sample.amounts[~half], sample.seconds[~half]))
    by_work, by_costs = (_rank_correlation(one, sample.seconds) for one in (sample.work, predicted))
    return Fit(name, len(predicted), float(sample.seconds.mean()), by_work, by_costs)


def _rank_correlation(first: Floats, second: Floats) -> float:
    ranks = [np.argsort(np.argsort(one)) for one in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def fitted(parts: Floats, measured: Floats) -> tuple[float, ...]:
    """Fit costs of at least 0 to the amounts of cases and their measured seconds, by least squares.

    Errors count relative to the root of the seconds.
    Outliers count less, since another process may have had the caches.
    """
    weights = measured**-0.5
    costs = np.zeros(parts.shape[1])
    for _ in range(ROUNDS):
        costs = _not_negative(parts * weights[:, None], measured * weights)
        wrong = np.abs(parts @ costs - measured) * measured**-0.5
        weights = measured**-0.5 * np.minimum(1.0, 4 * np.median(wrong) / np.maximum(wrong, 1e-12)) ** 0.5
    return tuple(float(f"{cost:.3g}") if cost > LEAST else 0.0 for cost in costs)


def _not_negative(rows: Floats, values: Floats) -> Floats:
    """Return the least squares solution without negative numbers, part by part in turn."""
    scale = np.sqrt((rows**2).sum(axis=0))
    used = np.flatnonzero(scale)
    scaled = rows[:, used] / scale[used]
    products, targets = scaled.T @ scaled, scaled.T @ values
    found = np.zeros(len(used))
    for _ in range(SWEEPS):
        for at in range(len(used)):
            found[at] = max(0.0, found[at] + targets[at] - products[at] @ found)
    costs = np.zeros(rows.shape[1])
    costs[used] = found / scale[used]
    return costs


def write_costs(folder: Path, costs: Costs) -> None:
    """Write the costs of a folder of suites, sorted."""
    lines = [
        "# Seconds of processor time of a case on the host, by what it is made of; "
        "`bitgate cases --costs` measures them."
    ]
    for name, parts in sorted(costs.items()):
        stated = ", ".join(f"{part} = {cost:g}" for part, cost in zip(PARTS, parts, strict=True))
        lines.append(f'"{name}" = {{ {stated} }}')
    write_whole(folder / FILE, "\n".join(lines) + "\n")
