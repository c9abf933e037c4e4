"""The control group that the kernel accounts this process' memory to: its limit, and the processes killed over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
VMSTAT = Path("/proc/vmstat")

_UNLIMITED = 1 << 62
"""The first version of control groups writes a number near 2**63 where there is no limit."""


def limit() -> int | None:
    """Return the bytes that the group and those above it may take; None without a limit."""
    found = [_number(folder / name) for folder in _folders() for name in ("memory.max", "memory.limit_in_bytes")]
    return min((size for size in found if size is not None and size < _UNLIMITED), default=None)


def kills() -> int | None:
    """Return how many processes of the group were killed for lack of memory, since it began; None if that is unknown.

    Without such a group the count is that of the whole machine.
    """
    folder = next(_folders(), None)
    places = [folder / "memory.events", folder / "memory.oom_control"] if folder else []
    for place in (*places, VMSTAT):
        with suppress(OSError):
            if found := re.search(r"^oom_kill (\d+)$", place.read_text(), re.MULTILINE):
                return int(found[1])
    return None


def _folders() -> Iterator[Path]:
    """Yield the folder of this process' group, then those above it."""
    for base, path in _places():
        folder = base / path
        if folder.is_dir():
            yield from (folder, *(parent for parent in folder.parents if parent.is_relative_to(base)))
            return


@lru_cache(maxsize=1)
def _places() -> tuple[tuple[Path, str], ...]:
    """Return mount and path of the groups that may account for memory, as ``/proc/self/cgroup`` lists them.

    In a container the path may be that outside of it, and the mount shows the container's own group.
    """
    with suppress(OSError):
        rows = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        mounts = {"memory": ROOT / "memory", "": ROOT}
        named = [(mounts[name], path.lstrip("/")) for _, name, path in sorted(rows, reverse=True) if name in mounts]
        return tuple(place for base, path in named for place in ((base, path), (base, "")) if _accounts(base))
    return ()


def _accounts(base: Path) -> bool:
    return any((base / name).exists() for name in ("memory.oom_control", "cgroup.controllers"))


def _number(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None
