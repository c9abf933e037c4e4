"""Device code that is compiled already: code objects for AMD; cubins, fat binaries and PTX for NVIDIA.

Their kernels' parameters are read from the files: the metadata note of a code object, the sections ``.nv.info.*`` of a
cubin (a record of 12 bytes a parameter: index, ordinal, offset, size in the upper 14 bits), the ``.entry`` of PTX.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from bitgate.core.errors import UsageError, near
from bitgate.core.targets import ARCHITECTURES, architecture_of, runs_on
from bitgate.kernel.build import code_object
from bitgate.kernel.declaration import KernelFamily

Parsed = TypeVar("Parsed")

_FATBIN = 0xBA55ED50
_COMPRESSED = 0xA000
"""The flags of a fat binary's entry that is compressed, one for each method."""
_PARAMETER_INFO = (0x17, 0x45)
"""The attributes of ``.nv.info`` that describe a parameter."""
_PTX_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
_PTX_TARGET = re.compile(r"\.target\s+(\S+?)[,\s]")
_PTX_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.([bfsu])(\d+)[^\[\],]*(?:\[(\d+)\])?")


@dataclass(frozen=True)
class ModuleParameter:
    """A parameter as its file describes it: where it lies in the argument block, and its code (``launch_list``)."""

    offset: int
    size: int
    code: str


@dataclass(frozen=True)
class DeviceModule:
    """A file of device code for a target, and the parameters of its kernels by symbol.

    ``code`` has what a code object says of each kernel; of a cubin or PTX it is empty.
    """

    file: Path
    target: str
    kernels: Mapping[str, tuple[ModuleParameter, ...]]
    code: Mapping[str, code_object.KernelCode] = field(default_factory=dict)

    def described(self, symbol: str) -> str:
        """Return the parameters of a kernel as a library lists them (``launch_list``)."""
        return ",".join(f"{one.code}@{one.size}" for one in self.parameters(symbol))

    def parameters(self, symbol: str) -> tuple[ModuleParameter, ...]:
        """Return the parameters of a kernel. UsageError, with what may be meant, if there is no such symbol."""
        if symbol in self.kernels:
            return self.kernels[symbol]
        meant = [one for one in self.kernels if code_object.function_name(one) == symbol.partition("<")[0]]
        hint = f"give the symbol, {' or '.join(meant)}" if meant else near(symbol, self.kernels)
        raise UsageError(f"{self.file} has no kernel '{symbol}': {hint}")


def module_for(family: KernelFamily, target: str) -> DeviceModule:
    """Return the first of a family's files that has code for a target. UsageError if none has."""
    others = []
    for source in family.sources:
        kernels = _read(family, source, lambda data, name: _kernels(data, name, target))
        if isinstance(kernels, str):
            others.append(f"{source} is for {kernels}")
        else:
            return DeviceModule(family.folder / source, target, kernels)
    raise UsageError(f"{family.name}: no module for {target}: {', '.join(others)}")


def modules_of(family: KernelFamily) -> Iterator[DeviceModule]:
    """Yield each code of a family's files, for whichever target. UsageError for one that cannot be read."""
    for source in family.sources:
        yield from _read(family, source, lambda data, name: list(_every(data, Path(name))))


def _read(family: KernelFamily, source: str, parse: Callable[[bytes, str], Parsed]) -> Parsed:
    file = family.folder / source
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{family.name}: {file}: cannot be read: {error.strerror}") from None
    try:
        return parse(data, str(file))
    except (ELFError, struct.error, IndexError, UnicodeError, ValueError) as error:
        raise UsageError(f"{file}: no module that bitgate can read: {error}") from None


def _every(data: bytes, file: Path) -> Iterator[DeviceModule]:
    if _is_cubin(data):
        yield DeviceModule(file, f"sm_{_sm(data)}", _of_cubin(data))
    elif data[:4] == struct.pack("<I", _FATBIN):
        for kind, arch, is_compressed, content in _entries(data):
            if not is_compressed:
                text = content.decode(errors="replace")
                yield DeviceModule(
                    file, f"sm_{arch}", _of_cubin(content) if kind == 2 else dict(parameters_in_ptx(text))
                )
    elif _is_ptx(text := data.decode(errors="replace")):
        yield DeviceModule(file, _PTX_TARGET.findall(text)[0], dict(parameters_in_ptx(text)))
    else:
        bundled = [one for arch in ARCHITECTURES for one in code_object.bundled(data, arch)]
        for content in dict.fromkeys(bundled or [data]):
            found = code_object.parse(content, str(file))
            code = {one.symbol: one for one in found.kernels}
            yield DeviceModule(file, found.target, _of_code_object(found), code)


