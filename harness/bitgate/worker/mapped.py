"""The HIP runtimes that this process has in memory, by the kernel's list of mappings."""

from __future__ import annotations

from pathlib import Path


def mapped_runtimes() -> list[Path]:
    """Return every ``libamdhip64`` that is loaded, ours or ROCm's; empty before a device was opened."""
    found: dict[Path, None] = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = "/" + line.partition("/")[2]
        if "/libamdhip64.so" in path:
            found[Path(path.removesuffix(" (deleted)"))] = None
    return list(found)
