"""Engines that run the shards of a night, a file each, found by name.

A module has ``make(night, jobs, options)``, which returns its Executor for the night in this folder. At most ``jobs``
tasks run at a time (0: as many as the engine takes); ``options`` are from ``--option NAME=VALUE``. It raises UsageError
for an unknown option, or if a requirement is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from bitgate.core.choices import ENGINES
from bitgate.core.errors import UsageError, near
from bitgate.lab.executors.executor import Executor


def executor(name: str, night: Path, jobs: int = 0, options: Mapping[str, str] | None = None) -> Executor:
    """Make the executor of a name. Raises UsageError for an unknown name, with the nearest."""
    if name not in ENGINES:
        raise UsageError(f"--executor {name}: {near(name, ENGINES)}")
    # Imported when asked for: an engine's own packages are extras.
    made: Executor = import_module(f"{__name__}.{name}").make(night, jobs, options or {})
    return made
