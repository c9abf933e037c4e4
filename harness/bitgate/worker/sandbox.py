"""The sandbox of processes that run untrusted code: they enter what the system has of it, and say what that is.

A command states it in the environment (``VARIABLE``). Each child that runs a user's code enters it before that code is
loaded, and ends if it lacks a measure that the command's own trial had. Linux on x86-64.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import shown
from bitgate.worker import bubblewrap, gpu_driver
from bitgate.worker.bubblewrap import Bubble
from bitgate.worker.limits import bound_memory

VARIABLE = "BITGATE_SANDBOX"

TASK, SUBMISSION = "task", "submission"
"""Whose code a process runs. Each has a folder of its own: what a submission leaves, such as the caches of compilers,
must be nothing that a reference finds."""

_bubble: Bubble | None = None
"""The process that holds the namespaces of the sandbox that is stated."""

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 38, 22
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_WRITES = ((1, 1), *((bit, 1) for bit in range(4, 13)), (13, 2), (14, 3))
"""Landlock's rights that change files (bits 1 and 4 to 14), each with the first version that knows it."""
_O_PATH = 0o10000000
_EPERM = 1
_PRLIMIT64 = 302
_TRIAL_SECONDS = 60
_X32 = 0x40000000
"""The bit of system calls by their other numbers, which no filter of numbers sees."""

CACHES = {
    "TRITON_CACHE_DIR": "triton",
    "TORCH_EXTENSIONS_DIR": "torch_extensions",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "CUDA_CACHE_PATH": "cuda",
    "XDG_CACHE_HOME": "cache",
}
"""Where compilers of kernels keep what they make: below the one folder that may be written."""

SPARED = ("bubblewrap", "files", "system calls", "network", "shared memory", "memory limit")
"""Measures that are left out where a GPU's driver does not start with them; the first are kept rather than the last."""

FORBIDDEN = {
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "pidfd_getfd": 438,
    "kcmp": 312,
    "perf_event_open": 298,
    "bpf": 321,
    "userfaultfd": 323,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "setns": 308,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "init_module": 175,
    "finit_module": 313,
    "kexec_load": 246,
    "reboot": 169,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "mount_setattr": 442,
}
"""System calls that the filter refuses, by their numbers on x86-64."""


@dataclass(frozen=True)
class SandboxTrial:
    """The measures of a process that entered the sandbox, and why a GPU's driver did not start there, if so."""

    measures: list[str]
    driver: str

    @property
    def has_bubble(self) -> bool:
        return any("bubblewrap" in one for one in self.measures)

    @property
    def keeps_sides_apart(self) -> bool:
        """True if neither side can write to the other's folder."""
        return any("written in that folder only" in one for one in self.measures)


def prepare(folder: Path, memory: int, of_gpu: bool = False, reads: Sequence[Path] = ()) -> list[str]:
    """State a sandbox for the children of this process, and return its measures by name; ``leave`` ends it.

    ``folder`` is the one place that they may write to, each side to its own part, ``memory`` their limit in bytes;
    ``of_gpu`` lets them open GPUs. Where bubblewrap works they see nothing of the folders that it hides but ``reads``,
    and what Python needs. The measures are those that a process which enters it right now has. Those that keep a GPU's
    driver from starting are left out, and named as such. UsageError if the driver starts with none of them.
    """
    global _bubble
    leave()
    _bubble = Bubble(folder, reads)
    stated = statement(folder, memory, of_gpu, _bubble)
    without: tuple[str, ...] = ()
    trial = tried(stated)
    why_not = _bubble.why_not or ("" if trial.has_bubble else "its namespaces cannot be joined")
    if trial.driver:
        without = tuple(one for one in SPARED if not (why_not and one == "bubblewrap"))
        trial = tried(stated, without)
        if trial.driver:
            raise UsageError(f"the GPU's driver does not start in a sandbox: {trial.driver}: see `bitgate doctor`")
        for one in without:
            fewer = tuple(other for other in without if other != one)
            if not (again := tried(stated, fewer)).driver:
                without, trial = fewer, again
    lacks = [f"without {one}: a GPU's driver does not start with it" for one in without]
    if why_not:
        lacks.insert(0, f"without bubblewrap: {why_not}")
    if not trial.keeps_sides_apart:
        lacks.append("without Landlock: a submission can write to the folder of the task's processes")
    os.environ[VARIABLE] = json.dumps({**stated, "without": without, "measures": trial.measures})
    return [*trial.measures, *lacks]


def statement(folder: Path, memory: int, of_gpu: bool, bubble: Bubble | None = None) -> dict[str, Any]:
    """Return what a process that enters has to know; ``writes`` are places outside of the folder that it may write."""
    for side in (TASK, SUBMISSION):
        with suppress(OSError):  # a process that enters says what is wrong
            (folder / side).mkdir(exist_ok=True)
    writes = [*gpu_driver.devices(), gpu_driver.THREADS] if of_gpu else []
    outside = {kind: bubblewrap.namespace(kind) for kind in ("net", "ipc")}
    stated = {"folder": str(folder), "memory": memory, "writes": writes, "of_gpu": of_gpu, "outside": outside}
    return stated if bubble is None else {**stated, "bubble": bubble.pid, "hidden": bubble.hidden}


def tried(stated: Mapping[str, Any], without: Sequence[str] = ()) -> SandboxTrial:
    """Enter a sandbox in a separate process, and start the GPU's driver there. UsageError if it cannot be entered."""
    environment = {**os.environ, VARIABLE: json.dumps({**stated, "without": without})}
    command = [sys.executable, "-m", __name__, *(["driver"] if stated["of_gpu"] else [])]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=_TRIAL_SECONDS
        )
    except subprocess.TimeoutExpired:
        return SandboxTrial([], f"no answer within {_TRIAL_SECONDS} s")
    if done.returncode != 0:
        why = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise UsageError(f"no sandbox can be entered here: {shown(why)}")
    return SandboxTrial(**json.loads(done.stdout))


