"""The runner that a user's ``opens`` returns, wrapped: what its Python raises is its kernel's failure, no defect of
bitgate."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

from bitgate.core.errors import UsageError, raised, traceback_of
from bitgate.core.untrusted import shown
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.errors import KernelFailed, KernelRaised, KernelRefused, LibraryError, RecordRejected
from bitgate.kernel.predicates import checked_answer
from bitgate.kernel.python_callable import CallableRunner
from bitgate.kernel.raw_record import raw_of_python
from bitgate.kernel.record_check import RecordDefect, checked
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import Capability, LibraryState, Runner
from bitgate.numerics.matrix import start_blas_threads
from bitgate.runtime.errors import HipError

T = TypeVar("T")


def open_python_runner(kernel: Kernel, platform: str) -> Runner:
    """Open a user's kernel for launches on a platform. Raises LibraryError if that fails."""
    family, instance = kernel.family, kernel.instance
    assert family.opens is not None
    start_blas_threads()
    try:
        with _as_kernel_failure(family):
            opened = family.opens(family, instance, dict(kernel.options))
            if isinstance(opened, CallableRunner):
                opened.open_on(platform)
            return PythonRunner(kernel, opened)
    except KernelFailed as error:
        raise LibraryError(f"{kernel.name}: opens: {error}") from None


class PythonRunner:
    """A user's runner whose answers and errors are those that ``Runner`` documents. It gets copies of problems: nothing
    else would keep it from changing their fields."""

    def __init__(self, kernel: Kernel, inner: Runner) -> None:
        self.inner = inner
        self.family: KernelFamily = kernel.family
        self.instance: Instance = kernel.instance
        self.capabilities = frozenset(map(Capability, inner.capabilities))
        self.conduct = _of_type(LibraryState, inner.conduct, "conduct")

    @property
    def content_key(self) -> str:
        return _of_type(str, self.inner.content_key, "content_key")

    def supports(self, problem: Any) -> Refusal | None:
        with _as_kernel_failure(self.family):
            return checked_answer(Refusal, self.inner.supports(copy(problem)), "supports")

    def workspace(self, problem: Any) -> int:
        with _as_kernel_failure(self.family):
            size = _of_type(int, self.inner.workspace(copy(problem)), "workspace")
            if not 0 <= size < 1 << 63:
                raise ValueError(f"workspace returned {size}, which is no number of bytes")
            return size

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        with _as_kernel_failure(self.family):
            launched = self.inner.launch(copy(problem), buffers, workspace, stream)
            found = checked(raw_of_python(launched), self.instance.name)
        if isinstance(found, RecordDefect):
            raise RecordRejected(self.family.folder, found)
        return found


def _of_type(kind: type[T], found: object, what: str) -> T:
    if not isinstance(found, kind) or isinstance(found, bool):
        raise TypeError(f"{what} is an object of type {type(found).__name__}, not {kind.__name__}")
    return found


@contextmanager
def _as_kernel_failure(family: KernelFamily) -> Iterator[None]:
    try:
        yield
    except (KernelFailed, KernelRefused, HipError, UsageError, MemoryError):
        raise
    except Exception as error:
        raise KernelRaised(f"{_place(error, family.folder)}{shown(raised(error))}") from error


def _place(error: Exception, folder: Path) -> str:
    """Return the last line of the user's own code in the traceback."""
    frames = [f for f in traceback.extract_tb(traceback_of(error)) if Path(f.filename).is_relative_to(folder)]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
