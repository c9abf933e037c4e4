"""The tables of a history, the same on SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

VERSION = 3
"""Version of the tables below; ``store.STEPS`` lead to it from any earlier one."""

metadata = MetaData()

_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in an INTEGER


def _named(name: str, *columns: Column[object] | Index) -> Table:
    """Return a table whose rows are identified by a hash of their contents, and referred to by a number."""
    return Table(
        name,
        metadata,
        Column("id", _ID, primary_key=True),
        Column("hash", String(32), nullable=False, unique=True),
        *columns,
    )


def _text(name: str) -> Column[object]:
    return Column(name, Text, nullable=False)


schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

runs = _named("runs", _text("name"), _text("started"), _text("ended"))
"""``name`` is the run's id in its records; ``started`` and ``ended`` are the times of its first and last verdict."""

jobs = _named(
    "jobs",
    Column("run_id", _ID, ForeignKey("runs.id"), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    _text("job"),
    _text("shard"),
)
"""One start of bitgate."""

cases = _named(
    "cases",
    _text("case"),
    _text("kernel"),
    _text("instance"),
    _text("options"),
    _text("fill"),
    Column("seed", BigInteger, nullable=False),
    _text("schedule"),
    _text("suite"),
    _text("test"),
    Index("cases_by_case", "case"),
)
"""A verdict's key without its target, and the test that ran it: the same on all targets. ``options`` are JSON."""

machines = _named(
    "machines",
    _text("host"),
    _text("device"),
    _text("kind"),
    _text("platform"),
    _text("os"),
    _text("driver"),
    _text("runtime"),
)

builds = _named("builds", _text("build"), _text("compiler"), _text("commit"))

verdicts = Table(
    "verdicts",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("line", String(32), nullable=False, unique=True),
    Column("job_id", _ID, ForeignKey("jobs.id"), nullable=False),
    Column("case_id", _ID, ForeignKey("cases.id"), nullable=False),
    Column("machine_id", _ID, ForeignKey("machines.id"), nullable=False),
    Column("build_id", _ID, ForeignKey("builds.id"), nullable=False),
    _text("target"),
    _text("tier"),
    _text("time"),
    _text("outcome"),
    Column("green", Boolean, nullable=False),
    Column("compared", Boolean, nullable=False),
    _text("digest"),
    Column("seconds", Float, nullable=False),
    _text("kind"),
    _text("path"),
    _text("sentence"),
    Column("repro", Text, nullable=False, server_default=""),
    Index("verdicts_by_case", "case_id", "target", "time"),
    Index("verdicts_by_job", "job_id"),
)
"""``line`` is a hash of all that is stored of a line of a record: the same line is stored once. ``time`` is UTC with
microseconds, always of one form, so that its order is that of the text. Only red verdicts have ``kind``, ``path``,
``sentence`` and ``repro``."""

samples = Table(
    "samples",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("line", String(32), nullable=False),
    Column("job_id", _ID, ForeignKey("jobs.id"), nullable=False),
    Column("case_id", _ID, ForeignKey("cases.id"), nullable=False),
    Column("machine_id", _ID, ForeignKey("machines.id"), nullable=False),
    Column("build_id", _ID, ForeignKey("builds.id"), nullable=False),
    _text("target"),
    _text("time"),
    _text("series"),
    Column("number", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Index("samples_by_case", "case_id", "target", "time"),
    Index("samples_by_job", "job_id"),
)
"""Timings of a benchmark, seconds a launch. ``series`` is the way of timing (the clock, cold caches ...), ``number``
counts within a line, and ``line`` is as in ``verdicts``, but for all samples of a line."""
