"""Cases that answer differently on the same bits, machines that spoil the answers of others, nights gone wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from bitgate.lab.history import query
from bitgate.lab.history.query import MixedSeries, RecordedCase, RecordedRun
from bitgate.lab.history.root_cause import CandidateCause, CauseKind, Outlier, infer_causes, unreliable
from bitgate.lab.history.rows import GPU
from bitgate.lab.history.series import Series
from bitgate.results.record import UNKNOWN, Outcome


@dataclass(frozen=True)
class FlakyCase:
    """A flaky case. ``nodes``: its deviations on each machine, those with the most first."""

    case: RecordedCase
    cause: CandidateCause
    nodes: tuple[tuple[str, int], ...]

    def as_json(self) -> dict[str, Any]:
        return {**self.case.as_json(), **self.cause.as_json(), "nodes": dict(self.nodes)}


SPOILS, LOSES = "spoils answers", "loses answers"
"""Reasons why a machine is unreliable: its answers deviate, or are missing (INFRA, LOST)."""


@dataclass(frozen=True)
class UnreliableMachine:
    """A machine whose answers deviate or are missing."""

    node: str
    why: str
    cause: CandidateCause

    def as_json(self) -> dict[str, Any]:
        return {"node": self.node, "why": self.why, **self.cause.as_json()}


@dataclass(frozen=True)
class UnreliableNight:
    """A run in which many cases of one kernel family deviated: a bug that existed for one night, for example."""

    run: RecordedRun
    target: str
    family: str
    cause: CandidateCause

    def as_json(self) -> dict[str, Any]:
        return {"run": self.run.name, "target": self.target, "kernel": self.family, **self.cause.as_json()}


@dataclass(frozen=True)
class Attribution:
    """The root causes of deviations in some runs. ``lone``: deviations that no cause explains."""

    cases: tuple[FlakyCase, ...]
    machines: tuple[UnreliableMachine, ...]
    nights: tuple[UnreliableNight, ...]
    answers: int
    lone: int

    def as_json(self) -> dict[str, Any]:
        return {
            "answers": self.answers,
            "lone": self.lone,
            "cases": [one.as_json() for one in self.cases],
            "machines": [one.as_json() for one in self.machines],
            "nights": [one.as_json() for one in self.nights],
        }

    @property
    def flaky(self) -> set[tuple[int, str]]:
        return {(one.case.number, one.case.target) for one in self.cases}

    @property
    def spoilers(self) -> set[str]:
        """Machines whose answers cannot be trusted."""
        return {one.node for one in self.machines if one.why == SPOILS}


def root_causes(
    connection: Connection, runs: Sequence[RecordedRun], target: str = "", mixed: MixedSeries | None = None
) -> Attribution:
    """Attribute the deviations of some runs to cases, machines and nights.

    A caller that has read the cases that were red at least once passes them as ``mixed``.
    """
    if mixed is None:
        mixed = query.series(connection, runs, target=target, mixed_only=True)
    by_key = {(case.number, case.target): (case, Series.of(recorded)) for case, recorded in mixed}
    deviations = [one for case, found in by_key.values() for one in _deviations(case, found)]
    outcomes = query.counts_of_machines(connection, runs, target)
    answered = {node: sum(n for outcome, n in of.items() if not _lost(outcome)) for node, of in outcomes.items()}
    counts: dict[CauseKind, Mapping[Any, int]] = {
        CauseKind.CASE: query.counts_of_cases(connection, runs, target),
        CauseKind.MACHINE: _by_host(answered),
        CauseKind.GPU: {node: count for node, count in answered.items() if GPU in node},
        CauseKind.NIGHT: query.counts_of_nights(connection, runs, target),
    }
    causes = infer_causes(deviations, counts)
    on = _nodes(deviations)
    lost = Counter({node: sum(n for outcome, n in of.items() if _is_infra(outcome)) for node, of in outcomes.items()})
    gone = unreliable(Counter({node: n for node, n in lost.items() if n}), {n: answered[n] + lost[n] for n in outcomes})
    by_number = {run.number: run for run in runs}
    nights = [UnreliableNight(by_number[c.name[0]], c.name[1], c.name[2], c) for c in _of(causes, CauseKind.NIGHT)]
    flaky = [FlakyCase(by_key[c.name][0], c, on[c.name]) for c in _of(causes, CauseKind.CASE)]
    return Attribution(
        cases=tuple(flaky),
        machines=(
            *(UnreliableMachine(str(cause.name), SPOILS, cause) for cause in _of(causes, CauseKind.MACHINE)),
            *(UnreliableMachine(str(cause.name), SPOILS, cause) for cause in _of(causes, CauseKind.GPU)),
            *(UnreliableMachine(str(cause.name), LOSES, cause) for cause in gone),
        ),
        nights=tuple(nights),
        answers=sum(answered.values()),
        lone=max(0, round(len(deviations) - sum(cause.explained for cause in causes))),
    )


def host_of(node: str) -> str:
    """Return the host of a machine that may be one of its GPUs."""
    return node.partition(GPU)[0]


def _by_host(counts: Mapping[str, int]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for node, count in counts.items():
        found[host_of(node)] += count
    return dict(found)


def _deviations(case: RecordedCase, found: Series) -> Iterable[Outlier]:
    for place in found.deviations:
        answer = found.answers[place]
        yield Outlier(
            case=(case.number, case.target),
            machine=None if answer.node == UNKNOWN else host_of(answer.node),
            gpu=answer.node if GPU in answer.node else None,
            night=(answer.run, case.target, case.family),
            certain=found.is_certain(place),
        )


def _nodes(deviations: Iterable[Outlier]) -> dict[object, tuple[tuple[str, int], ...]]:
    found: dict[object, Counter[str]] = {}
    for one in deviations:
        found.setdefault(one.case, Counter())[str(one.gpu or one.machine or UNKNOWN)] += 1
    return {case: tuple(sorted(nodes.items(), key=lambda item: (-item[1], item[0]))) for case, nodes in found.items()}


def _of(causes: Iterable[CandidateCause], kind: CauseKind) -> list[CandidateCause]:
    return [cause for cause in causes if cause.kind is kind]


def _lost(outcome: str) -> bool:
    return Outcome(outcome).is_unanswered


def _is_infra(outcome: str) -> bool:
    return Outcome(outcome) in (Outcome.INFRA, Outcome.LOST)
