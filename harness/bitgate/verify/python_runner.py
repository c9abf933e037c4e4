"""The runner that a user's ``opens`` returns, wrapped: what its Python raises is its kernel's failure, no defect of
bitgate."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.errors import KernelFailed, KernelRaised, KernelRefused, LibraryError
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import Capability, LibraryState, Runner
from bitgate.runtime.errors import HipError


def open_python_runner(kernel: Kernel) -> Runner:
    """Open a user's kernel. Raises LibraryError if that fails."""
    family, instance = kernel.family, kernel.instance
    assert family.opens is not None
    try:
        with _as_kernel_failure(family):
            return PythonRunner(family.opens(family, instance, dict(kernel.options)))
    except KernelFailed as error:
        raise LibraryError(f"{kernel.name}: opens: {error}") from None


class PythonRunner:
    """A user's runner whose errors are those that ``Runner`` documents."""

    def __init__(self, inner: Runner) -> None:
        self.inner = inner
        self.family: KernelFamily = inner.family
        self.instance: Instance = inner.instance
        self.capabilities: frozenset[Capability] = inner.capabilities
        self.conduct: LibraryState = inner.conduct

    @property
    def content_key(self) -> str:
        return self.inner.content_key

    def supports(self, problem: Any) -> Refusal | None:
        with _as_kernel_failure(self.family):
            return self.inner.supports(problem)

    def workspace(self, problem: Any) -> int:
        with _as_kernel_failure(self.family):
            return self.inner.workspace(problem)

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        with _as_kernel_failure(self.family):
            return self.inner.launch(problem, buffers, workspace, stream)


@contextmanager
def _as_kernel_failure(family: KernelFamily) -> Iterator[None]:
    try:
        yield
    except (KernelFailed, KernelRefused, HipError, UsageError, MemoryError):
        raise
    except Exception as error:
        raise KernelRaised(f"{_place(error, family.folder)}{type(error).__name__}: {error}") from error


def _place(error: Exception, folder: Path) -> str:
    """Return the last line of the user's own code in the traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(folder)]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
