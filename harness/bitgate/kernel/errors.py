"""Errors between bitgate and a kernel library."""

from __future__ import annotations

from bitgate.core.errors import UsageError
from bitgate.kernel.abi import AbiStatus
from bitgate.kernel.declaration import Refusal
from bitgate.kernel.record_check import RecordDefect


class LibraryError(UsageError):
    """A shared library that cannot be trusted with a call: the message names the file and what is wrong with it."""


class DeclarationFailed(UsageError):
    """A user's declaration that could not be asked: its code raised, ended its process, or did not end."""


class RecordRejected(LibraryError):
    """A dispatch record that cannot be believed; ``defect`` says which field of it is wrong."""

    def __init__(self, where: object, defect: RecordDefect) -> None:
        super().__init__(f"{where}: {defect}")
        self.defect = defect


class KernelRefused(Exception):
    """The refusal of a library that does not take the problem."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"refused by {refusal.clause}: {refusal.text}")
        self.refusal = refusal


class KernelFailed(Exception):
    """A call that failed. ``status`` is None if the library returned one that abi.h does not know.

    ``hip_error`` is the ``hipError_t`` of Status.HIP_ERROR, else 0.
    """

    def __init__(self, status: AbiStatus | None, reason: str, hip_error: int = 0) -> None:
        name = "an unknown status" if status is None else status.name
        super().__init__(f"{name}: {reason}" if reason else name)
        self.status = status
        self.reason = reason
        self.hip_error = hip_error


class KernelRaised(KernelFailed):
    """An exception in a Python kernel that is none of a kernel's: ``reason`` has it, with its place."""

    def __init__(self, reason: str) -> None:
        super().__init__(None, reason)

    def __str__(self) -> str:
        return f"it raised {self.reason}"
