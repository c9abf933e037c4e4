"""Timings for a history: samples of what was timed of this tree's sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bitgate.core.untrusted import InvalidInput, parse_json
from bitgate.lab.history.rows import StoredLine, build_of, case_of, clean, hash_of, machine_of, run_and_job, time_of
from bitgate.results.record import Stamp
from bitgate.results.record.event import BadLine, RecordError
from bitgate.results.record.timing import Timing, TimingStatus, scan

NAME = "bench.jsonl"


def timings_files(path: Path) -> list[Path]:
    """Return the files of timings in a folder, or the file itself if its first line is a timing."""
    if path.is_dir():
        return sorted(path.rglob(NAME))
    return [path] if path.is_file() and (path.name == NAME or _begins_with_timing(path)) else []


def _begins_with_timing(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            first = parse_json(file.readline(1 << 22))
    except (OSError, InvalidInput):
        return False
    return isinstance(first, dict) and "rounds" in first


def read_timings(file: Path) -> tuple[list[Timing], tuple[str, ...]]:
    """Return the rows of a file, and what could not be read."""
    try:
        found = list(scan(file))
    except RecordError as error:
        return [], (str(error),)
    bad = [one for one in found if isinstance(one, BadLine)]
    return [one for one in found if isinstance(one, Timing)], tuple(f"{file}:{one.number}: {one.why}" for one in bad)


def lines_of(rows: Sequence[Timing]) -> list[StoredLine]:
    """Return the lines of candidates that were timed to the end.

    Other sources than the tree's (a gate's base) are left out, as is a row that states neither its run nor its time.
    """
    own = (row for row in rows if row.status is TimingStatus.TIMED and row.seconds and not row.build)
    return [line for line in map(_stored_line, own) if line is not None]


def series_of(row: Timing) -> str:
    """Name the way of timing, whatever was timed: ``device events``, ``steady clock, cold``.

    Seconds taken in another way are another series, so that a change of settings is not a step.
    """
    settings = row.settings
    words = [str(settings.get("clock", "")) or "seconds"]
    words += ["cold"] * bool(settings.get("cold"))
    words += ["queued"] * bool(settings.get("queued"))
    words += ["launch by launch"] * (settings.get("batch_seconds") == 0)
    rotate = settings.get("rotate", 1)
    words += [f"{rotate} buffers"] * (rotate != 1)
    words += [f"with {', '.join(row.includes)}"] * bool(row.includes)
    return ", ".join(words)


def _stored_line(row: Timing) -> StoredLine | None:
    try:
        stamp = Stamp(
            str(row.run["id"]),
            int(row.run.get("attempt", 1)),
            str(row.run["time"]),
            str(row.run.get("job", "")),
            str(row.run.get("shard", "")),
        )
        time = time_of(stamp)
    except (KeyError, TypeError, ValueError):
        return None
    run, job = run_and_job(stamp)
    case = case_of(row.key)
    device = {name: row.device.get(name, "") for name in ("name", "kind")}
    machine = machine_of(device["name"], device["kind"], row.platform, row.fingerprint)
    build = build_of(row.fingerprint)
    fields = clean(target=row.target, time=time, series=series_of(row))
    parts = [part["hash"] for part in (job, case, machine, build)]
    samples = tuple({**fields, "number": number, "seconds": one} for number, one in enumerate(row.seconds))
    name = hash_of([*parts, *fields.values(), row.side, *row.seconds])
    return StoredLine(run, job, case, machine, build, name, time, samples)
