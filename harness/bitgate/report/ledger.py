"""The ledger of one target: exactly one entry for everything planned or recorded, and how it came to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from bitgate.errors import UsageError
from bitgate.record import Key, Outcome, RecordError, Verdict, read
from bitgate.report.plan_file import PlanFile, PlannedEntry, read_plan

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
    plan: PlanFile | None
    cut: bool
    started: str

    @property
    def targets(self) -> set[str]:
        planned = {self.plan.target} if self.plan else set()
        return planned | {verdict.key.target for verdict in self.verdicts}


def read_ledgers(paths: Sequence[Path], *, interrupted: bool = False) -> tuple[Ledger, ...]:
    """One ledger a target from results files, or folders that hold them, in the order given: later attempts win.

    A plan beside a results file adds what it planned and nobody recorded: LOST, or NOT_RUN if the run was interrupted.
    """
    files = dict.fromkeys(file.resolve() for path in paths for file in _results_files(path))
    sources = [_source(file) for file in files]
    targets = sorted({target for source in sources for target in source.targets})
    return tuple(_ledger(target, [s for s in sources if target in s.targets], interrupted) for target in targets)


def _results_files(path: Path) -> list[Path]:
    if path.is_file() or (path.name == RESULTS and path.with_name(PLAN).is_file()):
        return [path]
    if not path.is_dir():
        raise UsageError(f"{path}: no such file or folder; give a {RESULTS} or a folder that holds some")
    # A plan without results is a run that died before its first verdict: all of it is lost, none of it silently.
    found = {plan.with_name(RESULTS) for plan in path.rglob(PLAN)} | set(path.rglob(RESULTS))
    if not found:
        raise UsageError(f"{path}: holds no {RESULTS} at any depth; run `bitgate run` first, or give another folder")
    return sorted(found)


def _source(file: Path) -> _Source:
    plan_path = file.with_name(PLAN)
    plan = read_plan(plan_path)
    # A plan is written before the first case, a results file last touched after the last one.
    modified = (plan_path if plan else file).stat().st_mtime
    started = datetime.fromtimestamp(int(modified), timezone.utc).isoformat()
    if not file.is_file():
        return _Source(file, (), plan, False, started)
    try:
        return _Source(file, tuple(read(file)), plan, _cut(file), started)
    except RecordError as error:
        raise UsageError(str(error)) from None


def _cut(file: Path) -> bool:
    """True if the last line has no end: the process died while it wrote."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        stream.seek(max(0, size - 1))
        return size > 0 and stream.read() != b"\n"


def _ledger(target: str, sources: Sequence[_Source], interrupted: bool) -> Ledger:
    verdicts = [verdict for source in sources for verdict in source.verdicts if verdict.key.target == target]
    plans = [source.plan for source in sources if source.plan and source.plan.target == target]
    recorded = _last_attempts(verdicts)
    missing = _missing(plans, {entry.verdict.key for entry in recorded}, verdicts, interrupted)
    place = {planned.key: number for number, planned in enumerate(p for plan in plans for p in plan.entries)}
    entries = sorted((*recorded, *missing), key=lambda entry: place.get(entry.verdict.key, len(place)))
    tiers = (*(plan.tier for plan in plans), *(verdict.tier for verdict in verdicts))
    return Ledger(
        target=target,
        tier=next((tier for tier in tiers if tier), ""),
        entries=tuple(entries),
        plan=" ".join(dict.fromkeys(plan.id for plan in plans)),
        started=min(source.started for source in sources),
        shards=tuple(sorted({m[1] for s in sources if (m := re.fullmatch(r"s(\d+of\d+)", s.file.parent.name))})),
        notes=tuple(f"{s.file}: its last line was cut by a crash and is not counted" for s in sources if s.cut),
    )


def _last_attempts(verdicts: Iterable[Verdict]) -> list[Entry]:
    # The same key asked by two tests is two entries: each test is a row of its own in every dashboard.
    attempts: dict[tuple[Key, str], list[Verdict]] = {}
    for verdict in verdicts:
        attempts.setdefault((verdict.key, verdict.test), []).append(verdict)
    return [Entry(tries[-1], tuple(verdict.outcome for verdict in tries[:-1])) for tries in attempts.values()]


def _missing(
    plans: Iterable[PlanFile], recorded: set[Key], verdicts: Sequence[Verdict], interrupted: bool
) -> Iterable[Entry]:
    lost = {
        (planned.key, planned.test): (planned, plan)
        for plan in plans
        for planned in plan.entries
        if planned.key not in recorded
    }
    sibling = verdicts[-1] if verdicts else None
    return [Entry(_unrecorded(planned, plan, sibling, interrupted)) for planned, plan in lost.values()]


def _unrecorded(planned: PlannedEntry, plan: PlanFile, sibling: Verdict | None, interrupted: bool) -> Verdict:
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
