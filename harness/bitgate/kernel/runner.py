"""How a kernel is asked and launched, of whichever kind it is: a library through the C ABI is the first of them."""

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
    """What can be looked at in a kernel of some kind; what cannot is stated with each of its verdicts."""

    LAUNCH_LOG = "launch_log"
    """Its record lists every launch."""
    SCHEDULES = "schedules"
    """The orders in which the host runtime lets threads run mean something to it."""
    WORKSPACE = "workspace"
    """It takes its scratch memory from the caller, between guards."""
    CAPSULE = "capsule"
    """Its launches can be written down and replayed without it."""
    CAPTURE = "capture"
    """It only enqueues, so that its launches can be captured into a graph."""
    INDEPENDENT_LISTING = "independent_listing"
    """It says itself which problems it takes, so that its declaration can be held against that."""


@dataclass(eq=False)
class LibraryState:
    """How the code of kernels has behaved in this process; one for all that are of the same code."""

    has_launched: bool = False
    """True after the first launch, which may start what the code keeps for all others."""
    wrote_problem: bool = False
    """True once a call has changed the problem that it was lent as const."""
    loading_changed: list[str] = field(default_factory=list)
    """What of the process was another after the code had been loaded, in words."""


class Runner(Protocol):
    """A kernel to be launched: family, instance and options are resolved, once."""

    @property
    def family(self) -> KernelFamily: ...

    @property
    def instance(self) -> Instance: ...

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    @property
    def content_key(self) -> str:
        """Another one whenever other code would run, versions of libraries included."""

    @property
    def conduct(self) -> LibraryState: ...

    def supports(self, problem: Any) -> Refusal | None:
        """None if the kernel says that it takes the problem. KernelFailed if it cannot be asked. Never asked without
        ``INDEPENDENT_LISTING``."""

    def workspace(self, problem: Any) -> int:
        """Bytes of workspace that a launch needs. KernelRefused or KernelFailed as ``launch``."""

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        """Start the kernel on ``stream``; it need not have ended when this returns.

        ``buffers`` maps roles to device pointers, ``workspace`` is (pointer, bytes). KernelRefused if the problem is
        not taken, KernelFailed otherwise.
        """


@dataclass(frozen=True, eq=False)
class LibraryRunner:
    """An instance of a shared library, through the C ABI. Options that are not named keep their production value."""

    library: KernelLibrary
    instance: Instance
    options: Mapping[str, str] = field(default_factory=dict)
    capabilities = frozenset(Capability)

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
