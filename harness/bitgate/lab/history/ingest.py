"""Ingestion of records into a history: each file whole or not at all, each line once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.lab.history import schema
from bitgate.lab.history.rows import (
    StoredLine,
    build_of,
    case_of,
    clean,
    hash_of,
    machine_of,
    run_and_job,
    stored,
    time_of,
)
from bitgate.lab.history.samples import NAME, lines_of, read_timings, timings_files
from bitgate.lab.history.store import HistoryStore
from bitgate.results.record import Stamp, Verdict
from bitgate.results.report.result import sentence_of
from bitgate.results.report.source import RESULTS, Source, read_source, results_files
from bitgate.results.report.text import one_line


@dataclass(frozen=True)
class IngestResult:
    """The result of one file: ``added`` of its ``lines`` were new; ``flaws``: what could not be read."""

    file: Path
    lines: int
    added: int
    flaws: tuple[str, ...] = ()
    what: str = "verdicts"


def ingest(store: HistoryStore, paths: Sequence[Path]) -> Iterator[IngestResult]:
    """Store results and timings from files, or folders that hold some at any depth, one transaction a file.

    Raises UsageError for a path that holds none.
    """
    timed = {path: timings_files(path) for path in paths}
    for path in paths:
        if path.is_dir() and not timed[path] and not results_files([path], may_be_empty=True):
            raise UsageError(f"{path}: holds no {RESULTS} or {NAME} at any depth; give another folder")
    for file in results_files([path for path in paths if not timed[path]]):
        yield _verdicts(store, file)
    both = [path for path in paths if timed[path] and path.is_dir()]
    for file in results_files(both, may_be_empty=True):
        yield _verdicts(store, file)
    for file in sorted({file.resolve() for found in timed.values() for file in found}):
        read, flaws = read_timings(file)
        added = stored(store, schema.samples, lines_of(read))
        yield IngestResult(file, len(read), added, flaws, "timings")


def _verdicts(store: HistoryStore, file: Path) -> IngestResult:
    source = read_source(file)
    return IngestResult(file, len(source.verdicts), stored(store, schema.verdicts, _rows(source)), source.flaws)


def _rows(source: Source) -> list[StoredLine]:
    apart = Stamp(f"unstamped-{source.content[:16]}", 1, source.started)
    """The stamp of lines from before runs were stamped: their file is their run, and their line the time within it."""
    lines = []
    for number, verdict in enumerate(source.verdicts, 1):
        stamp = verdict.run or apart
        lines.append(_stored_line(verdict, stamp, 0 if verdict.run else number))
    return lines


def _stored_line(verdict: Verdict, stamp: Stamp, number: int) -> StoredLine:
    key, prints = verdict.key, verdict.fingerprint
    run, job = run_and_job(stamp)
    case = case_of(verdict.key, verdict.suite, verdict.test)
    gpu = verdict.device_id.get("pci") or verdict.device_id.get("uuid", "")
    machine = machine_of(verdict.device_name, verdict.device_kind, verdict.platform, prints, gpu)
    build = build_of(prints)
    red = not verdict.green
    fields = clean(
        target=key.target,
        tier=verdict.tier,
        time=time_of(stamp),
        outcome=verdict.outcome.value,
        green=verdict.green,
        compared=verdict.compared,
        digest=verdict.digest,
        seconds=verdict.seconds.get("total", sum(verdict.seconds.values())),
        kind=verdict.diagnosis.kinds[0] if red and verdict.diagnosis and verdict.diagnosis.kinds else "",
        path=one_line(verdict.dispatch.get("path", ""), 100) if red else "",
        sentence=one_line(sentence_of(verdict)) if red else "",
        repro=one_line(verdict.repro, 2000) if red else "",
    )
    parts = [part["hash"] for part in (job, case, machine, build)]
    name = hash_of([*parts, *fields.values(), number])
    return StoredLine(run, job, case, machine, build, name, fields["time"], (fields,))
