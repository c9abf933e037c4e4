"""Ledgers: for each target exactly one entry for every case that was planned or recorded, with its earlier attempts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bitgate.core.choices import TIERS
from bitgate.core.targets import in_place_of, is_emulated, of_code
from bitgate.results.plan import Plan, PlannedItem
from bitgate.results.record import FINGERPRINT, UNKNOWN, DeviceOfRecord, Key, Outcome, Verdict, verdict_on
from bitgate.results.report import completeness
from bitgate.results.report.attempts import AttemptEntry, JobAttempt, SettledVerdict, jobs_of, settle
from bitgate.results.report.completeness import Builds
from bitgate.results.report.facts import SourceFacts
from bitgate.results.report.findings import RunFinding, some
from bitgate.results.report.source import PLAN, RESULTS, Source, find_sources
from bitgate.results.run_plan import RunPlan

__all__ = ["PLAN", "RESULTS", "AttemptEntry", "Ledger", "MergedNight", "read_ledgers", "read_night"]


@dataclass(frozen=True)
class Ledger:
    """The entries of one target, in the order of the plan, then of the record; ``notes`` are for the reader."""

    target: str
    tier: str
    entries: tuple[AttemptEntry, ...]
    plan: str = ""
    started: str = ""
    shards: tuple[str, ...] = ()
    """``<i>of<n>`` of every shard that it was read from; empty if the run was not sharded."""
    notes: tuple[str, ...] = ()
    findings: tuple[RunFinding, ...] = ()
    """Defects of the run on this target, which are red whatever the entries are."""
    builds: Builds = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class MergedNight:
    """All ledgers of a run, and the findings about the run as a whole."""

    ledgers: tuple[Ledger, ...]
    findings: tuple[RunFinding, ...] = field(default=())
    sources: tuple[Source, ...] = field(default=(), repr=False)
    """The results files that all of it was read from."""

    @property
    def verdicts(self) -> Iterator[Verdict]:
        """Every verdict on record, earlier attempts included."""
        return (verdict for source in self.sources for verdict in source.verdicts)


def read_ledgers(paths: Sequence[Path], *, interrupted: bool = False, may_be_empty: bool = False) -> tuple[Ledger, ...]:
    """Return the ledgers of a night that has no run plan."""
    return read_night(paths, interrupted=interrupted, may_be_empty=may_be_empty).ledgers


def read_night(
    paths: Sequence[Path], *, interrupted: bool = False, may_be_empty: bool = False, plan: RunPlan | None = None
) -> MergedNight:
    """Read one ledger for each target from results files, or folders that hold them, in any order.

    The plan next to a results file adds its cases that have no record: LOST, or NOT_RUN if the run was interrupted.
    ``plan`` does so for all targets and shards, and then every result must be in it, too. UsageError if a path does not
    exist, or holds no results and ``may_be_empty`` is not set.
    """
    sources = find_sources(paths, may_be_empty=may_be_empty or plan is not None)
    facts = [SourceFacts.of(source) for source in sources]
    ledgers = tuple(
        replace(one, findings=(*one.findings, *completeness.of_target(one.target, facts, one.builds, plan)))
        for one in read_part(sources, plan, interrupted=interrupted)
    )
    return MergedNight(ledgers, of_night(facts, plan), sources)


Unmanned = Mapping[tuple[str, str], str]
"""Why target and shard had no machine."""


def read_part(
    sources: Sequence[Source], plan: RunPlan | None, unmanned: Unmanned | None = None, *, interrupted: bool = False
) -> list[Ledger]:
    """Return a ledger of these files for each target, without what only all files of a night show."""
    jobs = jobs_of(source.jobs for source in sources)
    targets = {target for source in sources for target in source.targets} | set(plan.targets if plan else ())
    return [_ledger(target, sources, jobs, interrupted, plan, unmanned or {}) for target in sorted(targets)]


def of_night(facts: Sequence[SourceFacts], plan: RunPlan | None) -> tuple[RunFinding, ...]:
    """Return the findings that are about no single target."""
    homeless = [RunFinding("Unreadable", flaw) for one in facts if not one.targets for flaw in one.flaws]
    return (*homeless, *completeness.of_night(facts, plan))


def _ledger(
    target: str,
    every: Sequence[Source],
    jobs: Sequence[int],
    interrupted: bool,
    whole: RunPlan | None,
    unmanned: Unmanned,
) -> Ledger:
    sources = [source for source in every if target in source.targets]
    own = [(source, job) for source, job in zip(every, jobs, strict=True) if target in source.targets]
    verdicts = [verdict for source in sources for verdict in source.verdicts if verdict.key.target == target]
    plans = list(whole.of(target)) if whole else [s.plan for s in sources if s.plan and s.plan.target == target]
    settled = _settled(target, own)
    recorded = [one.entry for one in settled]
    missing = _missing(plans, {entry.verdict.key for entry in recorded}, verdicts, interrupted, unmanned)
    place = {planned.key: number for number, planned in enumerate(p for plan in plans for p in plan.cases)}
    entries = sorted((*recorded, *missing), key=lambda entry: place.get(entry.verdict.key, len(place)))
    findings, notes = completeness.of_part(target, sources, verdicts, whole)
    findings = [one for one in findings if not (one.kind == "LostShard" and _is_unmanned(plans, unmanned))]
    return Ledger(
        target=target,
        tier=_tier(plans, verdicts),
        entries=tuple(entries),
        plan=whole.id if whole else " ".join(dict.fromkeys(plan.id for plan in plans)),
        started=min((source.started for source in sources), default=whole.created if whole else ""),
        shards=tuple(sorted({f"{s.shard.index}of{s.shard.count}" for s in sources if s.shard})),
        notes=(*_stand_in(target), *notes, *(note for source in sources for note in _strays(source))),
        findings=(*_duplicated(target, own, settled), *findings),
        builds=completeness.builds_of(settled),
    )


def _is_unmanned(plans: Sequence[Plan], unmanned: Unmanned) -> bool:
    return all((plan.target, plan.shard) in unmanned for plan in plans)


def _tier(plans: Sequence[Plan], verdicts: Sequence[Verdict]) -> str:
    """Return the plan's tier; without a plan the largest tier that verdicts name, since each names its smallest."""
    planned = next((plan.tier for plan in plans if plan.tier), "")
    named = [verdict.tier for verdict in verdicts if verdict.tier]
    return planned or next((tier for tier in reversed(TIERS) if tier in named), named[0] if named else "")


