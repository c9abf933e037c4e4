"""Tables of durations from records of past runs, a file a target, that a machine without GPU plans by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bitgate.model import ProblemError, parse_case_id
from bitgate.results.record import Verdict
from bitgate.suite import durations


@dataclass(frozen=True)
class RecordedRow:
    """Row of a written table: the number of runs on a class of machines, and of cases."""

    file: Path
    machine: str
    runs: int
    cases: int


def note_runs(verdicts: Iterable[Verdict], folder: Path) -> list[RecordedRow]:
    """Add these runs to ``<target>.json`` in ``folder``, the oldest first. A night is one run, whatever its shards.
    Only what was compared counts."""
    runs: dict[tuple[str, str], dict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        if verdict.compared and "total" in verdict.seconds:
            run = verdict.run.id if verdict.run else ""
            runs[verdict.key.target, verdict.device_name][run].append(verdict)
    noted = []
    for (target, machine), by_run in sorted(runs.items()):
        file = folder / f"{target}.json"
        for verdicts_of_run in sorted(by_run.values(), key=_begun):
            durations.note(file, machine, verdicts_of_run, _work(verdicts_of_run))
        every = (verdict.key for run_ in by_run.values() for verdict in run_)
        cases = {durations.name(key.case, key.kernel, key.instance, key.fill) for key in every}
        noted.append(RecordedRow(file, machine, len(by_run), len(cases)))
    return noted


def _begun(run: Iterable[Verdict]) -> str:
    return min(verdict.run.time if verdict.run else "" for verdict in run)


def _work(run: Iterable[Verdict]) -> dict[str, int]:
    """Return what each problem's time grows with; nothing of an unknown operation, though its seconds count."""
    work: dict[str, int] = {}
    for case in {verdict.key.case for verdict in run}:
        try:
            work[case] = durations.work_of(parse_case_id(case))
        except ProblemError:
            continue
    return work
