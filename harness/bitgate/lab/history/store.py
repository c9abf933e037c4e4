"""A history's database: found, opened, created or brought up to date."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, text, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, NoSuchModuleError

from bitgate.core.errors import UsageError
from bitgate.lab.history.schema import VERSION, metadata, samples, schema_version


def _benchmarks(connection: Connection) -> None:
    """Migrate from 1 to 2: the repro line of a red case, and a table for the samples of a benchmark."""
    connection.execute(text("ALTER TABLE verdicts ADD COLUMN repro TEXT NOT NULL DEFAULT ''"))
    samples.create(connection)


def _lines_of_samples(connection: Connection) -> None:
    """Migrate from 2 to 3: samples know their line. Version 2 could not store any yet."""
    samples.drop(connection)
    samples.create(connection)


STEPS: dict[int, Callable[[Connection], None]] = {1: _benchmarks, 2: _lines_of_samples}
"""Migrations, by the version that each starts from."""


LOCK_SECONDS = 60
"""Seconds to wait for another writer; an ingest holds the lock for seconds."""
_LOCK = 0x62697467
"""Key of PostgreSQL's advisory lock: one writer at a time, as in SQLite."""
_WRITES = "bitgate_writes"


def default_url() -> str:
    """Return ``$BITGATE_HISTORY``, else a file in the user's data folder."""
    return os.environ.get("BITGATE_HISTORY") or str(user_data_path("bitgate") / "history.sqlite")


class HistoryStore:
    """An open history. All text in it is without NUL, which PostgreSQL does not take."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        """The name in messages, without a password."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one state of the history, whatever is ingested meanwhile."""
        with self._usage_errors(), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction, alone: all of it is stored, or nothing."""
        with self._usage_errors(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _usage_errors(self) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, InterfaceError) as error:
            message = (str(error.orig).strip() or type(error.orig).__name__).splitlines()[0]
            raise UsageError(f"the history {self.name} cannot be used: {message}") from None
        except UnicodeError as error:  # a host that is no name
            raise UsageError(f"the history {self.name} cannot be used: {error}") from None


@contextmanager
def opened(url: str = "", *, must_exist: bool = False) -> Iterator[HistoryStore]:
    """Open the history of a file, or of a URL such as ``postgresql://user@host/name``.

    It is created if it does not exist, and brought up to date if an earlier bitgate made it. Raises UsageError, in one
    line, if that fails, or it is of a newer bitgate.
    """
    found = _url(url or default_url())
    if found.get_backend_name() == "sqlite" and found.database:
        file = Path(found.database)
        if must_exist and not file.is_file():
            raise UsageError(f"{file}: there is no history yet; make one with `bitgate history ingest FILE...`")
        _make_room(file)
    store = HistoryStore(_engine(found), found.render_as_string(hide_password=True))
    try:
        _bring_up_to_date(store)
        yield store
    finally:
        store.close()


def _url(stated: str) -> URL:
    if "://" not in stated:
        return URL.create("sqlite", database=str(Path(stated).expanduser().absolute()))
    try:
        url = make_url(stated)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise UsageError(f"--history {stated.rpartition('@')[2]:.80}: no URL: {str(error).splitlines()[0]}") from None
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise UsageError(f"--history {backend}://: a file, sqlite:///FILE or postgresql://USER@HOST/NAME")
    if not url.database or url.database == ":memory:":
        raise UsageError("--history sqlite://: name a file: sqlite:///FILE")
    return url.set(database=str(Path(url.database).absolute()))


def _make_room(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the history {file} cannot be made: {error.strerror}; set BITGATE_HISTORY") from None


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": LOCK_SECONDS})
        event.listen(engine, "connect", _of_sqlite)
        event.listen(engine, "begin", _begin)
        return engine
    try:
        return create_engine(url, connect_args={"connect_timeout": LOCK_SECONDS // 2})
    except (ImportError, NoSuchModuleError):
        raise UsageError("a history on PostgreSQL needs psycopg: pip install 'bitgate[postgres]'") from None


def _of_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # otherwise the driver begins by itself, and only before the first INSERT
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    # A reader that starts to write during another write would fail at once, whatever the timeout.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _bring_up_to_date(store: HistoryStore) -> None:
    with store.reading() as connection:
        if _version(connection, store) == VERSION:
            return
    with store.writing() as connection:
        version = _version(connection, store)  # again: another process may have been faster
        if version is None:
            metadata.create_all(connection)
            connection.execute(insert(schema_version).values(version=VERSION))
            return
        for step in range(version, VERSION):
            STEPS[step](connection)
        connection.execute(update(schema_version).values(version=VERSION))


def _version(connection: Connection, store: HistoryStore) -> int | None:
    """Return the version; None for an empty database."""
    tables = inspect(connection).get_table_names()
    found = connection.scalar(select(schema_version.c.version)) if schema_version.name in tables else None
    if found is None:
        if tables:
            raise UsageError(f"{store.name} holds tables ({tables[0]}), and no history: give a separate database")
        return None
    if not 1 <= found <= VERSION:
        raise UsageError(f"{store.name} is of schema {found}; this bitgate knows {VERSION}: install the newer one")
    return int(found)
