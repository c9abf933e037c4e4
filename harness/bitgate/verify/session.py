"""The state that cases share: the open device, kernel libraries, and the inputs and references of earlier problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import perf_counter

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.overlay import quick_build
from bitgate.kernel.cache.content import content_of
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.declared import is_own
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel, family_called
from bitgate.kernel.runner import LibraryRunner, Runner
from bitgate.model import Problem, case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.numerics.digest import digest_of
from bitgate.numerics.fill import FillPlan
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import defined_results, exact_results
from bitgate.results.record import UNKNOWN, Verdict
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.runtime.host_tools import HostTools
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import Target, best, named
from bitgate.runtime.tools import DeviceTools, Tools
from bitgate.runtime.tools_abi import family as tools_family
from bitgate.verify.bounds import Bounds, Judge, bounded_results, nan_class, round_safe
from bitgate.verify.diagnose.engine import load_rules
from bitgate.verify.fingerprint import fingerprint
from bitgate.verify.on_device import DeviceData, DeviceReference, reference_on_device
from bitgate.verify.poison import poison_bits
from bitgate.verify.problem_data import ByteCache, Inputs, Reference, prepare_inputs
from bitgate.verify.python_runner import open_python_runner
from bitgate.verify.running import Launch, compute_on_device
from bitgate.verify.stored import DigestBook
from bitgate.verify.watch import threads_of, watched_load

CACHE_BYTES = 1 << 30
"""Bytes of inputs, and of references, that are kept for the next case: instances of one problem follow each other in a
plan."""

CHEAP_FLOPS = {"host": 100_000_000}
"""Cases below this run twice, by platform; CHEAP_FLOPS_ON_GPU is the limit of the others."""
CHEAP_FLOPS_ON_GPU = 10**12

HOLD_TICKS = 4_000_000
"""Ticks of a GPU's clock that ``Session.hold`` lasts: about two milliseconds."""

LARGE_BYTES = 2**31
"""A case with a tensor of this size is large: 32-bit offsets of bytes end here."""


