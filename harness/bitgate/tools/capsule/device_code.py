"""The code objects of a kernel instance for a gfx target, and the search for the one that holds a symbol."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder
from bitgate.kernel.build.code_object import CodeObject, KernelCode, bundled, parse
from bitgate.kernel.build.toolchain import INSTALL_ZIG, find_device_compiler, knows
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.tools.capsule.manifest import CapsuleDefect


@dataclass(frozen=True)
class DeviceUnit:
    """One translation unit's device code: the ELF file and its parsed metadata."""

    name: str
    data: bytes
    code: CodeObject


class DeviceCode:
    """The device code of an instance, compiled no further than needed: first the instance's unit, then the family's
    others.

    ziglang compiles where it is installed, so that a capsule is the same on every machine; else ROCm.
    """

    def __init__(self, family: KernelFamily, instance: Instance, target: str) -> None:
        self.family = family
        self.target = target
        self._group = instance.group
        self._builder = Builder("amd", arch=target)
        self._all: tuple[DeviceUnit, ...] | None = None

    @cached_property
    def own(self) -> tuple[DeviceUnit, ...]:
        """The unit of the instance; all units where units are not named like groups. Raises the errors of
        ``kernel``."""
        return self._units({self._group})

    def kernel(self, symbols: tuple[str, ...]) -> tuple[DeviceUnit, KernelCode]:
        """Return the kernel that has one of these names, and its unit.

        Raises CapsuleDefect if no unit of the family has it, UsageError without a compiler, BuildError if it does not
        compile.
        """
        found = _search(self.own, symbols)
        if found is None:
            if self._all is None:
                self._all = self._units(None)
            found = _search(self._all, symbols)
        if found is None:
            names = " or ".join(symbols) or "a kernel without a symbol"
            raise CapsuleDefect(f"{self.family.name}: no code object for {self.target} holds {names}")
        return found

    def _units(self, groups: set[str] | None) -> tuple[DeviceUnit, ...]:
        stems = {source.partition(".")[0] for source in self.family.sources}
        if groups is not None and not groups <= stems:
            groups = None
        try:
            find_device_compiler(self._builder.cache)
        except UsageError as without_zig:
            return self._from_rocm(without_zig)
        paths = self._builder.code_objects(self.family, groups)
        return tuple(_unit_of(name, path) for name, path in paths.items())

    def _from_rocm(self, without_zig: UsageError) -> tuple[DeviceUnit, ...]:
        try:
            compiler = self._builder.compiler
        except UsageError as without_rocm:
            raise UsageError(f"{without_zig}; {without_rocm}") from None
        if not knows(compiler, self.target, self._builder.cache):
            raise UsageError(f"{compiler.name} does not know {self.target}; without ROCm: {INSTALL_ZIG}")
        library = self._builder.family(self.family)
        found = bundled(library.read_bytes(), self.target)
        if not found:
            raise UsageError(f"{library} holds no code object for {self.target} that can be read")
        return tuple(_unit(f"{self.family.name}_{number}", data) for number, data in enumerate(found))


@lru_cache(maxsize=64)
def _unit_of(name: str, path: Path) -> DeviceUnit:
    """Return the unit of a file of the build cache, whose path changes with its contents."""
    return _unit(name, path.read_bytes())


def _unit(name: str, data: bytes) -> DeviceUnit:
    return DeviceUnit(name, data, parse(data, f"{name}.co"))


def _search(units: tuple[DeviceUnit, ...], symbols: tuple[str, ...]) -> tuple[DeviceUnit, KernelCode] | None:
    for unit in units:
        for symbol in symbols:
            kernel = unit.code.kernel(symbol)
            if kernel is not None:
                return unit, kernel
    return None
