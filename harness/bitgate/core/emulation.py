"""Emulators of GPUs: programs under which ours run as if there were a GPU, named by commands in the environment.

A *launcher* is the beginning of a command line that runs ours under an emulator: ``rocjitsu --config gfx942.json --``.
Only the process that loads the HIP runtime, device and kernels starts under it. A *daemon* is a command that serves
several such processes, whose launcher then attaches to it. In both, ``{dir}`` is a folder of the run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core import compute_sanitizer
from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable

LAUNCHER, DAEMON = "BITGATE_LAUNCHER", "BITGATE_LAUNCHER_DAEMON"
"""Variables of the two commands, in words as a shell takes them."""
FOLDER, PACE = "BITGATE_EMULATOR_DIR", "BITGATE_EMULATOR_PACE"
"""Variables that a run hands down: its folder for an emulator's files, and the pace that its canary measured."""
INSIDE = "BITGATE_EMULATOR_INSIDE"
"""The variable of a process that was started under the launcher."""
RACE, RACE_LOG = "BITGATE_EMULATOR_RACE", "BITGATE_EMULATOR_RACE_LOG"
"""Variables that say that the emulator is to watch for races, and in a process under it where its log is."""
RUNTIME_FOLDER = "ROCJITSU_RUNTIME_DIR"
"""The variable by which rocjitsu names the folder of its daemon's socket: two runs of a machine share none."""

EMULATED = "emulated"
"""The kind of a device that is none, in records, pools and reports; also the tier that is solved for it."""

MOST_SLOW = 10_000.0
"""The largest factor by which an emulator's run may extend its limits: a hang is to be found some day."""

_VERSION_SECONDS = 10


@dataclass(frozen=True)
class EmulatorPace:
    """Seconds a case whatever its size, and seconds a FLOP, with the factor to the pace that limits were made for."""

    base: float
    per_flop: float
    factor: float = 1.0

    def __str__(self) -> str:
        return f"{self.base:g} {self.per_flop:g} {self.factor:g}"


def launcher(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the words of the launcher; none where programs run as they are. UsageError for what is no command."""
    return words(LAUNCHER, environment.get(LAUNCHER, ""))


def daemon(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    return words(DAEMON, environment.get(DAEMON, ""))


def words(variable: str, text: str) -> tuple[str, ...]:
    """Return the words of a command, with the run's folder in them. UsageError for unbalanced quotes."""
    try:
        found = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{variable}={printable(text[:80])}: {error}: write a command as a shell takes it") from None
    return tuple(word.replace("{dir}", os.environ.get(FOLDER, "{dir}")) for word in found)


def check(text: str, what: str) -> None:
    """Raise UsageError unless a command names a program that can be started."""
    found = words(what, text)
    if not found:
        raise UsageError(f"{what}: it names no program: write rocjitsu --config FILE --")
    if shutil.which(found[0]) is None:
        raise UsageError(f"{what}: {printable(found[0])}: no such program in PATH: install it, or name its file")


def pace() -> EmulatorPace | None:
    """Return what the run's canary measured of the emulator; None before that, and where there is none."""
    numbers = re.findall(r"[^ ]+", os.environ.get(PACE, ""))
    try:
        return EmulatorPace(*map(float, numbers)) if len(numbers) == 3 else None
    except ValueError:
        return None


def slowness() -> float:
    """Return the factor by which limits in seconds are longer; 1 without an emulator or a sanitizer of GPUs."""
    if not os.environ.get(LAUNCHER):
        return compute_sanitizer.SLOWNESS if compute_sanitizer.tool() else 1.0
    known = pace()
    return 1.0 if known is None else min(MOST_SLOW, max(1.0, known.factor))


def started(base: Mapping[str, str] = os.environ) -> tuple[tuple[str, ...], dict[str, str] | None]:
    """Return the words under which one further process starts, and its environment; none and None without an emulator.

    Where races are watched, the process has an emulator's description and a log for itself. UsageError where that
    cannot be.
    """
    found = launcher(base)
    if not found:
        return (), None
    given = {**environment(base), INSIDE: "1"}
    if not base.get(RACE):
        return found, given
    folder = Path(tempfile.mkdtemp(prefix="races-", dir=base.get(FOLDER) or None))
    place, config = _config(found)
    (folder / "config.json").write_text(json.dumps(_watching(config, folder)))
    given[RACE_LOG] = str(folder / "race.log")
    return (*found[:place], str(folder / "config.json"), *found[place + 1 :]), given


def check_inside(name: str) -> None:
    """Raise UsageError in a process that was not started under the launcher: a device here would be another one."""
    if not os.environ.get(INSIDE):
        raise UsageError(f"{name}: this process runs under no emulator: leave --in-process out, if it was given")


def watch_races() -> None:
    """Let the emulators of this run's processes watch for races. UsageError unless the launcher's can."""
    if daemon():
        raise UsageError(f"--race: each process needs an emulator, and so a log, for itself: leave {DAEMON} out")
    _config(launcher())
    os.environ[RACE] = "1"


def _config(found: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Return the place of the emulator's description among the words, and what it says."""
    place = next((at + 1 for at, word in enumerate(found[:-1]) if word == "--config"), 0)
    if not place:
        raise UsageError(f"--race: {LAUNCHER} has no --config FILE, into which the race detector could be written")
    try:
        config = json.loads(Path(found[place]).read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"--race: {found[place]}: {error}: name the emulator's description, a JSON file") from None
    if not isinstance(config, dict):
        raise UsageError(f"--race: {found[place]}: it holds no JSON object: name the emulator's description")
    return place, config


def _watching(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return an emulator's description with the race detector, whose log goes into the folder."""
    plugins, sinks = dict(config.get("plugins") or {}), dict(config.get("sinks") or {})
    types = [*dict.fromkeys([*(sinks.get("types") or []), "file"])]
    return {
        **config,
        "plugins": {**plugins, "race": plugins.get("race") or {}},
        "sinks": {**sinks, "types": types, "dir": str(folder)},
    }


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that starts under the launcher, or of its daemon."""
    folder = base.get(FOLDER, "")
    return {**base, RUNTIME_FOLDER: folder} if folder else {**base}


def emulator() -> str:
    """Return the emulator's name and version; empty without one."""
    found = launcher()
    return _identified(found[0]) if found else ""


@lru_cache(maxsize=4)
def _identified(program: str) -> str:
    """Return the program's name, what it says of its version, and the beginning of its file's SHA-256."""
    path = shutil.which(program)
    if path is None:
        return printable(Path(program).name)
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    stated = ""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=False, errors="replace"
        )
        if done.returncode == 0:
            stated = next((line.strip() for line in done.stdout.splitlines() if line.strip()), "")
    except (OSError, subprocess.TimeoutExpired):
        stated = ""
    name = Path(program).name
    version = re.sub(rf"^{re.escape(name)}\W*", "", stated[:80]) or "of unknown version"
    return printable(f"{name} {version} (sha256 {digest})")
