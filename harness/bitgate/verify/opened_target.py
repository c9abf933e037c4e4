"""A target that is open in this process: its device, the kernels that were loaded, and bitgate's tools there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.overlay import quick_build
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel, family_called
from bitgate.kernel.runner import LibraryRunner, Runner
from bitgate.numerics import native
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.runtime.host_tools import HostTools
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import Target
from bitgate.runtime.tools import DeviceTools, Tools
from bitgate.runtime.tools_abi import family as tools_family
from bitgate.verify.python_runner import open_python_runner
from bitgate.verify.watch import threads_of, watched_load

HOLD_TICKS = 4_000_000
"""Ticks of a GPU's clock that ``OpenedTarget.hold`` lasts: about two milliseconds."""


class OpenedTarget:
    """One target in this process: a user's code may run here. Nothing is opened or built before it is needed.

    ``project``, ``overlay`` and ``progress`` are as in ``Session``, ``declared`` as of ``families``.
    ``prepared`` counts the seconds that were spent on building, loading and opening: no case is charged for them.
    """

    def __init__(
        self,
        target: Target,
        project: Project | None = None,
        progress: Callable[[str], None] | None = None,
        overlay: Mapping[str, Path] | None = None,
        declared: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.target = target
        self.project = project or ours()
        self.families = families(self.project, target.name, here=True, declared=declared)
        self.prepared = 0.0
        self.overlay = dict(overlay or {})
        self._progress = progress
        self._libraries: dict[tuple[str, str, bool], KernelLibrary | BuildError | LibraryError] = {}
        self._opened: dict[Kernel, Runner] = {}

    @cached_property
    def builder(self) -> Builder:
        return builder_for(self.target, self._progress)

    @cached_property
    def device(self) -> Device:
        with self._preparing():
            device = open_device(self.target, self.builder)
        if device.host is not None:
            device.set_threads(paths.threads())
        return device

    @cached_property
    def device_tools(self) -> DeviceTools:
        """The tools as kernels, on any platform. Raises BuildError if they do not compile."""
        _ = self.device  # the runtime comes first: the library binds to it
        with self._preparing():
            return DeviceTools(self.device, self.builder.family(tools_family(), self.overlay or None))

    @cached_property
    def tools(self) -> Tools:
        """The fastest tools on the target."""
        return HostTools(self.device.runs) if self.target.platform == "host" else self.device_tools

    def hold(self) -> None:
        """Keep a GPU's stream busy for a moment; the host's streams run late anyway."""
        if self.target.platform != "host":
            self.device_tools.hold(HOLD_TICKS)

    def take_over(self, earlier: OpenedTarget) -> None:
        """Take what was opened earlier in this process: the device, and libraries of families that are the same."""
        if earlier.target == self.target and earlier.overlay == self.overlay:
            kept = ("builder", "device", "device_tools")
            vars(self).update({name: vars(earlier)[name] for name in kept if name in vars(earlier)})
            for part, library in earlier._libraries.items():
                if earlier.families[part[0]] == self.families.get(part[0]):
                    self._libraries[part] = library

    def family(self, name: str) -> KernelFamily:
        return family_called(self.families, name)

    def library(self, name: str, instance: str = "", *, race: bool = False, built: Path | None = None) -> KernelLibrary:
        """Return the family's library, loaded from where it was ``built``, or built if need be.

        With ``race`` it is the flavour that reports accesses. For that and for a seeded defect only the instance's
        group is built. Raises BuildError or LibraryError, the same at each call.
        """
        family = self.family(name)
        group = group_of(find_instance(family, instance), race) if instance else ""
        library = self._libraries.get((family.name, group, race))
        if library is None:
            with self._preparing():
                library = self._load(family.only(group) if group else family, race, built)
            self._libraries[family.name, group, race] = library
        if isinstance(library, Exception):
            raise library
        return library

    def runner(self, kernel: Kernel, *, race: bool = False, built: Path | None = None) -> Runner:
        """Return the kernel, ready to be launched. Raises errors as ``library`` does."""
        family, instance = kernel.family, kernel.instance
        if family.opens is None:
            library = self.library(family.name, instance.name, race=race, built=built)
            return LibraryRunner(library, instance, dict(kernel.options))
        if kernel not in self._opened:
            with self._preparing():
                self._opened[kernel] = open_python_runner(kernel, self.target.platform)
        return self._opened[kernel]

    def _load(self, family: KernelFamily, race: bool, built: Path | None) -> KernelLibrary | BuildError | LibraryError:
        if family.opens is not None:
            return LibraryError(f"{family.name}: its kernels are no shared library")
        _ = self.device  # the runtime comes first: the library binds to it
        native.library()  # built and loaded now, so that no case is charged for it
        if family.source is not None:
            family.source.begin()
        try:
            path = built or self.builder.family(family, self.overlay or None, race=race)
            return watched_load(lambda: KernelLibrary.load(path, family, target=self.target.name), self.device)
        except (BuildError, LibraryError) as error:
            return error

    @property
    def tenant(self) -> str:
        """The family whose threads run in this process, which no other family's kernels may share; empty if none."""
        if self.target.platform != "host":  # drivers start threads as they need them
            return ""
        for part, library in self._libraries.items():
            if isinstance(library, KernelLibrary) and threads_of(library.conduct):
                return part[0]
        return next((k.family.name for k, runner in self._opened.items() if threads_of(runner.conduct)), "")

    @contextmanager
    def _preparing(self) -> Iterator[None]:
        before, started = self.prepared, perf_counter()
        try:
            yield
        finally:
            self.prepared = before + perf_counter() - started


def builder_for(target: Target, progress: Callable[[str], None] | None) -> Builder:
    return Builder(target.platform, progress, arch=None if target.platform == "host" else target.name)


Part = tuple[str, str, bool]
"""A library: family, group or Python kernel, flavour."""


def part_of(kernel: Kernel, race: bool) -> Part:
    """Return which library holds the kernel."""
    family, instance, options = kernel.names
    if kernel.family.opens is not None:
        return family, f"{instance} {options}", race
    return family, group_of(kernel.instance, race), race


def group_of(instance: Instance, race: bool) -> str:
    """Return the group of instances that a library for the instance is built of; empty for all of them."""
    return instance.group if race or quick_build() else ""


def prewarm(opened: OpenedTarget, families: Iterable[str]) -> None:
    """Open the device, and load what nearly every run needs and the libraries of these families, as far as all is
    built.

    A process of kernels can do this while its parent still collects the tests. Failures here are ignored; they recur,
    and are reported, on first use.
    """
    try:
        builder = opened.builder
        if not builder.is_built():
            return
        native.library()
        _ = opened.device
        if opened.target.platform != "host" and builder.is_built(tools_family()):
            _ = opened.device_tools
        for name in families:
            if name in opened.families and builder.is_built(opened.family(name)):
                opened.library(name)
    except (UsageError, BuildError, LibraryError, HipError, OSError):
        return
