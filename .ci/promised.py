"""The machine that README promises, as an environment: base system, g++, git, Python and pip, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("g++", "git")
"""Debian's, beside its required ones; Python is the one that runs this."""
_HIDDEN = ("BITGATE_", "CUDA_", "HIP_", "HYPOTHESIS_", "PYTEST_", "PYTHON", "ROCM_", "ROCR_", "XDG_")


@dataclass(frozen=True)
class Machine:
    """A folder with links to programs, an empty home and a build cache: the caller's, or an empty one."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The caller's variables, as far as README's commands may depend on them."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_HIDDEN) and name != "CXX"}
        files = [str(path) for path in _pip_configurations() if path.exists()]
        config = {"PIP_CONFIG_FILE": files[-1]} if files else {}
        cache = os.environ.get("BITGATE_CACHE") or str(self.folder / "cache")
        own = {"PATH": str(self.folder / "bin"), "HOME": str(self.folder / "home"), "BITGATE_CACHE": cache}
        return {**config, **kept, **own}

    def link_programs(self) -> None:
        """Fill the folder of programs, once the packages are installed."""
        python = Path(sys.executable).resolve()
        for path in (*_programs(), *(python.with_name(name) for name in ("python3", python.name))):
            link = self.folder / "bin" / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(python if path.parent == python.parent else path)


@contextmanager
def promised_machine() -> Iterator[Machine]:
    """It is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bitgate-ci-", ignore_cleanup_errors=True) as name:
        for part in ("bin", "home", "cache"):
            (Path(name) / part).mkdir()
        yield Machine(Path(name))


def _pip_configurations() -> list[Path]:
    """Return the files that pip reads below a home, the better place last: an empty home would hide the index."""
    configured = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return [Path.home() / ".pip" / "pip.conf", Path(configured) / "pip" / "pip.conf"]


def _programs() -> list[Path]:
    """Every program of those packages under each of its names: ``awk`` and ``c++`` are links that no package has."""
    listed = _lines("dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status} ${Priority} ${Essential}\n")
    installed = {package: of for package, status, *of in map(str.split, listed) if status == "installed"}
    base = [package for package, of in installed.items() if "required" in of or "yes" in of]
    closure = _lines("apt-cache", "depends", "--recurse", "--important", "--installed", *base, *PACKAGES)
    packages = sorted(installed.keys() & set(closure))
    files = {Path(line).resolve() for line in _lines("dpkg-query", "--listfiles", *packages) if "bin/" in line}
    folders = [Path(name) for name in ("/usr/sbin", "/usr/bin", "/sbin", "/bin")]
    return [path for folder in folders for path in sorted(folder.iterdir()) if path.resolve() in files]


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
