"""The names that a bundle must not hold: of the user, the machine and its folders."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.lab.bringup.scrub import Scrubber


def scrubber_of_this_machine() -> Scrubber:
    users: dict[str, None] = {}
    homes: dict[str, None] = {}
    for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME"):
        if value := os.environ.get(name):
            users[value] = None
    if value := os.environ.get("HOME"):
        homes[value] = None
    with suppress(ImportError, KeyError, OSError):
        import pwd

        entry = pwd.getpwuid(os.getuid())
        users |= dict.fromkeys([entry.pw_name, entry.pw_gecos.partition(",")[0]])
        homes[entry.pw_dir] = None
    with suppress(KeyError, OSError):
        users[getpass.getuser()] = None
    homes |= {str(Path(home).resolve()): None for home in homes}
    hosts: dict[str, None] = {}
    for name in (platform.node(), socket.gethostname(), os.environ.get("HOSTNAME", ""), _full_name()):
        hosts |= dict.fromkeys(_parts(name))
    folders = {path: "~" for path in homes if path not in ("", "/")}
    folders |= {str(path): name for path, name in _places() if str(path) != "/"}
    return Scrubber(
        tuple(user for user in users if user), tuple(host for host in hosts if host), tuple(folders.items())
    )


def _parts(host: str) -> list[str]:
    """Return a host name as a whole and its first word: ``node7.lab.example.org`` and ``node7``."""
    return [host, host.partition(".")[0]] if host else []


def _full_name() -> str:
    """Return the host name as /etc/hosts states it, without asking a name server."""
    with suppress(OSError):
        own = platform.node()
        for line in Path("/etc/hosts").read_text(errors="replace").splitlines():
            words = line.partition("#")[0].split()
            if own and own in words[1:]:
                return words[1]
    return ""


def _places() -> list[tuple[Path, str]]:
    """Return the folders that a report mentions; a later one replaces an equal earlier one."""
    return [
        (Path(tempfile.gettempdir()), "<tmp>"),
        (Path.cwd(), "<here>"),
        *([] if sys.prefix.startswith("/usr") else [(Path(sys.prefix), "<python>")]),
        (paths.cache_dir(), "<cache>"),
        (paths.out_dir(), "<out>"),
        (ours().root, "<bitgate>"),
    ]
