"""The state that a judge keeps from case to case: its launcher, and the inputs and references of earlier problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.cache.content import content_of
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.declared import is_own
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem, case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.digest import digest_of
from bitgate.numerics.fill import FillPlan
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import defined_results, exact_results
from bitgate.results.record import UNKNOWN, Verdict
from bitgate.runtime.targets import Target, best, named
from bitgate.verify.bounds import Bounds, Judge, bounded_results, nan_class, round_safe
from bitgate.verify.diagnose.engine import load_rules
from bitgate.verify.diagnose.user_rules import isolated_rules
from bitgate.verify.fingerprint import fingerprint
from bitgate.verify.launcher import Launch, Launcher, LauncherDied, LoadedKernel, NoReference
from bitgate.verify.local_launcher import LocalLauncher
from bitgate.verify.on_device import DeviceData
from bitgate.verify.opened_target import OpenedTarget, Part, builder_for, group_of, part_of
from bitgate.verify.poison import poison_bits
from bitgate.verify.problem_data import ByteCache, Inputs, Operands, Reference, prepare_operands
from bitgate.verify.stored import DigestBook

CACHE_BYTES = 1 << 30
"""Bytes of inputs, and of references, that are kept for the next case: instances of one problem follow each other in a
plan."""

CHEAP_FLOPS = {"host": 100_000_000}
"""Cases below this run twice, by platform; CHEAP_FLOPS_ON_GPU is the limit of the others."""
CHEAP_FLOPS_ON_GPU = 10**12

LARGE_BYTES = 2**31
"""A case with a tensor of this size is large: 32-bit offsets of bytes end here."""


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel that is built and loaded; ``path`` is its library's, None for a Python kernel."""

    loaded: LoadedKernel
    path: Path | None


