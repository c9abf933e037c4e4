"""The overlay of sources: files of ``$BITGATE_OVERLAY`` replace those of the same relative path when kernels are built.

By it a seeded defect reaches a whole test run, workers included, while the sources stay unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.project import ours

VARIABLE = "BITGATE_OVERLAY"

ROOT = "BITGATE_OVERLAY_ROOT"
"""The variable of the folder to which those paths are relative; by default the data root."""

QUICK = "BITGATE_QUICK_BUILD"
"""Set for runs that use each library once, such as those of seeded defects: host kernels are compiled at -O1."""

FAMILY = "BITGATE_OVERLAY_FAMILY"
"""Set where sources are replaced for one family alone: others that reach them are built as they are."""


def from_environment() -> dict[str, Path]:
    """Return source paths, relative to the data root or absolute, and the files that replace them."""
    stated = os.environ.get(VARIABLE)
    if not stated:
        return {}
    folder = Path(stated).absolute()
    if not folder.is_dir():
        raise UsageError(f"{VARIABLE}={stated}: no such folder; unset it to build the kernels as they are")
    root = Path(os.environ.get(ROOT, ""))
    if not root.is_dir():
        raise UsageError(f"{ROOT}={root}: no such folder; unset it to shadow bitgate's own sources")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {(root / path.relative_to(folder)).as_posix(): path for path in files}


def real_paths(overlay: Mapping[str, Path], folder: Path) -> dict[Path, Path]:
    """Resolve the names of an overlay from the data root or a family's folder. UsageError if a file is missing."""
    real: dict[Path, Path] = {}
    for name, replacement in overlay.items():
        places = (ours().root / name, folder / name)
        source = next((place for place in places if place.is_file()), None)
        if source is None:
            raise UsageError(f"cannot replace {name}: no such file in {ours().root}")
        if not Path(replacement).is_file():
            raise UsageError(f"cannot replace {name}: {replacement} does not exist")
        real[source] = Path(replacement).resolve()
    return real


def replaced_for(family: str, folder: Path) -> dict[Path, Path]:
    """Return the sources of a family that the environment replaces, and what it is built of instead."""
    return real_paths(from_environment(), folder) if is_for(family) else {}


def is_for(family: str) -> bool:
    """Return whether sources of a family may be replaced."""
    return os.environ.get(FAMILY, "") in ("", family)


def quick_build() -> bool:
    """Return whether host kernels are compiled at -O1."""
    return bool(os.environ.get(QUICK))
