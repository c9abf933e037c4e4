"""Namespaces that bubblewrap makes, and that processes join: files cannot be written there, and others not be seen.

A process holds them from ``begin`` to its end, with that of its parent at the latest. Linux 5.8.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bitgate

KINDS = {"user": 0x10000000, "mnt": 0x00020000, "net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000}
"""The namespaces that are joined, by their names in /proc, with the flags of setns(2)."""
HIDES = ("/tmp", "/var/tmp", "/run")
"""Folders, with the user's own, of which only what is needed can be seen. Sockets of services are in /run."""
_CAPABILITIES = 0x20080522
"""The version of the structures of capset(2)."""
_END_SECONDS = 5.0


class Bubble:
    """The process that holds the namespaces: ``pid``, 0 where there are none for the reason ``why_not``.

    ``folder`` can be written there, and ``reads`` can be read wherever they are. ``hidden`` are the folders of which
    nothing else is seen.
    """

    def __init__(self, folder: Path, reads: Sequence[Path]) -> None:
        self.pid, self.why_not = 0, ""
        self.hidden: list[str] = []
        self._held: subprocess.Popen[bytes] | None = None
        program = shutil.which("bwrap")
        if program is None:
            self.why_not = "bwrap is not installed"
            return
        needed = _with_targets([*_own_files(), *reads])
        self.hidden = [str(one) for one in _hides() if not any(one.is_relative_to(need) for need in needed)]
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as information:
            command = [program, *_words(self.hidden, needed, folder.resolve()), "--info-fd", str(writer)]
            pipe = subprocess.PIPE
            self._held = subprocess.Popen(
                [*command, "sh", "-c", "echo ready; exec cat"], stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=(writer,)
            )
            os.close(writer)
            assert self._held.stdout is not None
            if self._held.stdout.readline() == b"ready\n":
                self.pid = int(json.load(information)["child-pid"])
                return
        self.why_not = self._held.communicate()[1].decode(errors="replace").strip() or "bwrap ends"

    def end(self) -> None:
        """Let the process end: it reads what nothing writes."""
        if self._held is not None:
            try:
                self._held.communicate(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._held.kill()
                self._held.communicate()
            self._held = None


def join(pid: int) -> bool:
    """Join the namespaces of a process that holds them; keep no capability in a namespace of users."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    try:
        flags = [flag for kind, flag in KINDS.items() if namespace(kind, pid) != namespace(kind)]
        holder = os.pidfd_open(pid)
    except OSError:
        return False
    joined = libc.setns(holder, sum(flags)) == 0
    os.close(holder)
    if joined and KINDS["user"] in flags:
        libc.capset(_CAPABILITIES.to_bytes(4, sys.byteorder) + bytes(4), bytes(24))
    return bool(joined)


def namespace(kind: str, pid: int | str = "self") -> str:
    """Return the name of a process' namespace. OSError if it has ended, or is another user's."""
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def _words(hidden: Sequence[str], needed: Sequence[Path], folder: Path) -> list[str]:
    words = ["--die-with-parent", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/"]
    words += ["--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
    for one in hidden:
        words += ["--tmpfs", one]
    for need in sorted({one for one in needed if any(one.is_relative_to(hid) for hid in hidden)}):
        words += ["--ro-bind-try", str(need), str(need)]
    return [*words, "--bind", str(folder), str(folder)]


def _hides() -> list[Path]:
    """Return the folders to hide: those that exist, none within another."""
    found = {Path(one).resolve() for one in (*HIDES, Path.home()) if Path(one).is_dir()} - {Path("/")}
    return sorted(one for one in found if not any(parent in found for parent in one.parents))


def _own_files() -> list[Path]:
    """Return what a Python process with bitgate reads: its own files, and those that variables of the environment
    list."""
    listed = [os.environ.get(name, "").split(os.pathsep) for name in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")]
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, str(Path(bitgate.__file__).parent.parent)]
    return [Path(one) for one in [*own, *(one for names in listed for one in names)] if os.path.isabs(one)]


def _with_targets(files: Sequence[Path]) -> list[Path]:
    """Return the files that exist by their absolute names, and by those of what links among them lead to."""
    return sorted({name for one in files if one.exists() for name in (one.absolute(), one.resolve())})