class Session:
    """The state of one target's judge. Nothing is opened or built before it is needed.

    ``project`` names a user's kernels (default: bitgate alone). ``overlay`` maps kernel sources to files that replace
    them (seeded defects). ``progress`` gets a line for each step of a build. ``suites`` are folders of suites whose
    stored digests count (default: the project's and bitgate's). Cases with a tensor of ``large_bytes`` or more are
    treated as large. With ``repeats_all`` every cheap case is launched once more with other data, else the first one of
    each instance. ``launcher`` is where kernels run; by default in this process, as a user's code then is (``here``).
    ``known`` are the families, where they are loaded already.

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
        launcher: Launcher | None = None,
        here: bool | None = None,
        known: dict[str, KernelFamily] | None = None,
    ) -> None:
        self.target = target if isinstance(target, Target) else best() if target is None else named(target)
        self.project = project or ours()
        here = launcher is None if here is None else here
        self.families = families(self.project, self.target.name, here=here) if known is None else known
        if launcher is None:
            opened = OpenedTarget(self.target, self.project, progress, overlay)
            opened.families = self.families
            launcher = LocalLauncher(opened)
        self.launcher = launcher
        self.rules = (load_rules if here else isolated_rules)(self.project.rules)
        self._overlay = dict(overlay or {})
        self._progress = progress
        self.digests = DigestBook(self.project.shelves if suites is None else suites)
        self._large_bytes = large_bytes
        self._repeats_all = repeats_all
        self._known: set[tuple[str, ...]] = set()
        self._first_cases: dict[tuple[str, int], str] = {}
        self.stage: Callable[[str], None] = lambda stage: None
        """Receives the stage that a case has reached (deadline.py)."""
        self.lacked_memory = False
        """True if the case found no device memory that it might have once others give theirs back."""
        self.foresee: Callable[[Verdict], None] = lambda verdict: None
        """Receives a wrong result's verdict before its diagnosis."""
        self._kernels: dict[Part, BuiltKernel | BuildError | LibraryError | LauncherDied] = {}
        self._fingerprints: dict[Part, dict[str, str]] = {}
        self._device_digest: tuple[tuple[Problem, FillPlan], str] | None = None
        self._prepared = 0.0
        self._operands: ByteCache[Operands] = ByteCache(CACHE_BYTES)
        self._references: ByteCache[Reference] = ByteCache(CACHE_BYTES)

    @property
    def opened(self) -> OpenedTarget:
        """The open target of this process, for tools that run where kernels do."""
        return self.launcher.opened

    @cached_property
    def _builder(self) -> Builder:
        return builder_for(self.target, self._progress)

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

    def first_case(self, family: str, case: str) -> str:
        """Return the first case of a family that was asked about in the launcher's present process; else this one."""
        return self._first_cases.setdefault((family, self.launcher.number), case)

    def load(self, kernel: Kernel, *, race: bool = False) -> BuiltKernel:
        """Build a kernel's library if need be, and have it loaded.

        With ``race`` it is the flavour that reports accesses. For that and for a seeded defect only the instance's
        group is built. Raises BuildError, LibraryError, or LauncherDied if loading ends the launcher; the same at each
        call.
        """
        part = part_of(kernel, race)
        known = self._kernels.get(part)
        if known is None:
            with self._preparing():
                known = self._kernels[part] = self._load(kernel, race)
        if isinstance(known, Exception):
            raise known
        return known

    def _load(self, kernel: Kernel, race: bool) -> BuiltKernel | BuildError | LibraryError | LauncherDied:
        try:
            path = self._built(kernel, race)
            return BuiltKernel(self.launcher.load(kernel, race, path), path)
        except (BuildError, LibraryError) as error:
            return error
        except LauncherDied as error:
            if error.out_of_memory:
                raise
            return LauncherDied(f"while its library was loaded: {error.reason}", hung=error.hung)

    def _built(self, kernel: Kernel, race: bool) -> Path | None:
        family = kernel.family
        if family.opens is not None:
            return None
        self.launcher.device_facts()  # the runtime comes first: the library binds to it
        group = group_of(kernel.instance, race)
        return self._builder.family(family.only(group) if group else family, self._overlay or None, race=race)

    def loaded(self, kernel: Kernel, race: bool) -> LoadedKernel | None:
        """Return the kernel if it is loaded and did nothing wrong on its way."""
        known = self._kernels.get(part_of(kernel, race))
        return known.loaded if isinstance(known, BuiltKernel) and not known.loaded.loading_changed else None

    def fingerprint(self, kernel: Kernel, *, race: bool = False) -> dict[str, str]:
        """Return which library runs on which machine: two runs with the same fingerprint must agree."""
        part = part_of(kernel, race)
        known = self._fingerprints.get(part)
        if known is None:
            with self._preparing():
                known = self._fingerprint(kernel, race, self._kernels.get(part))
            if known["build"] != UNKNOWN:
                self._fingerprints[part] = known
        return known

    def _fingerprint(self, kernel: Kernel, race: bool, known: BuiltKernel | Exception | None) -> dict[str, str]:
        places = (kernel.family.folder, *self.digests.folders)
        if not isinstance(known, BuiltKernel):
            return fingerprint(self.target, places)
        facts = self.launcher.device_facts()
        device = {"gpu": facts.gpu, "runtime": facts.runtime}
        if known.path is None:
            return fingerprint(self.target, places, build=known.loaded.content, **device)
        compiler = self._builder.compiler_line(kernel.family, known.path, race=race)
        return fingerprint(self.target, places, build=content_of(known.path), compiler=compiler, **device)

    def clock(self) -> float:
        """Return seconds of a clock that stands still while something is built, loaded or looked up: no case is charged
        for that, whichever comes first."""
        return perf_counter() - self._prepared - self.launcher.prepared

    @contextmanager
    def _preparing(self) -> Iterator[None]:
        before, started, elsewhere = self._prepared, perf_counter(), self.launcher.prepared
        try:
            yield
        finally:
            self._prepared = before + perf_counter() - started - (self.launcher.prepared - elsewhere)

    def inputs(self, problem: Problem, instance: Instance, fill: str, seed: int) -> Inputs:
        operands = self.operands(problem, instance, fill, seed)
        return Inputs(operands.tensors, operands.certificate)

    def operands(self, problem: Problem, instance: Instance, fill: str, seed: int) -> Operands:
        """Return the operands alone, for data that something else vouches for."""
        accumulation = instance.accumulation_for(problem)
        return self._operands.get(
            (problem, accumulation, fill, seed), lambda: prepare_operands(problem, accumulation, fill, seed)
        )

    def reference(self, problem: Problem, instance: Instance, fill: str, seed: int, kind: str) -> Reference:
        """Return the reference of a kind: exact, ordered, bounds (f64 with a bound a cell) or gpu (the naive kernel on
        the device).

        Raises UsageError if the data or the types forbid it.
        """
        accumulation = instance.accumulation_for(problem)

        def make() -> tuple[Reference, int]:
            tensors = self.operands(problem, instance, fill, seed).tensors
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
        try:
            return self.launcher.reference(self.trusted(problem), tensors)
        except NoReference as error:
            raise UsageError(str(error)) from None

    def reference_kernel(self, problem: Problem) -> Kernel | None:
        """Return bitgate's naive kernel of the target that takes the problem, if one does."""
        for family in self.families.values():
            trusted = family.verifies and is_own(family) and self.target.platform in family.platforms
            for instance in family.instances if trusted else ():
                if (kernel := Kernel(family, instance)).refusal(problem) is None:
                    return kernel
        return None

    def trusted(self, problem: Problem) -> Launch:
        """Return the launch of the naive kernel, with the workspace that it asks for. UsageError if there is none."""
        kernel = self.reference_kernel(problem)
        if kernel is None:
            name = case_id(problem)
            raise UsageError(f"no reference kernel for {self.target.name} takes {name}: use --reference exact")
        return Launch(kernel, problem, -1)

    def device_digest(self, problem: Problem, data: DeviceData) -> str:
        """Return the digest of the naive kernel's outputs; that of the last problem is kept.

        Raises UsageError if the kernel fails.
        """
        key = (problem, data.plan)
        if self._device_digest is None or self._device_digest[0] != key:
            try:
                self._device_digest = (key, self.launcher.reference_digest(self.trusted(problem), data))
            except NoReference as error:
                raise UsageError(str(error)) from None
        return self._device_digest[1]
