"""Declarations of kernel families: sources, instances, options, and an independent view of their dispatch.

A family is a folder with a ``declaration.py`` that defines ``FAMILY``; bitgate's and a user's are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bitgate.core.targets import FLUSHED, architecture_of
from bitgate.model import Accumulation, Problem
from bitgate.model.thread_map import ThreadMap

if TYPE_CHECKING:
    from bitgate.kernel.runner import Runner
    from bitgate.kernel.source import DeviceSource

ANY_INTEGER = ("int",)
"""The ``values`` of an option that takes any integer."""


def wave_sizes(target: str) -> tuple[int, ...]:
    """Return the lanes of a wave that kernels on the target may have, the usual number first."""
    return architecture_of(target).waves


@dataclass(frozen=True)
class Refusal:
    """The reason that an instance does not take a problem: the clause's stable name, and a sentence with the values."""

    clause: str
    text: str


@dataclass(frozen=True)
class Dispatch:
    """The prediction of what should run, from the problem alone; it is compared with the library's dispatch record.

    ``workspace_bytes`` is what ``bitgate_workspace_size`` must return. ``facts`` are the predicted facts of the
    dispatch record, by name: ``gemms_count``, ``split_k``, ``main_loop`` ...
    """

    path: str
    launches: int
    zero_fill: bool = False
    transposes: int = 0
    workspace_bytes: int = 0
    facts: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def stated(self) -> dict[str, int | str]:
        """All predictions, by the names that a results line has in ``dispatch``."""
        return {**{name: value for name, value in vars(self).items() if name != "facts"}, **self.facts}


@dataclass(frozen=True)
class Option:
    """A named switch of a family. ``values`` lists the allowed ones, or is ``ANY_INTEGER``.

    ``drawn`` are values other than production's that results must be right with: fuzzing and solved tiers draw them.
    """

    name: str
    values: tuple[str, ...]
    production: str
    help: str
    drawn: tuple[str, ...] = ()

    def allows(self, value: str) -> bool:
        if self.values == ANY_INTEGER:
            return value.removeprefix("-").isascii() and value.removeprefix("-").isdigit()
        return value in self.values


@dataclass(frozen=True)
class Instance:
    """One instantiation of a kernel. ``group`` names its translation unit, so that an edit rebuilds little.

    ``dtypes`` are spellings of DtypeSet, ``layouts`` input layouts; ``tile``, ``vector`` and ``fragment`` are
    (m, n, k) or (a, b, c), None where the kernel has none; ``wave_size`` 0 means any; ``operations`` None means
    those of the family. ``accumulation`` is one contract, or one for each spelling of the dtypes. ``rounds_slices``:
    with split-K, slices add their sums to the result in the result's own type (atomics). ``traits`` are further facts
    by name for the family's predicates. ``d_forms``: in what D may differ from the result: ``layout``, ``broadcast``,
    names of types; a loaded kernel sees no other D. ``tiles``: by the name of a problem's length, how much of it one
    tile takes, where ``tile`` does not say it: coverage then asks for one tile, two, and more.
    """

    name: str
    group: str
    dtypes: tuple[str, ...]
    layouts: tuple[str, ...]
    ndims: tuple[int, ...]
    accumulation: Accumulation | Mapping[str, Accumulation]
    tile: tuple[int, int, int] | None = None
    vector: tuple[int, int, int] | None = None
    block_size: int = 256
    wave_size: int = 0
    fragment: tuple[int, int, int] | None = None
    operations: tuple[str, ...] | None = None
    rounds_slices: bool = False
    d_forms: tuple[str, ...] = ()
    traits: Mapping[str, int | str] = field(default_factory=dict, hash=False)
    tiles: Mapping[str, int] = field(default_factory=dict, hash=False)

    def fits(self, target: str) -> bool:
        """Return whether the target has waves of this size, and matrix instructions if they are needed."""
        row = architecture_of(target)
        return self.wave_size in (0, *row.waves) and (self.fragment is None or row.matrix is not None)

    def on(self, target: str) -> Instance:
        """Return the instance with the contract that the target's matrix instructions keep."""
        matrix = architecture_of(target).matrix
        if self.fragment is None or matrix is None or matrix.subnormals != FLUSHED:
            return self
        if isinstance(self.accumulation, Accumulation):
            return replace(self, accumulation=replace(self.accumulation, flushes_subnormals=True))
        contracts = {dtypes: replace(own, flushes_subnormals=True) for dtypes, own in self.accumulation.items()}
        return replace(self, accumulation=contracts)

    def accumulation_for(self, problem: Problem) -> Accumulation:
        """Return the contract for a problem: for its dtypes, and its split-K if slices are added in the result.

        Integers are never added in the result's type: kernels refuse to split them, and auto is 1. KeyError names
        dtypes that the instance does not state.
        """
        stated, result = self.accumulation, problem.tensors[problem.result].dtype
        contract = stated if isinstance(stated, Accumulation) else stated[str(problem.dtypes)]
        if self.rounds_slices and problem.is_split and result.is_float:
            return replace(contract, partial=result)
        return contract


