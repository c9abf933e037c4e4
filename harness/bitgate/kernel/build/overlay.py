"""``$BITGATE_OVERLAY``: a folder whose files shadow those of the same relative path when kernels are built. That is
how a seeded defect meets a whole test run, workers and all, while the sources stay as they are."""

from __future__ import annotations

import os
from pathlib import Path

from bitgate.core.errors import UsageError

VARIABLE = "BITGATE_OVERLAY"

ROOT = "BITGATE_OVERLAY_ROOT"
"""The folder that those paths are relative to; without it, the one that holds bitgate's own rooms."""

QUICK = "BITGATE_QUICK_BUILD"
"""Set for runs that use each library once, as those of seeded defects: the host's kernels are compiled at -O1."""


def from_environment() -> dict[str, Path]:
    """Source paths, relative to the folder that holds the rooms or absolute, and the files that stand in for them."""
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


def quick_build() -> bool:
    return bool(os.environ.get(QUICK))
