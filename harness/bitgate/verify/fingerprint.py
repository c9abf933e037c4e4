"""The fingerprint of a verdict: machine and code, as ``record.FINGERPRINT`` lists them, filled in by every run."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core import emulation, git
from bitgate.core.compute_sanitizer import PROGRAM, inside
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.build.toolchain import find_rocm_runtime
from bitgate.results.record import EMULATOR, FINGERPRINT, UNKNOWN
from bitgate.runtime.device import Device
from bitgate.runtime.targets import Target

NO_GUARDS = "none"
"""The entry of a case in which nothing was launched between guards."""

_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
_AMD_DRIVER = Path("/sys/module/amdgpu/version")
_AMD_MODULE = Path("/sys/module/amdgpu")


def fingerprint(
    target: Target,
    places: Sequence[Path],
    *,
    build: str = UNKNOWN,
    compiler: str = UNKNOWN,
    gpu: str = "",
    runtime: str = UNKNOWN,
) -> dict[str, str]:
    """Return the fingerprint of a case on ``target``.

    ``places`` are the folders of its kernel and of its suites. Entries that only an open device can report (``gpu``,
    ``runtime``) are unknown without one.
    """
    parts = {
        "build": build,
        "host": platform.node() or UNKNOWN,
        "os": _system(),
        "gpu": "none" if target.platform == "host" else gpu or target.device_name,
        "driver": _driver(target.platform),
        "runtime": runtime,
        "compiler": compiler,
        "commit": _commit(tuple(places)),
        "guards": NO_GUARDS,
    }
    if target.kind == emulation.EMULATED:
        parts["emulator"] = emulation.emulator() or UNKNOWN
    return {name: parts[name] for name in (*FINGERPRINT, EMULATOR) if name in parts}


@lru_cache(maxsize=1)
def _system() -> str:
    """Return a line such as ``Linux 6.1.0-18-amd64 x86_64, Debian GNU/Linux 12 (bookworm)``."""
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        return f"{kernel}, {platform.freedesktop_os_release()['PRETTY_NAME']}"
    except (OSError, KeyError):
        return kernel


@lru_cache
def _driver(platform_name: str) -> str:
    """Return the version of the driver, or "none" for the host; the amdgpu driver of the Linux kernel itself has no
    version."""
    if platform_name == "host":
        return "none"
    if platform_name == "nvidia":
        return nvidia_driver(_text(_NVIDIA_DRIVER))
    return _text(_AMD_DRIVER) or (f"amdgpu of Linux {platform.release()}" if _AMD_MODULE.exists() else UNKNOWN)


def nvidia_driver(text: str) -> str:
    """Return the version from the text of NVIDIA's kernel module; the open one names the machine before it."""
    match = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", text)
    return match[1] if match else UNKNOWN


def runtime_of(device: Device) -> str:
    """Return the name and version of the runtime that a device runs on."""
    version = _query(device.hip, "hipRuntimeGetVersion")
    if version is None:
        return UNKNOWN
    if device.target.platform == "nvidia":  # our layer reports the CUDA runtime's version
        watched = f", under {PROGRAM} {tool}" if (tool := inside()) else ""
        return f"CUDA {version // 1000}.{version % 1000 // 10}, under bitgate's HIP layer{watched}"
    hip = f"HIP {version // 10**7}.{version // 10**5 % 100}.{version % 10**5}"
    return f"{hip} on bitgate's host runtime" if device.target.platform == "host" else f"ROCm {_rocm()}, {hip}"


def _rocm() -> str:
    try:
        library = find_rocm_runtime().resolve()
    except UsageError:
        return UNKNOWN
    return _text(library.parent.parent / ".info" / "version") or UNKNOWN


def gpu_of(device: Device) -> str:
    """Return the name that a device gives itself."""
    name = _query(device.hip, "hipDeviceGetName", 256, device.index)
    text = name.decode(errors="replace") if isinstance(name, bytes) else str(name or "")
    return text.strip("\0 ") or device.target.device_name


def _query(hip: Any, function: str, *arguments: int) -> Any:
    """Return the value of a HIP function; None if it fails, or if this hip-python takes other arguments."""
    try:
        status, value = getattr(hip, function)(*arguments)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
    return value if int(status) == 0 else None


@lru_cache
def _commit(places: tuple[Path, ...]) -> str:
    """Return the user's commit: that of the kernel, else of the suites, if they are outside bitgate's own checkout."""
    own = ours().root
    owners = sorted(places, key=lambda place: place.resolve().is_relative_to(own))
    return next((commit for place in owners if (commit := git.commit_of(place)) != UNKNOWN), UNKNOWN)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
