"""Device code of a submission without its host code, so that where it is launched nothing of the submission runs.

On NVIDIA GPUs the sources are compiled to a cubin alone. bitgate loads and launches that as a module: what a source has
of host code, constructors of objects for example, is in no process.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.device_module import parameters_in_ptx
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.processes import Processes
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.source import DeviceSource, is_module
from bitgate.tools.judge.declared import declare_judged, judged_family

CUBIN = "submission.cubin"
DECLARATION = '''"""The device code of {file}: bitgate judge wrote this file."""

from pathlib import Path

from bitgate.tools.judge.device_code import module_family

FAMILY = module_family(file={file!r}, folder=Path(__file__).parent, symbols={symbols!r}, reals={reals!r})
'''


def is_device_only(family: KernelFamily, platform: str) -> bool:
    """Return whether a family can be launched on a platform without any host code of its author."""
    return family.source is not None and (platform == "nvidia" or (platform == "amd" and is_module(family.sources)))


def declare_device_code(declaration: Path, family: KernelFamily, target: str, into: Path) -> Path:
    """Return the declaration of a family's device code alone, compiled for a target into a folder.

    That of a family of modules needs nothing compiled. BuildError if the sources do not compile, UsageError if one of
    the kernels is not in what was compiled.
    """
    assert family.source is not None
    if is_module(family.sources):
        return declare_judged(declaration, into)
    (unit,) = Builder("nvidia", arch=target).recipe(family).units
    assert unit.text is not None
    into.mkdir(parents=True, exist_ok=True)
    source = into / unit.source.with_suffix(".cu").name
    write_whole(source, unit.text)
    ptx = into / "submission.ptx"
    for kind, output in (("-cubin", into / CUBIN), ("-ptx", ptx)):
        command = [*unit.compiler.command, *unit.compiler.headers, *unit.flags]
        command += [*(f"-I{one}" for one in unit.includes), kind, str(source), "-o", str(output)]
        done = Processes().run(command, {})
        if done is not None and done.code != 0:
            raise BuildError(family.name, done.output)
    kernels = dict(parameters_in_ptx(ptx.read_text(errors="replace")))
    symbols = {name: _symbol(name, kernels) for name in family.source.kernels}
    reals = {
        name: [place for place, one in enumerate(kernels[symbol]) if one.code.startswith("f")]
        for name, symbol in symbols.items()
    }
    write_whole(into / "declaration.py", DECLARATION.format(file=str(declaration), symbols=symbols, reals=reals))
    return into / "declaration.py"


def module_family(
    *, file: str, folder: Path, symbols: Mapping[str, str], reals: Mapping[str, list[int]]
) -> KernelFamily:
    """Return the family of a declaration's file with its compiled device code instead of sources."""
    family = judged_family(file)
    stated = family.source
    assert stated is not None
    source = CompiledSource(tuple(symbols.values()), stated.launches, stated.workspace, symbols=symbols, reals=reals)
    plain: dict[str, Any] = {"flags": (), "defines": {}, "libraries": (), "include_dirs": ()}
    return replace(family, folder=folder, sources=(CUBIN,), platforms=("nvidia",), source=source, **plain)


@dataclass(frozen=True)
class CompiledSource(DeviceSource):
    """A source whose launches name C++ kernels: the plan has their symbols, and numbers as the parameters' types."""

    symbols: Mapping[str, str] = field(kw_only=True)
    reals: Mapping[str, list[int]] = field(kw_only=True)

    def plan(self, problem: Any, instance: Any, options: Mapping[str, str]) -> Mapping[str, Any]:
        found = super().plan(problem, instance, options)
        for step in found["steps"]:
            if (name := step.get("kernel")) not in self.symbols:
                continue
            step["kernel"] = self.symbols[name]
            for place in self.reals[name]:
                if place < len(step["args"]) and "integer" in step["args"][place]:
                    step["args"][place] = {"real": float(int(step["args"][place]["integer"])).hex()}
        return found


def _symbol(name: str, kernels: Mapping[str, Any]) -> str:
    """Return the symbol of a kernel by its name in C++. UsageError if none, or more than one, is called so."""
    plain = _spelt(name)
    found = [one for one in kernels if one == name or _spelt(_function_of(_demangled(one))) == plain]
    if len(found) != 1:
        listed = ", ".join(_function_of(_demangled(one)) for one in kernels)
        raise UsageError(f"DeviceSource.kernels: '{name}' is not one of the compiled kernels: {listed}")
    return found[0]


def _demangled(symbol: str) -> str:
    library = ctypes.CDLL("libstdc++.so.6")
    demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
    demangle.restype, free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    status = ctypes.c_int()
    text = demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return symbol
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        free(text)


def _function_of(text: str) -> str:
    """Return ``gemm<float, 16>`` of ``void gemm<float, 16>(float const*, int)``."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):  # the parameters are the last parentheses
        depth += (text[place] == ")") - (text[place] == "(")
        if text[place] == "(" and depth == 0:
            return text[:place].removeprefix("void ")
    return text


def _spelt(name: str) -> str:
    """Return a name without what C++ lets differ: spaces, and how integers and types are written."""
    plain = re.sub(r"\((?:unsigned )?\w+\)(?=\w)", "", name)  # (int)16
    plain = re.sub(r"\b(\d+)(?:u|l|ul|ull|U|L)+\b", r"\1", plain)
    return re.sub(r"\s+", "", plain.replace("half", "__half").replace("____half", "__half").removeprefix("::"))
