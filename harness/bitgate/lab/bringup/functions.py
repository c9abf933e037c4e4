"""The functions of the HIP runtime that bitgate calls, and who calls each: its own sources tell."""

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
"""What a library that ROCm's compiler made calls by itself."""

SPELLED_BY_PYTHON = {"hipGetDevicePropertiesR0600": "hipGetDeviceProperties"}
"""What hip-python calls otherwise."""

_LISTS = ("hip_python.py",)
"""Sources that name functions and call none of them."""

_CALL = re.compile(r"\b(hip[A-Z]\w+)\s*\(")
_NAMED = re.compile(r"(?:\.|\")(hip[A-Z]\w+)\b")


def listed() -> tuple[str, ...]:
    """What kernels/platforms/hip_api.txt lists: all that bitgate, and the kernels that it runs elsewhere, know of."""
    lines = (own_kernels() / "platforms" / "hip_api.txt").read_text().splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def needed(names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """By function: the files of the harness and of bitgate's own kernels that call it."""
    known = frozenset(names)
    found: dict[str, dict[str, None]] = {}
    for label, pattern, path in _sources():
        for name in pattern.findall(path.read_text(errors="replace")):
            spelled = next((other for other, python in SPELLED_BY_PYTHON.items() if python == name), name)
            if spelled in known:
                found.setdefault(spelled, {})[label] = None
    return {name: tuple(labels) for name, labels in found.items()}


def missing_words(missing: Iterable[str], users: Mapping[str, tuple[str, ...]]) -> str:
    """``hipEventRecord (device/event.py and 2 more)``, one after the other."""
    words = []
    for name in missing:
        labels = users.get(name, ())
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        words.append(f"{name} ({labels[0]}{more})" if labels else name)
    return ", ".join(words)


def _sources() -> Iterable[tuple[str, re.Pattern[str], Path]]:
    package, kernels = Path(bitgate.__file__).resolve().parent, own_kernels()
    for path in sorted(package.rglob("*.py")):
        if "_rooms" not in path.parts and path.parent.name != "contact" and path.name not in _LISTS:
            yield path.relative_to(package).as_posix(), _NAMED, path
    for path in sorted(kernels.rglob("*")):
        inside = path.relative_to(kernels)
        if path.suffix in (".hpp", ".h", ".cpp") and inside.parts[0] != "platforms":
            yield f"kernels/{inside.as_posix()}", _CALL, path
