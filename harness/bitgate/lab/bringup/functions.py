"""The functions of the HIP runtime that bitgate calls, and their callers, found in its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import bitgate
from bitgate.core.project import own_kernels

LAUNCHING = (
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipRegisterVar",
    "__hipUnregisterFatBinary",
    "__hipPushCallConfiguration",
    "__hipPopCallConfiguration",
)
"""Functions that a library made by ROCm's compiler calls by itself."""

SPELLED_BY_PYTHON = {"hipGetDevicePropertiesR0600": "hipGetDeviceProperties"}
"""Functions with another name in hip-python."""

_LISTS = ("hip_python.py",)
"""Sources that name functions but call none of them."""

_CALL = re.compile(r"\b(hip[A-Z]\w+)\s*\(")
_NAMED = re.compile(r"(?:\.|\")(hip[A-Z]\w+)\b")


def listed() -> tuple[str, ...]:
    """Return the functions of kernels/platforms/hip_api.txt: all that bitgate knows, and the kernels that it runs
    elsewhere."""
    lines = (own_kernels() / "platforms" / "hip_api.txt").read_text().splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def needed(names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return by function the files of the harness and of bitgate's kernels that call it."""
    known = frozenset(names)
    found: dict[str, dict[str, None]] = {}
    for label, pattern, path in _sources():
        for name in pattern.findall(path.read_text(errors="replace")):
            spelled = next((other for other, python in SPELLED_BY_PYTHON.items() if python == name), name)
            if spelled in known:
                found.setdefault(spelled, {})[label] = None
    return {name: tuple(labels) for name, labels in found.items()}


def format_missing(missing: Iterable[str], users: Mapping[str, tuple[str, ...]]) -> str:
    """Format functions with their callers: ``hipEventRecord (runtime/event.py and 2 more)``."""
    words = []
    for name in missing:
        labels = users.get(name, ())
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        words.append(f"{name} ({labels[0]}{more})" if labels else name)
    return ", ".join(words)


def _sources() -> Iterable[tuple[str, re.Pattern[str], Path]]:
    package, kernels = Path(bitgate.__file__).resolve().parent, own_kernels()
    for path in sorted(package.rglob("*.py")):
        if "_data" not in path.parts and path.parent.name != "bringup" and path.name not in _LISTS:
            yield path.relative_to(package).as_posix(), _NAMED, path
    for path in sorted(kernels.rglob("*")):
        inside = path.relative_to(kernels)
        if path.suffix in (".hpp", ".h", ".cpp") and inside.parts[0] != "platforms":
            yield f"kernels/{inside.as_posix()}", _CALL, path
