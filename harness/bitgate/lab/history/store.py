"""A history's database: found, opened, made or brought up to date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, text, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, NoSuchModuleError

from bitgate.core.errors import UsageError
from bitgate.lab.history.migrations import STEPS
from bitgate.lab.history.schema import VERSION, metadata, schema_version

PATIENCE_SECONDS = 60
"""How long one waits for another that writes; an ingest holds the lock for seconds."""
_LOCK = 0x62697467
"""Of PostgreSQL's advisory locks: one writer at a time, as SQLite has it anyway."""
_WRITES = "bitgate_writes"


def default_url() -> str:
    """``$BITGATE_HISTORY``, else a file in the user's data folder."""
    return os.environ.get("BITGATE_HISTORY") or str(user_data_path("bitgate") / "history.sqlite")


class HistoryStore:
    """An open history. All text in it is without NUL, which PostgreSQL does not take."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        """As messages call it: without a password."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._told(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, alone: all of it is stored, or nothing."""
        with self._told(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, InterfaceError) as error:
            said = (str(error.orig).strip() or type(error.orig).__name__).splitlines()[0]
            raise UsageError(f"the history {self.name} cannot be used: {said}") from None


@contextmanager
def opened(url: str = "", *, must_exist: bool = False) -> Iterator[HistoryStore]:
    """The history of a file, or of a URL such as ``postgresql://user@host/name``; made if it is not there, brought up
    to date if an earlier bitgate made it. UsageError, in one line, if it cannot be, or is of a newer bitgate."""
    found = _url(url or default_url())
    if found.get_backend_name() == "sqlite" and found.database:
        file = Path(found.database)
        if must_exist and not file.is_file():
            raise UsageError(f"{file}: no history is there yet; make one with `bitgate history ingest FILE...`")
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
        engine = create_engine(url, connect_args={"timeout": PATIENCE_SECONDS})
        event.listen(engine, "connect", _of_sqlite)
        event.listen(engine, "begin", _begin)
        return engine
    try:
        return create_engine(url, connect_args={"connect_timeout": PATIENCE_SECONDS // 2})
    except (ImportError, NoSuchModuleError):
        raise UsageError("a history on PostgreSQL needs psycopg: pip install 'bitgate[postgres]'") from None


def _of_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # the driver would begin by itself, and only before the first INSERT
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    # A reader that starts to write while another one does would fail at once, whatever the timeout.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _bring_up_to_date(store: HistoryStore) -> None:
    with store.reading() as connection:
        if _version(connection, store) == VERSION:
            return
    with store.writing() as connection:
        version = _version(connection, store)  # again: another process may have been here first
        if version is None:
            metadata.create_all(connection)
            connection.execute(insert(schema_version).values(version=VERSION))
            return
        for step in range(version, VERSION):
            STEPS[step](connection)
        connection.execute(update(schema_version).values(version=VERSION))


def _version(connection: Connection, store: HistoryStore) -> int | None:
    """None for an empty database."""
    tables = inspect(connection).get_table_names()
    found = connection.scalar(select(schema_version.c.version)) if schema_version.name in tables else None
    if found is None:
        if tables:
            raise UsageError(f"{store.name} holds tables ({tables[0]}), and no history: give a database of its own")
        return None
    if not 1 <= found <= VERSION:
        raise UsageError(f"{store.name} is of schema {found}; this bitgate knows {VERSION}: install the newer one")
    return int(found)
