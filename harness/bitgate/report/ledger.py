"""The ledger of one target: exactly one entry for everything planned or recorded, and how it came to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from bitgate.cases.plan import Plan, PlanError, PlannedItem
from bitgate.errors import UsageError
from bitgate.record import Key, Outcome, RecordError, Verdict, read

RESULTS = "results.jsonl"
PLAN = "plan.json"


@dataclass(frozen=True)
class Entry:
    """The final verdict on one key and test. ``earlier``: outcomes of the attempts before it, oldest first."""

    verdict: Verdict
    earlier: tuple[Outcome, ...] = ()

    @property
    def changed(self) -> bool:
        """True if an attempt before this one ended otherwise: the same bits went in, so that is a finding itself."""
        return any(outcome is not self.verdict.outcome for outcome in self.earlier)


@dataclass(frozen=True)
class Ledger:
    """All entries of one target, in the order of the plan, then of the record; ``notes`` are for the reader."""

    target: str
    tier: str
    entries: tuple[Entry, ...]
    plan: str = ""
    started: str = ""
    shards: tuple[str, ...] = ()
    """``<i>of<n>`` of every shard that went into it; empty if the run was not sharded."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Source:
    """One results file, with the plan beside it."""

    file: Path
    verdicts: tuple[Verdict, ...]
    plan: Plan | None
    cut: bool
    started: str

    @property
    def targets(self) -> set[str]:
        planned = {self.plan.target} if self.plan else set()
        return planned | {verdict.key.target for verdict in self.verdicts}


def read_ledgers(paths: Sequence[Path], *, interrupted: bool = False, may_be_empty: bool = False) -> tuple[Ledger, ...]:
    """One ledger a target from results files, or folders that hold them, in the order given: later attempts win.

    A plan beside a results file adds what it planned and nobody recorded: LOST, or NOT_RUN if the run was interrupted.
    UsageError if a path does not exist, or holds no results and ``may_be_empty`` is not set.
    """
    files = dict.fromkeys(file.resolve() for path in paths for file in _results_files(path, may_be_empty))
    sources = [_source(file) for file in files]
    targets = sorted({target for source in sources for target in source.targets})
    return tuple(_ledger(target, [s for s in sources if target in s.targets], interrupted) for target in targets)


def _results_files(path: Path, may_be_empty: bool) -> list[Path]:
    if path.is_file() or (path.name == RESULTS and path.with_name(PLAN).is_file()):
        return [path]
    if not path.is_dir():
        raise UsageError(f"{path}: no such file or folder; give a {RESULTS} or a folder that holds some")
    # A plan without results is a run that died before its first verdict: all of it is lost, none of it silently.
    found = {plan.with_name(RESULTS) for plan in path.rglob(PLAN)} | set(path.rglob(RESULTS))
    if not found and not may_be_empty:
        raise UsageError(f"{path}: holds no {RESULTS} at any depth; run `bitgate run` first, or give another folder")
    return sorted(found)


def _source(file: Path) -> _Source:
    plan_path = file.with_name(PLAN)
    try:
        plan = Plan.read(plan_path) if plan_path.is_file() else None
        verdicts = tuple(read(file)) if file.is_file() else ()
    except (PlanError, RecordError) as error:
        raise UsageError(str(error)) from None
    started = plan.created if plan and plan.created else _modified(file if file.is_file() else plan_path)
    return _Source(file, verdicts, plan, _cut(file), started)


def _modified(file: Path) -> str:
    return datetime.fromtimestamp(int(file.stat().st_mtime), timezone.utc).isoformat()


def _cut(file: Path) -> bool:
    """True if the last line has no end: the process died while it wrote."""
    if not file.is_file() or not (size := file.stat().st_size):
        return False
    with file.open("rb") as stream:
        stream.seek(size - 1)
        return stream.read() != b"\n"


def _ledger(target: str, sources: Sequence[_Source], interrupted: bool) -> Ledger:
    verdicts = [verdict for source in sources for verdict in source.verdicts if verdict.key.target == target]
    plans = [source.plan for source in sources if source.plan and source.plan.target == target]
    recorded = _last_attempts(verdicts)
    missing = _missing(plans, {entry.verdict.key for entry in recorded}, verdicts, interrupted)
    place = {planned.key: number for number, planned in enumerate(p for plan in plans for p in plan.cases)}
    entries = sorted((*recorded, *missing), key=lambda entry: place.get(entry.verdict.key, len(place)))
    tiers = (*(plan.tier for plan in plans), *(verdict.tier for verdict in verdicts))
    return Ledger(
        target=target,
        tier=next((tier for tier in tiers if tier), ""),
        entries=tuple(entries),
        plan=" ".join(dict.fromkeys(plan.id for plan in plans)),
        started=min(source.started for source in sources),
        shards=tuple(sorted({m[1] for s in sources if (m := re.fullmatch(r"s(\d+of\d+)", s.file.parent.name))})),
        notes=tuple(note for source in sources for note in _notes(source)),
    )


def _notes(source: _Source) -> Iterable[str]:
    if source.cut:
        yield f"{source.file}: its last line was cut by a crash and is not counted"
    planned = {item.key for item in source.plan.cases} if source.plan else set()
    strays = [verdict for verdict in source.verdicts if source.plan and verdict.key not in planned]
    if strays:
        yield f"{source.file}: {len(strays)} results are not in the plan beside it, the first is {strays[0].key.case}"


def _last_attempts(verdicts: Iterable[Verdict]) -> list[Entry]:
    # The same key asked by two tests is two entries: each test is a row of its own in every dashboard.
    attempts: dict[tuple[Key, str], list[Verdict]] = {}
    for verdict in verdicts:
        attempts.setdefault((verdict.key, verdict.test), []).append(verdict)
    return [Entry(tries[-1], tuple(verdict.outcome for verdict in tries[:-1])) for tries in attempts.values()]


def _missing(
    plans: Iterable[Plan], recorded: set[Key], verdicts: Sequence[Verdict], interrupted: bool
) -> Iterable[Entry]:
    lost = {
        (planned.key, planned.test): (planned, plan)
        for plan in plans
        for planned in plan.cases
        if planned.key not in recorded
    }
    sibling = verdicts[-1] if verdicts else None
    return [Entry(_unrecorded(planned, plan, sibling, interrupted)) for planned, plan in lost.values()]


def _unrecorded(planned: PlannedItem, plan: Plan, sibling: Verdict | None, interrupted: bool) -> Verdict:
    """The verdict on a planned key without a record; its device is the one that its siblings ran on."""
    key = planned.key
    outcome, reason = (
        (Outcome.NOT_RUN, "the run was interrupted before this case")
        if interrupted
        else (Outcome.LOST, "planned, but no result was found: the worker died, or its results file did not arrive")
    )
    return Verdict(
        key,
        outcome,
        reason,
        suite=planned.suite,
        test=planned.test,
        tier=plan.tier,
        human=planned.human,
        plan=plan.id,
        platform=sibling.platform if sibling else "",
        device_kind=sibling.device_kind if sibling else "",
        device_name=sibling.device_name if sibling else "",
        fingerprint=sibling.fingerprint if sibling else {},
        repro=f"bitgate verify {key.case} --kernel '{key.kernel}.{key.instance}' --target {key.target}",
    )