def leave() -> None:
    """State no sandbox for children any more."""
    global _bubble
    os.environ.pop(VARIABLE, None)
    if _bubble is not None:
        _bubble.end()
        _bubble = None


def enter(side: str = SUBMISSION) -> list[str]:
    """Enter the sandbox that the environment states, if any, and return its measures. Call it in the only thread.

    ``side`` is TASK where nothing of a submission runs. RuntimeError if a measure is missing that the command's trial
    had.
    """
    if not (text := os.environ.pop(VARIABLE, "")):
        return []
    stated = json.loads(text)
    folder = Path(stated["folder"]) / side
    # Submissions write there: what they leave must not be a module of a reference.
    sys.path[:] = [os.path.abspath(one) for one in sys.path if one]
    without = stated.get("without", ())
    had = ["private folder", "descriptors closed"]
    if "bubblewrap" not in without and (holder := stated.get("bubble", 0)) and bubblewrap.join(holder):
        hidden = ", ".join(stated["hidden"])
        had.append(f"files read-only, {hidden} hidden (bubblewrap)" if hidden else "files read-only (bubblewrap)")
    os.chdir(folder)
    os.environ["TMPDIR"] = str(folder)
    if "tempfile" in sys.modules:  # it may have chosen a folder before
        setattr(sys.modules["tempfile"], "tempdir", None)  # noqa: B010
    os.environ.update({name: str(folder / below) for name, below in CACHES.items()})
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # processes that compile would be left running
    libc: Any = ctypes.CDLL(None, use_errno=True)
    writes = [Path(one) for one in stated.get("writes", ())]
    measures: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("memory limit", lambda: _limits(int(stated["memory"]))),
        ("", lambda: _named("no new privileges", libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))),
        ("network", lambda: _apart(libc, "net", "no network (namespace)", stated)),
        ("shared memory", lambda: _apart(libc, "ipc", "no shared memory of others (namespace)", stated)),
        ("files", lambda: _landlock(libc, folder, writes)),
        ("system calls", lambda: ["system calls filtered (seccomp)"] if _filter(libc) else []),
    )
    had += chain.from_iterable(take() for key, take in measures if key not in without)
    if missing := [name for name in stated.get("measures", ()) if name not in had]:
        raise RuntimeError(f"the sandbox lacks {', '.join(missing)}, which it had when the command began")
    return had


def _named(name: str, status: int) -> list[str]:
    return [name] if status == 0 else []


def _apart(libc: Any, kind: str, name: str, stated: Mapping[str, Any]) -> list[str]:
    """Enter a namespace that is not the command's: a new one, or that of bubblewrap, which has been joined."""
    libc.unshare(bubblewrap.KINDS[kind])
    return [name] if bubblewrap.namespace(kind) != stated["outside"][kind] else []


def _limits(memory: int) -> list[str]:
    had = [f"memory limit ({bound_memory(memory) >> 20} MiB)"]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.geteuid() != 0:  # the system counts root's processes, and limits none
        now = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = 4096 if now == resource.RLIM_INFINITY else min(4096, now)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        had.append("process limit (4096)")
    return had


def _landlock(libc: Any, folder: Path, writes: list[Path]) -> list[str]:
    """Forbid writes outside of the folder, but to ``writes``; TCP, and signals to other processes, as far as the
    kernel can."""
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return []
    rights = sum(1 << bit for bit, since in _WRITES if version >= since)
    net, scoped = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    attributes = struct.pack("=QQQ", rights, net, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = libc.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return []
    of_file = 1 << 1 | (1 << 14 if version >= 3 else 0)
    for place, allowed in ((folder, rights), *((one, of_file) for one in (Path("/dev/null"), *writes))):
        opened = os.open(place, _O_PATH | os.O_CLOEXEC)
        added = libc.syscall(_LANDLOCK_ADD, rules, 1, struct.pack("=Qi", allowed, opened), 0)
        if str(place) != gpu_driver.THREADS:  # its rule holds as long as the system keeps its entry: as it is open
            os.close(opened)
        if added != 0:
            os.close(rules)
            return []
    entered = libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    os.close(rules)
    if not entered:
        return []
    had = ["files written in that folder only (landlock)"]
    had += ["no TCP (landlock)"] if net else []
    return [*had, "no signals to other processes (landlock)"] if scoped else had


def _filter(libc: Any) -> bool:
    """Refuse FORBIDDEN from now on, in this thread and those that it starts, and limits of other processes."""
    if platform.machine() != "x86_64":
        return False
    load, equal, least, ret, number_at, first_at = 0x20, 0x15, 0x35, 0x06, 0, 16
    numbers = sorted(FORBIDDEN.values())
    program = [(load, 0, 0, 4), (equal, 1, 0, 0xC000003E), (ret, 0, 0, 0x80000000), (load, 0, 0, number_at)]
    refused = [(least, 0, _X32), *((equal, 0, number) for number in numbers)]
    tail = [(equal, 0, 2, _PRLIMIT64), (load, 0, 0, first_at), (equal, 0, 1, 0), (ret, 0, 0, 0x7FFF0000)]
    tail += [(ret, 0, 0, 0x00050000 | _EPERM)]
    to_end = len(refused) + len(tail) - 2
    program += [(code, to_end - place, wrong, value) for place, (code, wrong, value) in enumerate(refused)]
    program += tail
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    text = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(text))
    return bool(libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0) == 0)


if __name__ == "__main__":
    entered = enter()
    print(json.dumps({"measures": entered, "driver": gpu_driver.why_not_started() if sys.argv[1:] else ""}))
