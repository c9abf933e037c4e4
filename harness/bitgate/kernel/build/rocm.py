"""Where ROCm is, on machines that have it."""

from __future__ import annotations

import os
from pathlib import Path

from bitgate.core.errors import UsageError

_SYSTEM_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


def find_rocm_runtime() -> Path:
    """ROCm's ``libamdhip64.so``, looked up in the order that hip-python uses; UsageError if there is none."""
    for folder in _rocm_folders():
        for name in ("libamdhip64.so", *sorted(p.name for p in folder.glob("libamdhip64.so.*"))):
            if (folder / name).is_file():
                return folder / name
    looked = ", ".join(map(str, _rocm_folders()))
    raise UsageError(f"ROCm's libamdhip64.so was not found (looked in {looked}): install ROCm, or set ROCM_PATH")


def _rocm_folders() -> list[Path]:
    stated = [Path(os.environ[name]) / "lib" for name in ("ROCM_PATH", "ROCM_HOME") if os.environ.get(name)]
    searched = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return [*stated, *searched, Path("/opt/rocm/lib"), *map(Path, _SYSTEM_FOLDERS)]
