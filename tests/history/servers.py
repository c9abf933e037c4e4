"""A PostgreSQL server of one's own, for as long as it is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVERS = Path("/usr/lib/postgresql")
PATIENCE_SECONDS = 300


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where no server is installed."""
    found = [path.parent for path in sorted(SERVERS.glob("*/bin/initdb"))]
    elsewhere = shutil.which("initdb")
    return found[-1] if found else Path(elsewhere).parent if elsewhere else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of its first database. It listens on a socket in a separate folder, and on no port."""
    where = programs()
    assert where is not None, "PostgreSQL's server is not installed"
    # It does not run as root.
    user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="bitgate-pg-"))
    if user:
        shutil.chown(folder, "postgres")
    quiet: dict[str, Any] = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.STDOUT,
        "cwd": folder,
        "timeout": PATIENCE_SECONDS,
    }
    data, log = folder / "data", folder / "log"
    control: list[Any] = [where / "pg_ctl", "-D", data, "-w", "-t", str(PATIENCE_SECONDS)]
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    try:
        made: list[Any] = [where / "initdb", "-D", data, "-A", "trust", "-U", "nights", "--no-sync", "-E", "UTF8"]
        subprocess.run(made, check=True, **quiet, **user)
        subprocess.run([*control, "-l", log, "-o", options, "start"], check=True, **quiet, **user)
        try:
            yield f"postgresql://nights@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, **quiet, **user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
