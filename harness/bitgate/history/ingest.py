"""Records into a history: each file whole or not at all, each line once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert, select, update

from bitgate.history import schema
from bitgate.history.store import Store
from bitgate.record import UNKNOWN, Stamp, Verdict
from bitgate.report.result import sentence_of
from bitgate.report.source import Source, read_source, results_files
from bitgate.report.text import one_line

CHUNK = 5000
"""Rows of one statement."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Ingested:
    """What became of one file. ``added`` of its ``verdicts`` were new; ``flaws``: what could not be read."""

    file: Path
    verdicts: int
    added: int
    flaws: tuple[str, ...] = ()


def ingest(store: Store, paths: Sequence[Path]) -> Iterator[Ingested]:
    """Results files, or folders that hold some at any depth, a transaction each. UsageError for a path that holds
    none."""
    for file in results_files(paths):
        source = read_source(file)
        yield Ingested(file, len(source.verdicts), _store(store, source), source.flaws)


def _store(store: Store, source: Source) -> int:
    lines = _rows(source)
    if not lines:
        return 0
    with store.writing() as connection:
        runs = _numbered(connection, schema.runs, [line.run for line in lines])
        starts = {line.job["hash"]: (line.job, runs[line.run["hash"]]) for line in lines}
        jobs = _numbered(connection, schema.jobs, [_job(job, run) for job, run in starts.values()])
        known = _known_lines(connection, set(jobs.values()))
        fresh = {line.verdict["line"]: line for line in lines if line.verdict["line"] not in known}
        parts = {
            name: _numbered(connection, table, [getattr(line, name) for line in fresh.values()])
            for name, table in (("case", schema.cases), ("machine", schema.machines), ("build", schema.builds))
        }
        rows = []
        for line in fresh.values():
            numbers = {f"{name}_id": parts[name][getattr(line, name)["hash"]] for name in parts}
            rows.append({**line.verdict, **numbers, "job_id": jobs[line.job["hash"]]})
        for chunk in _chunks(rows):
            connection.execute(insert(schema.verdicts), chunk)
        _widen(connection, runs, lines)
        return len(rows)


@dataclass(frozen=True)
class _Line:
    """The rows of one verdict."""

    run: Row
    job: Row
    case: Row
    machine: Row
    build: Row
    verdict: Row


def _rows(source: Source) -> list[_Line]:
    apart = Stamp(f"unstamped-{source.content[:16]}", 1, source.started)
    """Of lines from before runs were stamped: their file is their run, and its line their time within it."""
    lines = []
    for number, verdict in enumerate(source.verdicts, 1):
        stamp = verdict.run or apart
        lines.append(_line(verdict, stamp, 0 if verdict.run else number))
    return lines


def _line(verdict: Verdict, stamp: Stamp, number: int) -> _Line:
    key, prints = verdict.key, verdict.fingerprint
    run = _hashed(name=stamp.id, started="", ended="")
    job = _hashed(run=stamp.id, attempt=stamp.attempt, job=stamp.job, shard=stamp.shard)
    case = _hashed(
        case=key.case,
        kernel=key.kernel,
        instance=key.instance,
        options=json.dumps(dict(key.options)) if key.options else "{}",
        fill=key.fill,
        seed=key.seed,
        schedule=key.schedule,
        suite=verdict.suite,
        test=verdict.test,
    )
    machine = _hashed(
        device=verdict.device_name,
        kind=verdict.device_kind,
        platform=verdict.platform,
        host=prints.get("host", UNKNOWN),
        os=prints.get("os", UNKNOWN),
        driver=prints.get("driver", UNKNOWN),
        runtime=prints.get("runtime", UNKNOWN),
    )
    build = _hashed(
        build=prints.get("build", UNKNOWN),
        compiler=prints.get("compiler", UNKNOWN),
        commit=prints.get("commit", UNKNOWN),
    )
    red = not verdict.green
    stored = _clean(
        target=key.target,
        tier=verdict.tier,
        time=stamp.instant.astimezone(timezone.utc).isoformat(timespec="microseconds"),
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
    return _Line(run, job, case, machine, build, stored | {"line": _hash([*parts, *stored.values(), number])})


def _job(job: Row, run: int) -> Row:
    """With the number of its run instead of the name, which the hash is made of."""
    return {name: value for name, value in job.items() if name != "run"} | {"run_id": run}


@lru_cache(maxsize=4096)
def _hashed(**values: Any) -> Row:
    row = _clean(**values)
    return row | {"hash": _hash(row.values())}


def _clean(**values: Any) -> Row:
    return {name: value.replace("\0", "?") if isinstance(value, str) else value for name, value in values.items()}


def _hash(values: Iterable[Any]) -> str:
    """Of values whose text is without NUL."""
    return hashlib.sha256("\0".join(map(str, values)).encode()).hexdigest()[:32]


def _numbered(connection: Connection, table: Table, rows: Iterable[Row]) -> dict[str, int]:
    """The numbers of rows by their hash; those that are not there yet are added."""
    wanted = {row["hash"]: row for row in rows}
    found = _numbers(connection, table, wanted)
    fresh = [row for name, row in wanted.items() if name not in found]
    for chunk in _chunks(fresh):
        connection.execute(insert(table), chunk)
    return found | _numbers(connection, table, [row["hash"] for row in fresh])


def _numbers(connection: Connection, table: Table, hashes: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in _chunks(hashes):
        rows = connection.execute(select(table.c.hash, table.c.id).where(table.c.hash.in_(chunk)))
        found |= {row.hash: row.id for row in rows}
    return found


def _known_lines(connection: Connection, jobs: Iterable[int]) -> set[str]:
    found: set[str] = set()
    for chunk in _chunks(jobs):
        found |= set(connection.scalars(select(schema.verdicts.c.line).where(schema.verdicts.c.job_id.in_(chunk))))
    return found


def _widen(connection: Connection, runs: Mapping[str, int], lines: Sequence[_Line]) -> None:
    """The span of a run from its first verdict to its last."""
    spans: dict[str, list[str]] = {}
    for line in lines:
        spans.setdefault(line.run["hash"], []).append(line.verdict["time"])
    table = schema.runs
    for name, times in spans.items():
        mine = table.c.id == runs[name]
        started, ended = connection.execute(select(table.c.started, table.c.ended).where(mine)).one()
        first, last = min(filter(None, [started, *times])), max([ended, *times])
        connection.execute(update(table).where(mine).values(started=first, ended=last))


def _chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
