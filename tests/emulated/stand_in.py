"""Builds what stands in for an emulator, ROCm's runtime and its compiler: real kernels run, on the host runtime.

The runtime is bitgate's for the host, which calls itself the GPU that the launcher names; ``hipcc`` compiles kernels as
the host platform does. The launcher is a separate program (launcher.cpp). No instruction of a GPU is executed.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bitgate.core.project import own_kernels
from bitgate.kernel.build import Builder, flags

HERE = Path(__file__).resolve().parent

HIPCC = """\
#!/bin/bash
# hipcc, as far as bitgate calls it: the host's compiler with the host platform's headers.
[ "$1" = --version ] && {{ echo "HIP version: 7.0.0 (stand-in, {version})"; exit 0; }}
words=() linked=()
for word; do
  case "$word" in
    --offload-arch=*|-O3) ;;
    -shared) words+=("$word"); linked=(-L{lib} -Wl,--no-as-needed -lamdhip64) ;;
    hip) words+=(c++) ;;
    *) words+=("$word") ;;
  esac
done
exec {compiler} {flags} -I{include} "${{words[@]}}" "${{linked[@]}}"
"""


@dataclass(frozen=True)
class StandIn:
    """``root`` is what ROCM_PATH names; ``launcher`` is the program of the emulator."""

    root: Path
    launcher: Path

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in base.items() if not name.startswith("BITGATE_LAUNCHER")}
        return {**kept, "ROCM_PATH": str(self.root), "PATH": f"{self.root / 'bin'}:{base['PATH']}"}

    def words(self, gpu: str, **says: object) -> list[str]:
        """The words of a launcher: the GPU, and what the emulator is to do wrong."""
        return [str(self.launcher), "--gpu", gpu, *(f"--{name}={value}" for name, value in says.items()), "--"]

    def command(self, gpu: str, **says: object) -> str:
        return shlex.join(self.words(gpu, **says))


def build(root: Path) -> StandIn:
    """Make a folder like /opt/rocm, and the launcher in it. Libraries come from the cache of builds."""
    builder = Builder("host")
    for name in ("bin", "lib", ".info"):
        (root / name).mkdir(parents=True)
    shutil.copyfile(builder.runtime(), root / "lib" / "libamdhip64.so")
    (root / ".info" / "version").write_text("7.0.0-stand-in\n")
    compiler = builder.compiler
    stated = [one for one in flags.host_kernel(compiler.kind) if not one.startswith("-DBITGATE_TARGET")]
    hipcc = root / "bin" / "hipcc"
    hipcc.write_text(
        HIPCC.format(
            version=compiler.name,
            compiler=shlex.join(compiler.command),
            flags=shlex.join(stated),
            include=own_kernels() / "platforms" / "host" / "include",
            lib=root / "lib",
        )
    )
    hipcc.chmod(0o755)
    launcher = root / "bin" / "stand-in-emulator"
    command = [*compiler.command, "-std=c++20", "-O1", "-Wall", "-Wextra"]
    headers = own_kernels() / "platforms" / "host" / "include"
    shared = ["-shared", "-fPIC", "-march=x86-64-v3", f"-I{headers}", str(HERE / "emulator.cpp"), "-ldl"]
    subprocess.run([*command, str(HERE / "launcher.cpp"), "-o", str(launcher)], check=True)
    subprocess.run([*command, *shared, "-o", f"{launcher}.so"], check=True)
    return StandIn(root, launcher)