Supports: TypeAlias = Callable[[Any, Instance, Mapping[str, str]], "Refusal | None"]
Predict: TypeAlias = Callable[[Any, Instance, Mapping[str, str]], "Dispatch | None"]

MapsThreads: TypeAlias = Callable[[Any, Instance, Mapping[str, str]], "ThreadMap | None"]

Opens: TypeAlias = Callable[["KernelFamily", Instance, Mapping[str, str]], "Runner"]


def _takes_all(problem: Any, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    return None


def _predicts_nothing(problem: Any, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    return None


def _maps_nothing(problem: Any, instance: Instance, options: Mapping[str, str]) -> ThreadMap | None:
    return None


@dataclass(frozen=True)
class KernelFamily:
    """A kernel family: one shared library for each target.

    ``sources`` are relative to ``folder``, one translation unit each; those that ``generated`` has a text for need no
    file. ``library`` names a prebuilt shared library instead (relative to ``folder``, or absolute); then ``sources`` is
    empty. ``supports`` and ``dispatch`` are written independently of the C++: a disagreement is a finding. A family
    without ``supports`` takes all that its instances declare; ``dispatch`` may be left out or return None: no
    prediction. ``thread_map`` returns which thread writes which cell, for ``bitgate explain``, or None where it is not
    stated. A family that ``computes_references`` keeps the order of sums that its operation states: large results of
    other kernels are held to its own on the device. One that ``is_reference`` does so too, and no row runs it that does
    not name it. The instances of a family that ``is_probe`` measure the platform (bitgate.runtime.probe).
    ``changes`` names what the library may change of its process: threads, descriptors, subprocesses, device_memory.
    Without ``is_captured`` its launches wait or allocate, and are not captured into a graph: its verdicts state that
    this is unchecked. ``include_dirs``, ``flags`` (for all platforms, or by platform) and ``defines`` are for the
    compiler, ``libraries`` for the linker: a file, relative to ``folder``, or a name as of ``-l``.
    """

    name: str
    operations: tuple[str, ...]
    platforms: tuple[str, ...]
    instances: tuple[Instance, ...]
    folder: Path = Path()
    """The folder of its files; by default that of the declaration."""
    sources: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    supports: Supports = _takes_all
    dispatch: Predict = _predicts_nothing
    thread_map: MapsThreads = _maps_nothing
    is_reference: bool = False
    is_probe: bool = False
    computes_references: bool = False
    library: Path | None = None
    generated: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Texts of the sources that are no files, by name (bitgate.kernel.generated)."""
    changes: tuple[str, ...] = ()
    is_captured: bool = True
    opens: Opens | None = None
    """Opens the kernel of an instance with options, for kernels that are no library. Then there are neither sources nor
    a library, and nothing is built."""
    source: DeviceSource | None = None
    """Plain ``__global__`` functions of ``sources`` and their launches, for kernels without the C ABI: bitgate writes
    the host's code."""
    include_dirs: tuple[str, ...] = ()
    flags: tuple[str, ...] | Mapping[str, tuple[str, ...]] = field(default=(), hash=False)
    defines: Mapping[str, str | int] = field(default_factory=dict, hash=False)
    libraries: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Groups of instances that ``on`` left out: their translation units are not for the target."""

    def flags_on(self, platform: str) -> tuple[str, ...]:
        """Return the family's flags for the compiler of a platform."""
        flags = self.flags.get(platform, ()) if isinstance(self.flags, Mapping) else self.flags
        defines = (f"-D{name}={value}" if value != "" else f"-D{name}" for name, value in self.defines.items())
        return (*flags, *defines)

    @property
    def verifies(self) -> bool:
        """True if results of other kernels are held to its, on the device."""
        return self.is_reference or self.computes_references

    @property
    def is_built(self) -> bool:
        """True for a library, built of sources or prebuilt."""
        return self.opens is None

    def on(self, target: str) -> KernelFamily:
        """Return the family with the instances that the target's waves and matrix instructions allow, each with its
        contract there."""
        fitting = tuple(instance.on(target) for instance in self.instances if instance.fits(target))
        left_out = {instance.group for instance in self.instances} - {instance.group for instance in fitting}
        return replace(self, instances=fitting, left_out=self.left_out | left_out)

    def only(self, group: str) -> KernelFamily:
        """Return the family with the instances of one group, and without the sources of other groups alone."""
        if self.source is not None:
            return self
        others = {instance.group for instance in self.instances} - {group}
        sources = tuple(source for source in self.sources if Path(source).name.partition(".")[0] not in others)
        return replace(self, sources=sources, instances=tuple(i for i in self.instances if i.group == group))

    def instance(self, name: str) -> Instance | None:
        return next((i for i in self.instances if i.name == name), None)

    def option(self, name: str) -> Option | None:
        return next((o for o in self.options if o.name == name), None)

    @property
    def drawn_options(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Return every combination of the values that options may be drawn with; the first is production's."""
        values = [[None, *option.drawn] for option in self.options]
        return tuple(
            tuple((option.name, value) for option, value in zip(self.options, chosen, strict=True) if value is not None)
            for chosen in product(*values)
        )

    def operations_of(self, instance: Instance) -> tuple[str, ...]:
        return instance.operations if instance.operations is not None else self.operations
