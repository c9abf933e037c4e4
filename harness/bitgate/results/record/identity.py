"""The identity of a verdict: the key that says what it is about, and the stamp of the run that it was made in."""

from __future__ import annotations

import os
import platform
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import Count, InvalidInput, Name, Short, shaped


@dataclass(frozen=True)
class Key:
    """The identity of a planned case: records with the same key are attempts at the same case.

    ``options`` are sorted by name.
    """

    case: Name
    kernel: Name
    """The family."""
    instance: Name
    options: tuple[tuple[Short, Short], ...]
    fill: Name
    seed: Count
    schedule: Short
    target: Name

    def fields(self) -> dict[str, Any]:
        """Return the fields as files hold them, flat among others."""
        return dict(zip(FIELDS, self.values, strict=True)) | {"options": dict(self.options)}

    @classmethod
    def of(cls, flat: Mapping[str, Any]) -> Key:
        """Read a key from a mapping that holds its fields among others. InvalidInput if one is missing or wrong."""
        return shaped(cls, stated(flat))

    @property
    def values(self) -> tuple[Any, ...]:
        """The values in the order of the fields."""
        return tuple(getattr(self, name) for name in FIELDS)

    @property
    def name(self) -> str:
        """The name that globs select on: ``family.instance``."""
        return f"{self.kernel}.{self.instance}"


MOST_SEED = 10**18 - 1
"""The largest seed that can be requested: the repetitions of a case use the seeds above it."""

FIELDS = tuple(field.name for field in fields(Key))


def stated(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a key that a flat mapping has, options sorted. InvalidInput if options is no object."""
    found = {name: flat[name] for name in FIELDS if name in flat}
    options = found.get("options", {})
    if not isinstance(options, Mapping):
        raise InvalidInput(f"options: expected an object, got {options!r:.40}")
    return found | {"options": sorted(options.items())}


# In order of precedence: the user's own, then those of GitHub, GitLab and Jenkins.
RUN_VARIABLES = ("BITGATE_RUN_ID", "GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_TAG")
ATTEMPT_VARIABLES = ("BITGATE_RUN_ATTEMPT", "GITHUB_RUN_ATTEMPT")

NODE_VARIABLES = ("SLURMD_NODENAME", "RUNNER_NAME", "CI_RUNNER_DESCRIPTION", "NODE_NAME")
JOB_VARIABLES = ("SLURM_JOB_ID", "GITHUB_JOB", "CI_JOB_ID", "BUILD_NUMBER")
LOG_VARIABLES = ("BITGATE_LOG", "CI_JOB_URL", "BUILD_URL")
_GITHUB = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")


def where(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return where this process runs: its node, its job and where the log of that is, as far as they are known."""
    of = {"node": NODE_VARIABLES, "job": JOB_VARIABLES, "log": LOG_VARIABLES}
    found = {name: next(filter(None, map(environment.get, names)), "") for name, names in of.items()}
    found["node"] = found["node"] or platform.node()
    if not found["log"] and all(environment.get(name) for name in _GITHUB):
        server, repository, run = (environment[name] for name in _GITHUB)
        found["log"] = f"{server}/{repository}/actions/runs/{run}"
    return {name: value[:1000] for name, value in found.items() if value}


_HANDED_DOWN = "BITGATE_STAMP"
"""The variable by which the process in charge of a run passes its stamp to its workers."""


@dataclass(frozen=True)
class Stamp:
    """The run, attempt and time of a verdict, which distinguish attempts at one case and put them in order.

    ``id`` is the CI system's, shared by all jobs of a run; ``attempt`` counts from 1. ``job`` is one start of bitgate,
    ``shard`` the shard that it ran (``2/6``), if any; both are empty in records that do not state them.
    """

    id: str
    attempt: int
    time: str
    """When the verdict was made: UTC, ISO 8601."""
    job: str = ""
    shard: str = ""
    commit: str = ""
    """The commit of the suites, where a record states it."""

    @property
    def instant(self) -> datetime:
        """The value of ``time``. ValueError if it is no time, or has no zone."""
        # Python 3.10 knows no Z.
        found = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", self.time))
        if found.tzinfo is None:
            raise ValueError(f"time {self.time} has no zone; write UTC")
        return found.astimezone(timezone.utc)

    def now(self) -> Stamp:
        now = datetime.now(timezone.utc).isoformat(timespec="microseconds")
        return Stamp(self.id, self.attempt, now, self.job, self.shard, self.commit)


def begin(shard: str = "", environment: Mapping[str, str] = os.environ) -> Stamp:
    """Return the stamp of a run that starts now. A run that no CI system names gets a new local id."""
    job = secrets.token_hex(8)
    run = next((value for name in RUN_VARIABLES if (value := environment.get(name))), f"local-{job}")
    stated = next((value for name in ATTEMPT_VARIABLES if (value := environment.get(name))), "1")
    if not re.fullmatch(r"[1-9]\d{0,8}", stated):
        raise UsageError(f"{' or '.join(ATTEMPT_VARIABLES)} is {stated!r}: give a number from 1 up")
    return Stamp(run[:200], int(stated), "", job, shard).now()


def hand_down(stamp: Stamp) -> None:
    """Store the stamp in the environment, which workers inherit."""
    os.environ[_HANDED_DOWN] = "\n".join([stamp.id, str(stamp.attempt), stamp.job, stamp.shard])


def handed_down() -> Stamp:
    run, attempt, job, shard = os.environ[_HANDED_DOWN].split("\n")
    return Stamp(run, int(attempt), "", job, shard).now()
