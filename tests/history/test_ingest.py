"""Records into a history, on SQLite and on a PostgreSQL server that is started here."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, text
from tests.history.nights import Lab, write

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.lab.history import query
from bitgate.lab.history.ingest import ingest
from bitgate.lab.history.schema import metadata, verdicts
from bitgate.lab.history.store import HistoryStore, opened
from bitgate.results.record import Outcome


def read_in(url: str, *paths: Path) -> list[tuple[int, int]]:
    with opened(url) as store:
        return [(one.lines, one.added) for one in ingest(store, paths)]


def stored(url: str) -> int:
    with opened(url) as store, store.reading() as connection:
        return connection.scalar(select(func.count()).select_from(verdicts)) or 0


def test_a_line_is_stored_once_wherever_it_is_read(url: str, tmp_path: Path) -> None:
    night = Lab(cases=4).night(0)
    file = write(tmp_path / "a" / "results.jsonl", night)
    assert read_in(url, file) == [(12, 12)]
    assert read_in(url, file) == [(12, 0)]
    copy = write(tmp_path / "b" / "results.jsonl", [*night, *Lab(cases=4).night(1)])
    assert read_in(url, tmp_path / "a", copy) == [(12, 0), (24, 12)]
    assert stored(url) == 24


NIGHT = Lab(cases=4).night(0)


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from(range(len(NIGHT))), max_size=20), max_size=4))
def test_lines_in_any_files_and_order_are_each_stored_once(files: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"{folder}/history.sqlite"
        for number, lines in enumerate(files):
            read_in(url, write(Path(folder, str(number), "results.jsonl"), [NIGHT[line] for line in lines]))
        assert stored(url) == len({line for lines in files for line in lines})


def test_what_is_damaged_is_told_and_the_rest_counts(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "results.jsonl", Lab(cases=2).night(0))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], b"{nonsense\n", *lines[1:], lines[0][:50]]))
    assert run(["history", "ingest", str(file), "--history", url]) == 0
    said = capsys.readouterr()
    assert f"{file}:2: not JSON" in said.err
    assert f"{file}:8: the line is cut" in said.err
    assert "6 of 6 verdicts are new; 2 flaws" in said.out


def test_a_file_is_read_whole_or_not_at_all(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bitgate.lab.history import rows as module

    def full(*anything: object) -> None:
        raise OSError("the disk is full")

    file = write(tmp_path / "results.jsonl", Lab(cases=2).night(0))
    monkeypatch.setattr(module, "_widen", full)
    with pytest.raises(OSError, match="full"):
        read_in(url, file)
    monkeypatch.undo()
    with opened(url) as store, store.reading() as connection:
        tables = [table for table in metadata.sorted_tables if table.name != "schema_version"]
        assert [connection.scalar(select(func.count()).select_from(table)) for table in tables] == [0] * len(tables)
    assert read_in(url, file) == [(6, 6)]


def test_processes_that_ingest_at_once_lose_and_double_nothing(url: str, tmp_path: Path) -> None:
    folders = []
    for number in range(4):
        # Every one has the first night, and a separate one.
        nights = [*Lab(cases=60).night(0), *Lab(cases=60).night(1 + number)]
        folders.append(write(tmp_path / str(number) / "results.jsonl", nights).parent)
    command = [sys.executable, "-m", "bitgate", "history", "ingest", "--history", url]
    started = [subprocess.Popen([*command, str(folder)], stdout=subprocess.DEVNULL) for folder in folders]
    assert [process.wait(300) for process in started] == [0] * 4
    assert stored(url) == 5 * 180


def test_a_killed_process_leaves_all_of_a_file_or_nothing(url: str, tmp_path: Path) -> None:
    file = write(tmp_path / "results.jsonl", Lab(cases=700).night(0))
    command = [sys.executable, "-m", "bitgate", "history", "ingest", "--history", url, str(file)]
    seen = set()
    for pause in (0.6, 1.0, 1.4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(pause)
        process.kill()
        process.wait(60)
        seen.add(stored(url))
    assert seen <= {0, 2100}
    read_in(url, file)
    assert stored(url) == 2100


def test_verdicts_of_before_runs_were_stamped_are_read_once_too(url: str, tmp_path: Path) -> None:
    night = [replace(verdict, run=None) for verdict in Lab(cases=2).night(0)]
    file = write(tmp_path / "results.jsonl", [*night, night[0]])  # the same case twice
    assert read_in(url, file) == [(7, 7)]
    assert read_in(url, file) == [(7, 0)]
    with opened(url) as store, store.reading() as connection:
        (only,) = query.last_runs(connection, 5)
        assert only.name.startswith("unstamped-")


def test_text_that_no_database_takes_is_stored_all_the_same(url: str, tmp_path: Path) -> None:
    odd = "a NUL \0, a quote ', and \N{SNOWMAN}"
    verdict = replace(Lab(cases=1).night(0)[0], outcome=Outcome.CRASHED, reason=odd, diagnosis=None)
    read_in(url, write(tmp_path / "results.jsonl", [verdict]))
    with opened(url) as store, store.reading() as connection:
        assert connection.scalar(select(verdicts.c.sentence)) == odd.replace("\0", r"\x00"), "as a report shows it"


def test_runs_are_told_in_the_order_in_which_they_began(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = Lab(cases=2)
    for number in (2, 0, 1):
        read_in(url, write(tmp_path / f"{number}" / "results.jsonl", lab.night(number)))
    assert run(["history", "runs", "--history", url, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["runs"]
    assert [one["name"] for one in told] == ["night-00", "night-01", "night-02"]
    assert told[0]["targets"] == {"gfx1201": 2, "gfx90a": 2, "gfx942": 2}
    assert told[2]["commits"] == [f"{2:040x}"]
    assert (told[0]["red"], told[0]["started"]) == (0, "2026-09-01T22:00:00.000000+00:00")


SCHEMA_1 = Path(__file__).with_name("schema_1")


def test_a_history_of_the_first_schema_opens_and_keeps_its_rows(url: str, tmp_path: Path) -> None:
    _make_schema_1(url)
    read_in(url, write(tmp_path / "results.jsonl", Lab(cases=2).night(0)))
    with opened(url) as store, store.reading() as connection:
        assert connection.scalar(text("SELECT version FROM schema_version")) == 3
        assert connection.scalar(text("SELECT count(*) FROM samples")) == 0
        assert set(connection.scalars(select(verdicts.c.repro).where(verdicts.c.line == "old"))) == {""}
        assert [one.name for one in query.last_runs(connection, 9)] == ["an old night", "night-00"]
    assert stored(url) == 7


def test_a_migrated_history_is_the_same_as_a_new_one(url: str, tmp_path: Path) -> None:
    from sqlalchemy import inspect

    def tables(store: HistoryStore) -> dict[str, set[str]]:
        found = inspect(store.engine)
        return {name: {column["name"] for column in found.get_columns(name)} for name in found.get_table_names()}

    _make_schema_1(url)
    with opened(url) as old, opened(str(tmp_path / "new.sqlite")) as new:
        assert tables(old) == tables(new)


def _make_schema_1(url: str) -> None:
    """As the first bitgate with a history made it."""
    kind = "postgresql" if url.startswith("postgresql") else "sqlite"
    statements = SCHEMA_1.joinpath(f"{kind}.sql").read_text().split(";\n")
    if kind == "sqlite":
        import sqlite3

        with sqlite3.connect(url) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return
    import psycopg

    with psycopg.connect(url) as server:
        for statement in statements:
            server.execute(statement.encode())


def test_a_newer_schema_is_refused_in_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(url) as store, store.writing() as connection:
        connection.execute(text("UPDATE schema_version SET version = 99"))
    assert run(["history", "runs", "--history", url]) == 2
    said = capsys.readouterr().err
    assert "is of schema 99; this bitgate knows 3" in said
    assert said.count("\n") == 1


def test_a_database_of_somebody_else_is_left_alone(url: str) -> None:
    with opened(url) as store, store.writing() as connection:
        metadata.drop_all(connection)
        connection.execute(text("CREATE TABLE invoices (number INTEGER)"))
    with pytest.raises(UsageError, match=r"holds tables .invoices., and no history"), opened(url):
        pass


NO_HISTORY = {
    "{tmp}/none.sqlite": "there is no history yet",
    "{tmp}/text.sqlite": "cannot be used: file is not a database",
    "{tmp}": "there is no history yet",
    "mysql://me@host/nights": "a file, sqlite:///FILE or postgresql://USER@HOST/NAME",
    "postgresql://nobody:secret@127.0.0.1:1/nights": "cannot be used: connection failed",
    "://": "no URL",
}


@pytest.mark.parametrize("url", NO_HISTORY)
def test_what_is_no_history_is_told_in_one_line(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.sqlite").write_text("This is a letter, and no database at all.\n" * 100)
    assert run(["history", "runs", "--history", url.format(tmp=tmp_path)]) == 2
    said = capsys.readouterr().err
    assert NO_HISTORY[url] in said
    assert (said.count("\n"), "secret" in said) == (1, False)


def test_a_history_that_cannot_be_made_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    file = write(tmp_path / "results.jsonl", Lab(cases=1).night(0))
    assert run(["history", "ingest", str(file), "--history", str(tmp_path / "file" / "h.sqlite")]) == 2
    assert "set BITGATE_HISTORY" in capsys.readouterr().err


def test_without_psycopg_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"pip install 'bitgate\[postgres\]'"), opened("postgresql://me@host/nights"):
        pass


def test_an_empty_history_says_how_to_fill_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with opened(str(tmp_path / "h.sqlite")):
        pass
    assert run(["history", "flaky", "--history", str(tmp_path / "h.sqlite")]) == 2
    assert "bitgate history ingest FILE..." in capsys.readouterr().err
