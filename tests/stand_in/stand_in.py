"""Builds the stand-in for ROCm's runtime (amdhip64.cpp), as some version of it or other would be."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HIP_API = HERE.parents[1] / "kernels" / "platforms" / "hip_api.txt"
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
        }

    def says(self, *lines: str) -> None:
        self.stage.write_text("".join(f"{line}\n" for line in lines))


def build(
    root: Path, *lines: str, without: Collection[str] = (), version: str = "hip_4.2", soname: str = "libamdhip64.so.5"
) -> StandIn:
    """A folder like /opt/rocm with the runtime in it, that lacks the functions ``without``."""
    (root / "lib").mkdir(parents=True)
    source = (HERE / "amdhip64.cpp").read_text()
    rest = [name for name in functions() if f" {name}(" not in source]
    others = root / "others.cpp"
    others.write_text("".join(f'extern "C" int {name}() {{ return {NOT_SUPPORTED}; }}\n' for name in rest))
    exports = root / "exports.map"
    hidden = "".join(f"    {name};\n" for name in sorted(without))
    exports.write_text(f"{version} {{\n  global:\n    hip*; __hip*; standIn*;\n  local:\n{hidden}    *;\n}};\n")
    library = root / "lib" / soname
    _run("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-fPIC", "-shared", str(HERE / "amdhip64.cpp"), str(others),
         f"-Wl,-soname,{soname}", f"-Wl,--version-script={exports}", "-o", str(library))  # fmt: skip
    if soname != "libamdhip64.so":
        (root / "lib" / "libamdhip64.so").symlink_to(soname)
    made = StandIn(root, root / "stage.txt")
    made.says(*lines)
    return made


def functions() -> Sequence[str]:
    """What hip_api.txt lists."""
    lines = HIP_API.read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
