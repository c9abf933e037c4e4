"""Storage of lines in a history's tables: each once, in one transaction, with its parts identified by a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone
from functools import lru_cache
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, insert, select, update

from bitgate.lab.history import schema
from bitgate.lab.history.store import HistoryStore
from bitgate.results.record import UNKNOWN, Key, Stamp

CHUNK = 5000
"""Rows of one statement."""

Row = dict[str, Any]


@dataclass(frozen=True)
class StoredLine:
    """The rows made of one line of a file.

    ``name`` is a hash of everything stored of it, so that the same line is stored once. ``rows`` lack the numbers of
    the other tables.
    """

    run: Row
    job: Row
    case: Row
    machine: Row
    build: Row
    name: str
    time: str
    rows: tuple[Row, ...]


def stored(store: HistoryStore, table: Table, lines: Sequence[StoredLine]) -> int:
    """Store the lines, all or none, and return how many are new."""
    if not lines:
        return 0
    with store.writing() as connection:
        runs = _numbered(connection, schema.runs, [line.run for line in lines])
        jobs = _jobs(connection, runs, lines)
        known = _known(connection, table, set(jobs.values()))
        fresh = {line.name: line for line in lines if line.name not in known}
        parts = {
            name: _numbered(connection, of_part, [getattr(line, name) for line in fresh.values()])
            for name, of_part in (("case", schema.cases), ("machine", schema.machines), ("build", schema.builds))
        }
        rows = []
        for line in fresh.values():
            numbers = {f"{name}_id": parts[name][getattr(line, name)["hash"]] for name in parts}
            numbers["job_id"] = jobs[line.job["hash"]]
            rows += [{**row, **numbers, "line": line.name} for row in line.rows]
        for chunk in _chunks(rows):
            connection.execute(insert(table), chunk)
        _widen(connection, runs, lines)
        return len(fresh)


def run_and_job(stamp: Stamp) -> tuple[Row, Row]:
    """Return the run of a stamp, and the start of bitgate, which has the run's name where its table has a number."""
    run = hashed(name=stamp.id, started="", ended="")
    return run, hashed(run=stamp.id, attempt=stamp.attempt, job=stamp.job, shard=stamp.shard)


GPU = " GPU "
"""Between the name of a host and the address of one of its GPUs."""


def machine_of(device: str, kind: str, platform: str, prints: Mapping[str, Any], gpu: str = "") -> Row:
    """Return the row of a machine; that of a GPU with an address has it after the host's name."""
    known = {name: prints.get(name, UNKNOWN) for name in ("host", "os", "driver", "runtime")}
    if gpu and known["host"] != UNKNOWN:
        known["host"] = f"{known['host']}{GPU}{gpu}"
    return hashed(device=device, kind=kind, platform=platform, **known)


def build_of(prints: Mapping[str, Any]) -> Row:
    return hashed(**{name: prints.get(name, UNKNOWN) for name in ("build", "compiler", "commit")})


def time_of(stamp: Stamp) -> str:
    """Return the time as the tables have it, so that the order of texts is that of times."""
    return stamp.instant.astimezone(timezone.utc).isoformat(timespec="microseconds")


def case_of(key: Key, suite: str = "", test: str = "") -> Row:
    return hashed(
        case=key.case,
        kernel=key.kernel,
        instance=key.instance,
        options=json.dumps(dict(key.options)) if key.options else "{}",
        fill=key.fill,
        seed=key.seed,
        schedule=key.schedule,
        suite=suite,
        test=test,
    )


@lru_cache(maxsize=4096)
def hashed(**values: Any) -> Row:
    row = clean(**values)
    return row | {"hash": hash_of(row.values())}


def clean(**values: Any) -> Row:
    return {name: value.replace("\0", "?") if isinstance(value, str) else value for name, value in values.items()}


def hash_of(values: Iterable[Any]) -> str:
    """Return a hash of values whose text is without NUL."""
    return hashlib.sha256("\0".join(map(str, values)).encode()).hexdigest()[:32]


def _jobs(connection: Connection, runs: Mapping[str, int], lines: Sequence[StoredLine]) -> dict[str, int]:
    """Return numbers by the hash, which is made of the run's name instead of its number."""
    starts = {line.job["hash"]: {**line.job, "run_id": runs[line.run["hash"]]} for line in lines}
    return _numbered(connection, schema.jobs, [_without(job, "run") for job in starts.values()])


def _without(row: Row, name: str) -> Row:
    return {key: value for key, value in row.items() if key != name}


def _known(connection: Connection, table: Table, jobs: Iterable[int]) -> set[str]:
    found: set[str] = set()
    for chunk in _chunks(jobs):
        statement = select(table.c.line).where(table.c.job_id.in_(chunk)).distinct()
        found |= set(connection.scalars(statement))
    return found


def _numbered(connection: Connection, table: Table, rows: Iterable[Row]) -> dict[str, int]:
    """Return the numbers of rows by their hash; missing rows are added."""
    by_hash = {row["hash"]: row for row in rows}
    found = _numbers(connection, table, by_hash)
    fresh = [row for name, row in by_hash.items() if name not in found]
    for chunk in _chunks(fresh):
        connection.execute(insert(table), chunk)
    return found | _numbers(connection, table, [row["hash"] for row in fresh])


def _numbers(connection: Connection, table: Table, hashes: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in _chunks(hashes):
        rows = connection.execute(select(table.c.hash, table.c.id).where(table.c.hash.in_(chunk)))
        found |= {row.hash: row.id for row in rows}
    return found


def _widen(connection: Connection, runs: Mapping[str, int], lines: Sequence[StoredLine]) -> None:
    """Widen the span of each run to its first and last line."""
    times: dict[str, list[str]] = {}
    for line in lines:
        times.setdefault(line.run["hash"], []).append(line.time)
    table = schema.runs
    for name, found in times.items():
        mine = table.c.id == runs[name]
        started, ended = connection.execute(select(table.c.started, table.c.ended).where(mine)).one()
        first, last = min(filter(None, [started, *found])), max([ended, *found])
        connection.execute(update(table).where(mine).values(started=first, ended=last))


def _chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