class Session:
    """The state of one target in one process. Nothing is opened or built before it is needed.

    ``project`` names a user's kernels (default: bitgate alone). ``overlay`` maps kernel sources to files that replace
    them (seeded defects). ``progress`` gets a line for each step of a build. ``suites`` are folders of suites whose
    stored digests count (default: the project's and bitgate's). Cases with a tensor of ``large_bytes`` or more are
    treated as large. With ``repeats_all`` every cheap case is launched once more with other data, else the first one of
    each instance.

    Raises UsageError for an unknown target or file.
    """

    def __init__(
        self,
        target: str | Target | None = None,
        *,
        project: Project | None = None,
        progress: Callable[[str], None] | None = None,
        overlay: Mapping[str, Path] | None = None,
        suites: Sequence[Path] | None = None,
        large_bytes: int = LARGE_BYTES,
        repeats_all: bool = True,
    ) -> None:
        self.target = target if isinstance(target, Target) else best() if target is None else named(target)
        self.project = project or ours()
        self.families = families(self.project, self.target.name, here=True)
        self.rules = load_rules(self.project.rules)
        self._overlay = dict(overlay or {})
        self._progress = progress
        self.digests = DigestBook(self.project.shelves if suites is None else suites)
        self._large_bytes = large_bytes
        self._repeats_all = repeats_all
        self._known: set[tuple[str, ...]] = set()
        self.stage: Callable[[str], None] = lambda stage: None
        """Receives the stage that a case has reached (deadline.py)."""
        self.foresee: Callable[[Verdict], None] = lambda verdict: None
        """Receives a wrong result's verdict before its diagnosis."""
        self._on_device: tuple[tuple[Problem, FillPlan], DeviceReference] | None = None
        self._libraries: dict[tuple[str, str, bool], KernelLibrary | BuildError | LibraryError] = {}
        self._opened: dict[Kernel, Runner] = {}
        self._fingerprints: dict[tuple[str, str, bool], dict[str, str]] = {}
        self._prepared = 0.0
        self._inputs: ByteCache[Inputs] = ByteCache(CACHE_BYTES)
        self._references: ByteCache[Reference] = ByteCache(CACHE_BYTES)

    @cached_property
    def builder(self) -> Builder:
        platform_name = self.target.platform
        arch = None if platform_name == "host" else self.target.name
        return Builder(platform_name, self._progress, arch=arch)

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
            return DeviceTools(self.device, self.builder.family(tools_family(), self._overlay or None))

    @cached_property
    def tools(self) -> Tools:
        """The fastest tools on the target."""
        return HostTools() if self.target.platform == "host" else self.device_tools

    def take_over(self, earlier: Session) -> None:
        """Take what an earlier session of this process has opened: the device, and libraries of families that are the
        same here."""
        if earlier.target == self.target and earlier._overlay == self._overlay:
            open_python_runner = ("builder", "device", "device_tools")
            vars(self).update({name: vars(earlier)[name] for name in open_python_runner if name in vars(earlier)})
            for part, library in earlier._libraries.items():
                if earlier.families[part[0]] == self.families.get(part[0]):
                    self._libraries[part] = library

    def is_large(self, problem: Problem) -> bool:
        return max(tensor.bytes for tensor in problem.tensors.values()) >= self._large_bytes

    def is_cheap(self, problem: Problem) -> bool:
        """Return whether the case runs twice."""
        return problem.flops < CHEAP_FLOPS.get(self.target.platform, CHEAP_FLOPS_ON_GPU)

    def wants_repeat(self, kernel: str) -> bool:
        """Return whether to launch the current case of ``family.instance`` once more."""
        return self.is_first("repeated", kernel) or self._repeats_all

    def is_first(self, *what: str) -> bool:
        """Return whether this is the first time that the question is asked in these words."""
        known = what in self._known
        self._known.add(what)
        return not known

    def hold(self) -> None:
        """Keep a GPU's stream busy for a moment; the host's streams run late anyway."""
        if self.target.platform != "host":
            self.device_tools.hold(HOLD_TICKS)

    def family(self, name: str) -> KernelFamily:
        return family_called(self.families, name)

    def library(self, name: str, instance: str = "", *, race: bool = False) -> KernelLibrary:
        """Return the family's library, built if need be. Raises BuildError or LibraryError, the same at each call.

        With ``race`` it is the flavour that reports accesses. For that and for a seeded defect only the instance's
        group is built.
        """
        family = self.family(name)
        return self._library(family, _group(find_instance(family, instance), race) if instance else "", race)

    def _library(self, family: KernelFamily, group: str, race: bool) -> KernelLibrary:
        library = self._libraries.get((family.name, group, race))
        if library is None:
            with self._preparing():
                library = self._load(family.only(group) if group else family, race)
            self._libraries[family.name, group, race] = library
        if isinstance(library, Exception):
            raise library
        return library

    def runner(self, kernel: Kernel, *, race: bool = False) -> Runner:
        """Return the kernel, ready to be launched. Raises errors as ``library`` does."""
        family, instance, options = kernel.family, kernel.instance, dict(kernel.options)
        if family.opens is None:
            return LibraryRunner(self._library(family, _group(instance, race), race), instance, options)
        if kernel not in self._opened:
            with self._preparing():
                self._opened[kernel] = open_python_runner(kernel)
        return self._opened[kernel]

    def _load(self, family: KernelFamily, race: bool) -> KernelLibrary | BuildError | LibraryError:
        if family.opens is not None:
            return LibraryError(f"{family.name}: its kernels are no shared library")
        _ = self.device  # the runtime comes first: the library binds to it
        native.library()  # built and loaded now, so that no case is charged for it
        try:
            path = self.builder.family(family, self._overlay or None, race=race)
            return watched_load(lambda: KernelLibrary.load(path, family, target=self.target.name), self.device)
        except (BuildError, LibraryError) as error:
            return error

    @property
    def tenant(self) -> str:
        """The family whose threads run in this process, which no other family's kernels may share; empty if none."""
        if self.target.platform != "host":  # drivers start threads as they need them
            return ""
        libraries = {name: one.conduct for (name, *_), one in self._libraries.items() if isinstance(one, KernelLibrary)}
        opened = {kernel.family.name: runner.conduct for kernel, runner in self._opened.items()}
        return next((name for name, conduct in (libraries | opened).items() if threads_of(conduct)), "")

    def fingerprint(self, kernel: Kernel, *, race: bool = False) -> dict[str, str]:
        """Return which library runs on which machine: two runs with the same fingerprint must agree."""
        family, instance = kernel.family, kernel.instance
        part = (family.name, instance.name if family.opens else _group(instance, race), race)
        known = self._fingerprints.get(part)
        if known is None:
            with self._preparing():
                known = self._fingerprint(kernel, self._libraries.get(part), race)
            if known["build"] != UNKNOWN:
                self._fingerprints[part] = known
        return known

    def _fingerprint(
        self, kernel: Kernel, library: KernelLibrary | BuildError | LibraryError | None, race: bool
    ) -> dict[str, str]:
        family = kernel.family
        places = (family.folder, *self.digests.folders)
        device: Device | None = self.__dict__.get("device")
        if family.opens is not None:
            plain = Kernel(family, kernel.instance)
            return fingerprint(self.target, places, build=self.runner(plain).content_key, device=device)
        if not isinstance(library, KernelLibrary):
            return fingerprint(self.target, places, device=device)
        build, compiler = content_of(library.path), self.builder.compiler_line(family, library.path, race=race)
        return fingerprint(self.target, places, build=build, compiler=compiler, device=device)

    def clock(self) -> float:
        """Return seconds of a clock that stands still while something is built, loaded or looked up: no case is charged
        for that, whichever comes first."""
        return perf_counter() - self._prepared

    @contextmanager
    def _preparing(self) -> Iterator[None]:
        before, started = self._prepared, perf_counter()
        try:
            yield
        finally:
            self._prepared = before + perf_counter() - started

    def inputs(self, problem: Problem, instance: Instance, fill: str, seed: int) -> Inputs:
        accumulation = instance.accumulation_for(problem)
        return self._inputs.get(
            (problem, accumulation, fill, seed), lambda: prepare_inputs(problem, accumulation, fill, seed)
        )

    def reference(self, problem: Problem, instance: Instance, fill: str, seed: int, kind: str) -> Reference:
        """Return the reference of a kind: exact, ordered, bounds (f64 with a bound a cell) or gpu (the naive kernel on
        the device).

        Raises UsageError if the data or the types forbid it.
        """
        accumulation = instance.accumulation_for(problem)

        def make() -> tuple[Reference, int]:
            tensors = self.inputs(problem, instance, fill, seed).tensors
            bounds: dict[str, Bounds] = {}
            note = ""
            if kind == "bounds":
                computed, bounds = bounded_results(problem, tensors, accumulation)
                if problem.operation.numerics.form(problem) is None:
                    note = round_safe(bounds)
                    bounds = {role: one for role, one in bounds.items() if not one.exact.all()}
            else:
                computed = self._compute_reference(problem, tensors, kind)
            judges: dict[str, Judge] = {**bounds}
            for role, one in computed.items():
                if role not in bounds and (judge := nan_class(one, poison_bits(one.tensor.dtype))):
                    judges[role] = judge
            by_bits = {role: one for role, one in computed.items() if role not in judges}
            size = sum(one.storage.nbytes for one in computed.values())
            size += sum(2 * one.value.nbytes for one in bounds.values())
            return Reference(computed, kind, digest_of(problem, by_bits), judges, note), size

        return self._references.get((problem, accumulation, fill, seed, kind), make)

    def _compute_reference(self, problem: Problem, tensors: dict[str, HostTensor], kind: str) -> dict[str, HostTensor]:
        if kind == "exact":
            return exact_results(problem, tensors)
        if kind == "ordered":  # it computes the first output only
            others = defined_results(problem, tensors) if len(problem.outputs) > 1 else {}
            return {**others, problem.result: ordered_reference(problem, tensors)}
        return compute_on_device(self.device, self._trusted(problem), tensors)

    def reference_kernel(self, problem: Problem) -> Kernel | None:
        """Return bitgate's naive kernel of the target that takes the problem, if one does."""
        for family in self.families.values():
            trusted = family.is_reference and is_own(family) and self.target.platform in family.platforms
            for instance in family.instances if trusted else ():
                if (kernel := Kernel(family, instance)).refusal(problem) is None:
                    return kernel
        return None

    def _trusted(self, problem: Problem) -> Launch:
        kernel = self.reference_kernel(problem)
        if kernel is None:
            name = case_id(problem)
            raise UsageError(f"no reference kernel for {self.target.name} takes {name}: use --reference exact")
        runner = self.runner(kernel)
        return Launch(runner, problem, runner.workspace(problem))

    def device_reference(self, problem: Problem, data: DeviceData) -> DeviceReference:
        """Return the naive kernel's outputs, which stay in device memory until those of another problem are requested.

        Raises UsageError if the kernel fails.
        """
        self.forget_device_reference(but=(problem, data.plan))
        if self._on_device is None:
            reference = reference_on_device(self.device, self.device_tools, self._trusted(problem), data)
            self._on_device = ((problem, data.plan), reference)
        return self._on_device[1]

    def forget_device_reference(self, but: tuple[Problem, FillPlan] | None = None) -> None:
        """Free the memory of the reference that is kept, unless it is that of ``but``."""
        if self._on_device is not None and self._on_device[0] != but:
            self._on_device[1].free()
            self._on_device = None

    @property
    def has_device_reference(self) -> bool:
        return self._on_device is not None


def _group(instance: Instance, race: bool) -> str:
    """Return the group of instances that a library for the instance is built of; empty for all of them."""
    return instance.group if race or quick_build() else ""


def prewarm(session: Session, families: Iterable[str]) -> None:
    """Open the device, and load what nearly every run needs and the libraries of these families, as far as all is
    built.

    A process of kernels can do this while its parent still collects the tests. Failures here are ignored; they recur,
    and are reported, on first use.
    """
    try:
        builder = session.builder
        if not builder.is_built():
            return
        native.library()
        _ = session.device
        if session.target.platform != "host" and builder.is_built(tools_family()):
            _ = session.device_tools
        for name in families:
            if builder.is_built(session.family(name)):
                session.library(name)
    except (UsageError, BuildError, LibraryError, HipError, OSError):
        return
