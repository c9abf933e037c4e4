"""What some tests need beyond README's promise, and how it is installed. The nightly check installs it from here."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

NIGHTLY = bool(os.environ.get("BITGATE_NIGHTLY"))
"""Every target, every seed; else enough of them that a change is met within minutes."""


@dataclass(frozen=True)
class Need:
    """Programs, or a Python module, that a test cannot do without."""

    programs: tuple[str, ...] = ()
    """The first is in PATH; the others may be in ``folders``, where Debian puts servers."""
    folders: tuple[str, ...] = ()
    module: str = ""
    packages: tuple[str, ...] = ()
    """Debian's, which ``.ci/nightly`` installs."""
    other_way: str = ""
    """How to install what Debian does not have."""
    nightly: bool = True

    @property
    def here(self) -> bool:
        """Whether this machine has all of it."""
        path = os.environ.get("PATH", "")
        places = [path, *(os.pathsep.join([path, *self.folders]) for _ in self.programs[1:])]
        found = all(shutil.which(program, path=place) for program, place in zip(self.programs, places, strict=False))
        return found and (not self.module or find_spec(self.module) is not None)


_SERVERS = tuple(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))
_SLURM = ("sbatch", "squeue", "scontrol", "scancel", "sinfo", "munged", "mungekey", "slurmctld", "slurmd")

NEEDS = {
    "apt": Need(("dpkg-query", "apt-cache"), other_way="take a Debian"),
    "bwrap": Need(("bwrap",), packages=("bubblewrap",)),
    "chromium": Need(("chromium",), packages=("chromium",)),
    "ctest": Need(("ctest", "cmake", "make"), packages=("cmake", "make")),
    "groovy": Need(("groovy", "java"), packages=("groovy", "ant", "default-jre-headless")),
    "hipcc": Need(("hipcc",), packages=("hipcc", "libamdhip64-dev")),
    "make": Need(("make",), packages=("make",)),
    "nvcc": Need(("nvcc",), other_way="install the CUDA toolkit", nightly=False),
    "postgres": Need(("psql", "initdb", "pg_ctl"), _SERVERS, packages=("postgresql-15",)),
    "slurm": Need(
        _SLURM,
        ("/usr/sbin", "/sbin"),
        packages=("munge", "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins"),
    ),
    "torch": Need(module="torch", other_way="pip install torch"),
}


def lacking(name: str) -> str:
    """Why a test cannot run here, and what to install; empty if the machine has what it needs."""
    need = NEEDS[name]
    if need.here:
        return ""
    how = need.other_way or f"apt install {' '.join(need.packages)}"
    nightly = "the nightly has it" if need.nightly else "the nightly has not"
    return f"needs {name} ({how}), which README does not promise; {nightly}"
