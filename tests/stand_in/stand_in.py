"""Builds the stand-in for ROCm's runtime (amdhip64.cpp), as some version of it or other would be."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
PLATFORMS = HERE.parents[1] / "kernels" / "platforms"
NOT_SUPPORTED = 801


@dataclass(frozen=True)
class StandIn:
    """``root`` is what ROCM_PATH names; ``stage`` says what the machine claims to be."""

    root: Path
    stage: Path

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """For a process that is to meet it."""
        return {
            **base,
            "ROCM_PATH": str(self.root),
            "LD_LIBRARY_PATH": str(self.root / "lib"),
            "STAND_IN": str(self.stage),
            "BITGATE_SYSTEM_ROOT": str(self.machine),
        }

    @property
    def machine(self) -> Path:
        """What stands in for the machine's /dev and /sys (``lists``)."""
        return self.stage.parent / "machine"

    def says(self, *lines: str) -> None:
        self.stage.write_text("".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class Node:
    """A GPU as the driver's topology has it; ``version`` is gfx_target_version, ``mib`` its memory."""

    version: int = 90402
    compute_units: int = 304
    mib: int = 196608
    render: int = 128


def lists(machine: Path, *nodes: Node, kfd: bool = True, partition: tuple[str, str] | None = None) -> None:
    """Write the files in which amdgpu reports GPUs: one CPU, and these."""
    topology = machine / "sys/class/kfd/kfd/topology/nodes"
    (machine / "sys/module/amdgpu").mkdir(parents=True)
    (machine / "dev/dri").mkdir(parents=True)
    write(topology / "0" / "properties", "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n")
    for number, node in enumerate(nodes, 1):
        facts = {"cpu_cores_count": 0, "simd_count": 4 * node.compute_units, "simd_per_cu": 4}
        facts |= {"gfx_target_version": node.version, "drm_render_minor": node.render + number - 1}
        write(topology / str(number) / "properties", "".join(f"{name} {value}\n" for name, value in facts.items()))
        bank = f"heap_type 1\nsize_in_bytes {node.mib << 20}\n"
        write(topology / str(number) / "mem_banks/0/properties", bank)
        write(machine / f"dev/dri/renderD{node.render + number - 1}")
    if kfd:
        write(machine / "dev/kfd")
    for file in (machine / "dev").rglob("*"):
        file.chmod(0o777)  # any user may open it
    if partition:
        card = machine / "sys/class/drm/card1/device"
        write(card / "current_compute_partition", f"{partition[0]}\n")
        write(card / "current_memory_partition", f"{partition[1]}\n")


def write(file: Path, text: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def build(
    root: Path, *lines: str, without: Collection[str] = (), version: str = "hip_4.2", soname: str = "libamdhip64.so.5"
) -> StandIn:
    """A folder like /opt/rocm with the runtime in it, that lacks the functions ``without``."""
    (root / "lib").mkdir(parents=True)
    exports = root / "exports.map"
    hidden = "".join(f"    {name};\n" for name in sorted(without))
    exports.write_text(f"{version} {{\n  global:\n    hip*; __hip*; standIn*;\n  local:\n{hidden}    *;\n}};\n")
    library = root / "lib" / soname
    _run("g++", "-shared", *_objects(), f"-Wl,-soname,{soname}", f"-Wl,--version-script={exports}", "-o", str(library))
    if soname != "libamdhip64.so":
        (root / "lib" / "libamdhip64.so").symlink_to(soname)
    made = StandIn(root, root / "stage.txt")
    made.says(*lines)
    return made


_FOLDER = TemporaryDirectory(prefix="stand-in-")


@lru_cache(maxsize=1)
def _objects() -> tuple[str, str]:
    """Compiled once a process: versions differ in how they are linked."""
    source = HERE / "amdhip64.cpp"
    others = Path(_FOLDER.name) / "others.cpp"
    text = source.read_text()
    rest = [name for name in functions() if not re.search(rf"[ (]{name}[()]", text)]
    others.write_text("".join(f'extern "C" int {name}() {{ return {NOT_SUPPORTED}; }}\n' for name in rest))
    made = []
    for file in (source, others):
        made.append(str(Path(_FOLDER.name) / f"{file.stem}.o"))
        _run("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-fPIC", "-c", str(file), "-o", made[-1])
    return made[0], made[1]


def functions() -> Sequence[str]:
    """Return the functions of hip_api.txt and hip_api_gpu.txt."""
    lists = [(PLATFORMS / name).read_text() for name in ("hip_api.txt", "hip_api_gpu.txt")]
    lines = [line for text in lists for line in text.splitlines()]
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
