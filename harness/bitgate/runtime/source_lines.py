"""Source lines of places in loaded libraries, as the host runtime reports them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

_PLACE = re.compile(r"(?P<library>[\w.+-]+/[\w.+-]+\.so)\+0x(?P<offset>[0-9a-f]+)")

_OURS = "/hip/host_detail/"
"""Inlined functions of HIP, such as atomicAdd: the line that calls them is more useful."""


def with_source_lines(text: str) -> str:
    """Replace ``folder/libmine.so+0x12ab`` by ``mine.hip.cpp:14``, where there are addr2line and debug information."""
    return _PLACE.sub(lambda place: _line(place["library"], place["offset"]) or place[0], text)


def _line(library: str, offset: str) -> str:
    path = _loaded(library)
    return line_of(path, offset) if path else ""


def line_of(path: Path, offset: str) -> str:
    """Return ``file.hpp:12`` of a place in a program or library, in hexadecimal digits; empty if it is unknown."""
    tool = shutil.which("addr2line")
    if tool is None:
        return ""
    command = [tool, "--inlines", "--exe", str(path), f"0x{offset}"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # Innermost first: "/path/file.hpp:12 (discriminator 3)".
    frames = [line.partition(" (")[0] for line in finished.stdout.splitlines() if not line.startswith("??")]
    known = [frame for frame in frames if not frame.endswith((":0", ":?"))]
    line = next((frame for frame in known if _OURS not in frame), next(iter(known), ""))
    return os.path.normpath(line) if line else ""


def _loaded(library: str) -> Path | None:
    """Return the file of a library of this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")
        if line.endswith(f"/{library}"):
            return Path(f"/{path[2]}")
    return None
