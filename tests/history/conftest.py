"""Databases of both kinds, and a repository with a bug in its past."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # nights.py

SERVERS = Path("/usr/lib/postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server's first database: the server is started here, and listens on a socket alone."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    found = sorted(SERVERS.glob("*/bin/initdb")) or [Path(path) for path in [shutil.which("initdb")] if path]
    if not found:
        pytest.skip("PostgreSQL's server is not installed")
    programs = found[-1].parent
    # It does not run as root.
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="bitgate-pg-"))
    if user:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": folder, **user}
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "nights", "--no-sync", "-E", "UTF8"],
            check=True,
            timeout=300,
            **quiet,
        )
        control = [programs / "pg_ctl", "-D", data, "-w", "-t", "300"]
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], check=True, timeout=300, **quiet)
        try:
            yield f"postgresql://nights@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, timeout=300, **quiet)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of an empty history, once in each kind of database."""
    if request.param == "sqlite":
        yield str(tmp_path / "history.sqlite")
        return
    import psycopg

    server = request.getfixturevalue("postgres")
    name = f"h{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield server.replace("/postgres?", f"/{name}?")