def _settled(target: str, own: Sequence[tuple[Source, int]]) -> list[SettledVerdict]:
    # A key that two tests asked for is two entries, since each test is a separate row in every dashboard.
    attempts: dict[tuple[Key, str], list[JobAttempt]] = {}
    for source, job in own:
        for line, verdict in enumerate(source.verdicts):
            if verdict.key.target == target:
                attempts.setdefault((verdict.key, verdict.test), []).append(JobAttempt(verdict, job, line))
    return [settle(tries) for tries in attempts.values()]


def _duplicated(
    target: str, own: Sequence[tuple[Source, int]], settled: Sequence[SettledVerdict]
) -> Iterable[RunFinding]:
    rivals: dict[frozenset[int], list[str]] = {}
    for one in settled:
        if one.rivals:
            rivals.setdefault(one.rivals, []).append(one.entry.verdict.key.case)
    for between, cases in rivals.items():
        files = some(source.file for source, job in own if job in between)
        yield RunFinding(
            "Duplicated",
            f"{target}: {len(cases)} cases were run by {len(between)} jobs that do not say which is the later attempt"
            f" ({files}), the first is {min(cases)}: give the results of one of them",
            target,
        )


def _stand_in(target: str) -> Iterable[str]:
    if other := in_place_of(target):
        yield f"{target}: the host ran these in the place of {other}; they say nothing about {other}"
    if is_emulated(target):
        yield f"{target}: an emulator ran these; no {of_code(target)} has"


def _strays(source: Source) -> Iterable[str]:
    planned = {item.key for item in source.plan.cases} if source.plan else set()
    # Of a verdict without a row a plain test has asked, which no plan foretells.
    strays = [one for one in source.verdicts if source.plan and one.key not in planned and (one.row or not one.test)]
    if strays:
        yield f"{source.file}: {len(strays)} results are not in the plan beside it, the first is {strays[0].key.case}"


def _missing(
    plans: Iterable[Plan], recorded: set[Key], verdicts: Sequence[Verdict], interrupted: bool, unmanned: Unmanned
) -> Iterable[AttemptEntry]:
    lost = {
        (planned.key, planned.test): (planned, plan)
        for plan in plans
        for planned in plan.cases
        if planned.key not in recorded
    }
    sibling = verdicts[-1] if verdicts else None
    return [
        AttemptEntry(_unrecorded(planned, plan, sibling, interrupted, unmanned.get((plan.target, plan.shard), "")))
        for planned, plan in lost.values()
    ]


def _unrecorded(planned: PlannedItem, plan: Plan, sibling: Verdict | None, interrupted: bool, unmanned: str) -> Verdict:
    """Return the verdict on a planned key without a record; its device is the one that its siblings ran on."""
    key = planned.key
    where = f" in shard {plan.shard}" if plan.shard else ""
    outcome, reason = (
        (Outcome.NOT_RUN, "the run was interrupted before this case")
        if interrupted
        else (Outcome.NOT_RUN, f"not run{where}: {unmanned}")
        if unmanned
        else (
            Outcome.LOST,
            f"planned{where}, but no result was found: the worker died, or its results file did not arrive",
        )
    )
    return verdict_on(
        planned,
        DeviceOfRecord.of(sibling) if sibling else DeviceOfRecord(),
        outcome,
        reason,
        tier=planned.tier or plan.tier,
        plan=plan.id,
        fingerprint=dict.fromkeys(FINGERPRINT, UNKNOWN),
        repro=f"bitgate verify {key.case} --kernel '{key.name}' --target {key.target}",
    )
