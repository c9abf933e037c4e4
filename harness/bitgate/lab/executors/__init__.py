"""Engines that run the shards of a night, a file each, found by name.

A module has ``make(night, jobs, options)``: its Executor for the night in this folder, with at most ``jobs`` tasks at a
time (0: as many as the engine takes) and what ``--option NAME=VALUE`` says; UsageError for an option that it does not
know, or if it lacks what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from bitgate.core.choices import ENGINES
from bitgate.core.errors import UsageError, near
from bitgate.lab.executors.executor import Executor


def executor(name: str, night: Path, jobs: int = 0, options: Mapping[str, str] | None = None) -> Executor:
    """UsageError for a name that is none, with the nearest."""
    if name not in ENGINES:
        raise UsageError(f"--executor {name}: {near(name, ENGINES)}")
    # Imported when asked for: an engine's own packages are extras.
    made: Executor = import_module(f"{__name__}.{name}").make(night, jobs, options or {})
    return made
