"""Runners: the protocol by which kernels of any kind are asked and launched, and the runner of shared libraries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from bitgate.core.former_names import class_formerly
from bitgate.kernel.cache.content import content_of

if TYPE_CHECKING:
    from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
    from bitgate.kernel.dispatch import DispatchRecord
    from bitgate.kernel.library import KernelLibrary


class Capability(str, Enum):
    """A property of kernels of some kind that can be checked; one that cannot is stated with each verdict."""

    LAUNCH_LOG = "launch_log"
    """The record lists every launch."""
    SCHEDULES = "schedules"
    """The orders in which the host runtime runs threads affect the kernel."""
    WORKSPACE = "workspace"
    """The kernel takes its scratch memory from the caller, between guards."""
    CAPSULE = "capsule"
    """Launches can be recorded and replayed without the kernel's library."""
    CAPTURE = "capture"
    """The kernel only enqueues, so that its launches can be captured into a graph."""
    INDEPENDENT_LISTING = "independent_listing"
    """The kernel states itself which problems it takes, so that its declaration can be compared with that."""


_ALL = frozenset(Capability)


@dataclass(eq=False)
class LibraryState:
    """The behaviour of a kernel's code in this process, shared by all kernels of the same code."""

    has_launched: bool = False
    """True after the first launch, which may start threads and other things that the code keeps."""
    wrote_problem: bool = False
    """True once a call has changed the problem that it got as const."""
    threads: set[int] = field(default_factory=set)
    """OS threads that the code has started and not ended, as far as a first launch may leave any."""
    launched: set[object] = field(default_factory=set)
    """Subjects of its launches so far: the first launch on one may allocate memory that it keeps."""
    loading_changed: list[str] = field(default_factory=list)
    """What loading the code changed in the process, a line each."""


class Runner(Protocol):
    """A kernel that can be launched, with family, instance and options resolved."""

    @property
    def family(self) -> KernelFamily: ...

    @property
    def instance(self) -> Instance: ...

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    @property
    def content_key(self) -> str:
        """A key that differs whenever other code would run, versions of libraries included."""

    @property
    def conduct(self) -> LibraryState: ...

    def supports(self, problem: Any) -> Refusal | None:
        """Return None if the kernel states that it takes the problem. KernelFailed if it cannot be asked.

        Never called without ``INDEPENDENT_LISTING``.
        """

    def workspace(self, problem: Any) -> int:
        """Return the bytes of workspace that a launch needs. KernelRefused or KernelFailed as ``launch``."""

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        """Start the kernel on ``stream``; it need not have ended when this returns.

        ``buffers`` maps roles to device pointers, ``workspace`` is (pointer, bytes). KernelRefused if the problem is
        not taken, KernelFailed otherwise.
        """


@dataclass(frozen=True, eq=False)
class LibraryRunner:
    """The runner of a shared library's instance, through the C ABI; unnamed options keep their production value."""

    library: KernelLibrary
    instance: Instance
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def capabilities(self) -> frozenset[Capability]:
        lacking = set() if self.family.is_captured else {Capability.CAPTURE}
        if self.family.source is not None:  # its library takes whatever the declaration does
            lacking.add(Capability.INDEPENDENT_LISTING)
        return _ALL - lacking

    @property
    def family(self) -> KernelFamily:
        return self.library.family

    @property
    def content_key(self) -> str:
        return content_of(self.library.path)

    @property
    def conduct(self) -> LibraryState:
        return self.library.conduct

    def supports(self, problem: Any) -> Refusal | None:
        return self.library.is_supported(problem, self.instance, self.options)

    def workspace(self, problem: Any) -> int:
        return self.library.workspace_size(problem, self.instance, self.options)

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        return self.library.run(problem, self.instance, self.options, buffers, workspace, stream)


def __getattr__(name: str) -> Any:
    return class_formerly(name, sys.modules[__name__])
