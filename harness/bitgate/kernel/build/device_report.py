"""Report of the device code for an AMD GPU, kernel by kernel: resources, and matrix instructions that are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.kernel.build import matrix_check
from bitgate.kernel.build.code_object import CodeObject, KernelCode, bundled, parse, read
from bitgate.kernel.declaration import Instance, KernelFamily

_DISASSEMBLERS = ("llvm-objdump", *(f"llvm-objdump-{major}" for major in range(23, 14, -1)))


@dataclass(frozen=True)
class CodeObjectReport:
    """One code object with the instructions of each function; ``mnemonics`` is None if there is no disassembler."""

    path: Path
    code: CodeObject
    mnemonics: Mapping[str, frozenset[str]] | None


def units_of_code_objects(paths: Mapping[str, Path]) -> dict[str, CodeObjectReport]:
    """Read the code objects that ``Builder.code_objects`` made, by unit."""
    return {
        name: CodeObjectReport(path, read(path), matrix_check.mnemonics(path.with_suffix(".s").read_text()))
        for name, path in paths.items()
    }


def units_of_library(path: Path, target: str) -> dict[str, CodeObjectReport]:
    """Read the code objects in a shared library of a HIP compiler, numbered, since it does not keep their names."""
    return {
        str(number): CodeObjectReport(path, parse(data, str(path)), _disassembled(data))
        for number, data in enumerate(bundled(path.read_bytes(), target))
    }


def rows(family: KernelFamily, target: str, units: Mapping[str, CodeObjectReport]) -> list[dict[str, Any]]:
    """Return one entry for each kernel, as ``bitgate compile --json`` prints it; ``instance`` is None if unknown."""
    instances = family.on(target).instances
    return [
        {
            "kernel": kernel.symbol,
            "function": kernel.function,
            "family": family.name,
            "unit": name,
            "instance": _instance_of(kernel, name, instances),
            "target": target,
            "path": str(unit.path),
            "vgprs": kernel.vgprs,
            "agprs": kernel.agprs,
            "sgprs": kernel.sgprs,
            "lds": kernel.lds,
            "scratch": kernel.scratch,
            "spills": kernel.vgpr_spills,
            "sgpr_spills": kernel.sgpr_spills,
            "wavefront": kernel.wavefront,
            "max_workgroup": kernel.max_workgroup,
            "kernarg_bytes": kernel.kernarg_bytes,
        }
        for name, unit in units.items()
        for kernel in unit.code.kernels
    ]


def without_matrix(family: KernelFamily, target: str, units: Mapping[str, CodeObjectReport]) -> list[str] | None:
    """Return a line for each matrix instance that lacks its instruction; None if there is no disassembly."""
    if any(unit.mnemonics is None for unit in units.values()):
        return None
    instances = family.on(target).instances
    # A unit answers for the instances of its group. Units of a library have no names: all of them answer for all.
    parts = [([i for i in instances if i.group == name], [unit]) for name, unit in units.items()]
    if not any(some for some, _ in parts):
        parts = [(list(instances), list(units.values()))]
    return [
        str(missing)
        for some, of in parts
        for missing in matrix_check.missing(
            some,
            target,
            [kernel.symbol for unit in of for kernel in unit.code.kernels],
            {symbol: words for unit in of for symbol, words in (unit.mnemonics or {}).items()},
        )
    ]


def _instance_of(kernel: KernelCode, unit: str, instances: tuple[Instance, ...]) -> str | None:
    """Return the one instance whose numbers the symbol holds; if several dtypes share them, the unit's."""
    fitting = [i for i in instances if i.tile and matrix_check.kernels_of(i, [kernel.symbol])]
    own = [i for i in fitting if i.group == unit] or fitting
    return own[0].name if len(own) == 1 else None


def _disassembled(data: bytes) -> dict[str, frozenset[str]] | None:
    rocm = os.environ.get("ROCM_PATH") or "/opt/rocm"
    found = (shutil.which(name, path=f"{rocm}/llvm/bin") or shutil.which(name) for name in _DISASSEMBLERS)
    program = next((path for path in found if path), None)
    if program is None:
        return None
    with TemporaryDirectory() as folder:
        file = Path(folder) / "code.co"
        file.write_bytes(data)
        done = subprocess.run([program, "-d", str(file)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(f"{program} cannot disassemble a code object: {done.stderr.strip().splitlines()[-1:]}")
    return matrix_check.mnemonics(done.stdout)
