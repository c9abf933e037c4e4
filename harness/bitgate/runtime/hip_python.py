"""hip-python: which release is installed, and which one the ROCm that is here wants."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.kernel.build.toolchain import find_rocm_runtime


def import_hip() -> Any:
    """Its module. UsageError says which release to install."""
    try:
        from hip import hip
    except ImportError as error:
        raise UsageError(why_not(error)) from None
    return hip


def why_not(error: Exception) -> str:
    """One line about a hip-python that does not import."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if not (version := installed()):
        return f"hip-python cannot be imported ({error}): {install()}, with a Python that it has wheels for ({python}?)"
    return (
        f"hip-python {version} is installed and cannot be imported ({error}): it is for another Python than {python};"
        f" {install()} with this one, or take a Python that it has wheels for"
    )


def install() -> str:
    """The command: of ROCm's own release, where one is here and says which it is."""
    release = rocm_release()
    return f"pip install 'hip-python=={release}.*'" if release else "pip install hip-python"


def installed() -> str:
    """Its version; empty if it is not there."""
    try:
        return importlib.metadata.version("hip-python") if importlib.util.find_spec("hip") else ""
    except (importlib.metadata.PackageNotFoundError, ImportError, ValueError):
        return ""


def is_of_another_release(version: int) -> str:
    """One line if the runtime of that version (hipRuntimeGetVersion's) is of another major release than hip-python;
    empty if both are of one."""
    mine, theirs = installed(), hip_release(version)
    if not mine or mine.split(".")[0] == theirs.split(".")[0]:
        return ""
    return f"hip-python {mine} is not of HIP {theirs}'s release: pip install 'hip-python=={theirs}.*'"


def hip_release(version: int) -> str:
    """``6.4`` of 60443482."""
    return f"{version // 10_000_000}.{version // 100_000 % 100}"


def rocm_release() -> str:
    """``6.4``, as ROCm's folder states it; empty if there is no ROCm, or it states nothing."""
    try:
        folder = find_rocm_runtime().resolve().parent.parent
        return ".".join((folder / ".info" / "version").read_text().split("-")[0].split(".")[:2]).strip()
    except (UsageError, OSError):
        return ""
