"""The exceptions that a launcher's answers stand for, in the words of its process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import convert

from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.declaration import Refusal
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError, RecordRejected
from bitgate.kernel.record_check import RecordDefect
from bitgate.runtime.errors import HipError
from bitgate.verify.launcher import LauncherDied, NoReference
from bitgate.verify.launcher_messages import Raised


def said_by(reply: Mapping[str, Any]) -> Any:
    """Return what a launcher answered. Raise what it raised instead."""
    if "raised" in reply:
        raise raised_by(convert(reply["raised"], Raised))
    return reply["answer"]


def raised_by(raised: Raised) -> Exception:
    """Return the exception that a launcher's answer stands for."""
    texts = (*raised.texts, "", "", "")
    if raised.kind == "refused":
        return KernelRefused(Refusal(texts[0], texts[1]))
    if raised.kind == "hip":
        return HipError(texts[0], texts[1], texts[2])
    if raised.kind == "build":
        return _BuildFailed(texts[0], texts[1])
    if raised.kind == "record":
        return _Rejected(texts[0], RecordDefect(texts[1], texts[2]))
    kinds: dict[str, Callable[[str], Exception]] = {
        "failed": _Failed,
        "library": LibraryError,
        "reference": NoReference,
        "memory": MemoryError,
    }
    return kinds.get(raised.kind, LauncherDied)(texts[0] or "its process raised what it did not name")


class _Failed(KernelFailed):
    """A kernel's failure in the words of its launcher."""

    def __init__(self, text: str) -> None:
        super().__init__(None, text)

    def __str__(self) -> str:
        return self.reason


class _Rejected(RecordRejected):
    """A dispatch record that cannot be believed, in the words of its launcher."""

    def __init__(self, text: str, defect: RecordDefect) -> None:
        Exception.__init__(self, text)
        self.defect = defect


class _BuildFailed(BuildError):
    """A failed build in the words of its launcher."""

    def __init__(self, text: str, output: str) -> None:
        Exception.__init__(self, text)
        self.output = output
