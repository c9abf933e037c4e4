"""The tables of a history, the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    type_coerce,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import shown

VERSION = 3
"""Version of the tables below; ``store.STEPS`` lead to it from any earlier one."""

metadata = MetaData()


class Checked(TypeDecorator[Any]):
    """A column that gives values of its type alone: SQLite keeps any value in any column, and a damaged file has some.

    UsageError for another value.
    """

    impl = Text
    cache_ok = True

    def __init__(self, kind: type[TypeEngine[Any]], *values: type) -> None:
        super().__init__()
        self.impl = kind()  # type: ignore[assignment]  # an instance, as SQLAlchemy makes of the class
        self.values = values

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        if value is None or isinstance(value, self.values):
            return value
        raise UsageError(f"the history is damaged: it holds {shown(repr(value))} where {self.impl!r} belongs")


TEXT, NUMBER, COUNT = Checked(Text, str), Checked(Float, float, int), Checked(BigInteger, int)

T = TypeVar("T")


def plain(column: Any) -> Any:
    """Return a column without a check of each value, for rows that ``checked`` checks: a fifth of the time."""
    kind = getattr(column.type, "impl", column.type)
    return type_coerce(column, next(one for one in (Text, Float, Boolean, Integer) if isinstance(kind, one))())


def checked(kind: type[T], parts: Iterable[Sequence[Any]]) -> Iterator[T]:
    """Yield rows of plain columns as tuples of a type. UsageError for a value that is not of it."""
    for rows in parts:
        try:
            yield from msgspec.convert([tuple(row) for row in rows], list[kind])  # type: ignore[valid-type]
        except msgspec.ValidationError as error:
            raise UsageError(f"the history is damaged: {error}") from None


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
    return Column(name, TEXT, nullable=False)


schema_version = Table("schema_version", metadata, Column("version", Checked(Integer, int), nullable=False))

runs = _named("runs", _text("name"), _text("started"), _text("ended"))
"""``name`` is the run's id in its records; ``started`` and ``ended`` are the times of its first and last verdict."""

jobs = _named(
    "jobs",
    Column("run_id", _ID, ForeignKey("runs.id"), nullable=False),
    Column("attempt", COUNT, nullable=False),
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
    Column("seed", COUNT, nullable=False),
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
    Column("seconds", NUMBER, nullable=False),
    _text("kind"),
    _text("path"),
    _text("sentence"),
    Column("repro", TEXT, nullable=False, server_default=""),
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
    Column("number", Checked(Integer, int), nullable=False),
    Column("seconds", NUMBER, nullable=False),
    Index("samples_by_case", "case_id", "target", "time"),
    Index("samples_by_job", "job_id"),
)
"""Timings of a benchmark, seconds a launch. ``series`` is the way of timing (the clock, cold caches ...), ``number``
counts within a line, and ``line`` is as in ``verdicts``, but for all samples of a line."""