def _kernels(data: bytes, name: str, target: str) -> dict[str, tuple[ModuleParameter, ...]] | str:
    """Return the parameters of each kernel, or what the code is for if that is not the target."""
    platform = architecture_of(target).platform
    if _is_cubin(data):
        arch = f"sm_{_sm(data)}"
        return _of_cubin(data) if arch == target else arch
    if data[:4] == struct.pack("<I", _FATBIN):
        return _of_fatbin(data, target) if platform == "nvidia" else "nvidia"
    if _is_ptx(text := data.decode(errors="replace")):
        return dict(parameters_in_ptx(text)) if platform == "nvidia" else "nvidia"
    bundled = code_object.bundled(data, target)
    found = code_object.parse(bundled[0] if bundled else data, name)
    return _of_code_object(found) if runs_on(found.target, target) else found.target


_EM_CUDA = 190


def _is_cubin(data: bytes) -> bool:
    return data[:4] == b"\x7fELF" and data[18:20] == struct.pack("<H", _EM_CUDA)


def _is_ptx(text: str) -> bool:
    return _PTX_ENTRY.search(text) is not None and ".version" in text and _PTX_TARGET.search(text) is not None


def _sm(data: bytes) -> int:
    """Return the architecture of a cubin: in the second byte of its flags since ABI version 8, before in the first."""
    (flags,) = struct.unpack_from("<I", data, 48)
    return int(flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF)


def _of_code_object(found: code_object.CodeObject) -> dict[str, tuple[ModuleParameter, ...]]:
    return {
        kernel.symbol: tuple(
            ModuleParameter(one.offset, one.size, "p:v0" if one.is_pointer else f"n{one.size}")
            for one in kernel.explicit
        )
        for kernel in found.kernels
    }


def _of_cubin(data: bytes) -> dict[str, tuple[ModuleParameter, ...]]:
    prefix = ".nv.info."
    return {
        section.name.removeprefix(prefix): tuple(_parameters_in(section.data()))
        for section in ELFFile(BytesIO(data)).iter_sections()
        if section.name.startswith(prefix)
    }


def _parameters_in(records: bytes) -> list[ModuleParameter]:
    found, at = {}, 0
    while at < len(records):
        form, attribute, size = struct.unpack_from("<BBH", records, at)
        at += 4
        if form != 4:  # the two bytes are the value
            continue
        if attribute in _PARAMETER_INFO:
            _, ordinal, offset, described = struct.unpack_from("<IHHI", records, at)
            found[ordinal] = ModuleParameter(offset, described >> 18, f"x{described >> 18}")
        at += size
    return [found[ordinal] for ordinal in sorted(found)]


def _of_fatbin(data: bytes, target: str) -> dict[str, tuple[ModuleParameter, ...]] | str:
    """Return the kernels of the cubin for the target, else of the PTX."""
    ptx: dict[str, tuple[ModuleParameter, ...]] | None = None
    held = []
    for kind, arch, is_compressed, content in _entries(data):
        held.append(f"{'PTX' if kind == 1 else 'a cubin'} of sm_{arch}")
        if kind == 2 and f"sm_{arch}" != target:
            continue
        if is_compressed:
            held[-1] += " that is compressed (nvcc -no-compress makes one that is not)"
        elif kind == 2:
            return _of_cubin(content)
        else:
            ptx = dict(parameters_in_ptx(content.decode(errors="replace")))
    return ptx if ptx is not None else " and ".join(held) or "nothing"


def _entries(data: bytes) -> Iterator[tuple[int, int, bool, bytes]]:
    """Yield kind (1: PTX, 2: cubin), architecture, whether it is compressed, and content of a fat binary's entries."""
    _, _, header, total = struct.unpack_from("<IHHQ", data)
    at, end = header, header + total
    while at < end:
        kind, _, own, size = struct.unpack_from("<HHIQ", data, at)
        (arch,) = struct.unpack_from("<I", data, at + 28)
        (flags,) = struct.unpack_from("<Q", data, at + 40)
        if not own:
            raise ValueError("the fat binary is cut")
        yield kind, arch, bool(flags & _COMPRESSED), data[at + own : at + own + size]
        at += own + size


def parameters_in_ptx(text: str) -> Iterator[tuple[str, tuple[ModuleParameter, ...]]]:
    """Yield each kernel of PTX, with its parameters."""
    for entry in _PTX_ENTRY.finditer(text):
        parameters, end = [], 0
        for align, kind, bits, count in _PTX_PARAMETER.findall(entry[2]):
            size = int(bits) // 8 * int(count or 1)
            code = f"s{size}" if count else f"f{size}" if kind == "f" else f"x{size}"
            end = -(-end // (step := int(align or size))) * step
            parameters.append(ModuleParameter(end, size, code))
            end += size
        yield entry[1], tuple(parameters)
