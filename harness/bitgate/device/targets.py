"""Targets: what kernels are built for and run on. ``host`` is always there; GPUs are asked for."""

from __future__ import annotations

import os
import platform as machine
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal

from bitgate.build.flags import ARCHITECTURE
from bitgate.build.rocm import find_rocm_runtime
from bitgate.build.toolchain import find_cuda_compiler
from bitgate.device import nvidia
from bitgate.errors import UsageError

HOST_CPU_FLAGS = ("avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
"""What /proc/cpuinfo lists on a CPU that runs x86-64-v3 code."""


_GENERIC = ("gfx9-generic", "gfx9-4-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic")
"""Targets of LLVM whose code runs on every GPU of a family: compiled for, never found on a machine."""

_KFD = Path("/dev/kfd")
_TOPOLOGY = Path("/sys/class/kfd")
_FORCED = "ROCM_BOOTSTRAP_FORCE_GFX_ARCH"


@dataclass(frozen=True)
class Target:
    """``name`` is a gfx target, ``sm_90`` or the like, or ``host``. ``obstacle``: why nothing can run on it, if so."""

    name: str
    platform: str
    kind: Literal["hardware", "cpu"]
    device_name: str
    obstacle: str = ""


def present() -> list[Target]:
    """The targets of this machine, GPUs first. UsageError if a forced target is unknown."""
    return [*_amd(), *_nvidia(), _host()]


def best() -> Target:
    """A GPU that can run kernels if there is one, else the host. UsageError if not even the host can."""
    targets = present()
    for target in targets:
        if not target.obstacle:
            return target
    raise UsageError("; ".join(f"{target.name}: {target.obstacle}" for target in targets))


def named(name: str) -> Target:
    """The target of that name; UsageError says what there is, or what stands in the way."""
    targets = present()
    for target in targets:
        if target.name == name:
            if target.obstacle:
                raise UsageError(f"{name} is present, but {target.obstacle}")
            return target
    platform_of(name)
    found = ", ".join(dict.fromkeys(target.name for target in targets))
    if platform_of(name) == "nvidia" and (outer := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        found += f", with CUDA_VISIBLE_DEVICES={outer!r}"
    compile_hint = f"compile for it with bitgate compile --target {name}, or " if name.startswith("gfx") else ""
    raise UsageError(f"{name} is not present on this machine (found: {found}); {compile_hint}run on host")


def absent(name: str) -> Target:
    """A target to plan for, present or not; nothing can run on it."""
    platform = platform_of(name)
    return Target(name, platform, "cpu" if platform == "host" else "hardware", "", "this is a plan only")


def platform_of(name: str) -> str:
    """``host``, ``amd`` or ``nvidia``, whether or not the target is present; UsageError with the nearest name."""
    if re.fullmatch(r"sm_\d{2,3}", name):
        return "nvidia"
    if name not in known():
        close = get_close_matches(name, known(), n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"unknown target '{name}'{hint} (host, or a gfx target such as gfx942)")
    return "host" if name == "host" else "amd"


@lru_cache(maxsize=1)
def known() -> tuple[str, ...]:
    """Every name that a target may have, without NVIDIA's."""
    names = ["host", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", *_GENERIC]
    try:
        from rocm_bootstrap import ALL_TARGETS
    except ImportError:
        return tuple(names)
    values = ALL_TARGETS.values() if hasattr(ALL_TARGETS, "values") else ALL_TARGETS
    return tuple(dict.fromkeys([*names, *(str(getattr(target, "name", target)) for target in values)]))


def _amd() -> list[Target]:
    if sys.platform == "linux" and not _TOPOLOGY.exists() and not os.environ.get(_FORCED):
        return []  # where the driver tells of no GPU, rocm_bootstrap asks clinfo, which takes a second
    try:
        from rocm_bootstrap import detect_gpus
    except ImportError:
        return []
    try:
        gpus = detect_gpus()
    except ValueError as error:  # it names no target
        raise UsageError(f"{_FORCED}: {error}") from None
    except OSError:  # no sysfs that can be read: a container without /sys
        return []
    names = dict.fromkeys(gpu.target.name for gpu in gpus)
    obstacle = _rocm_obstacle() if names else ""
    return [Target(name, "amd", "hardware", f"AMD {name}", obstacle) for name in names]


def _rocm_obstacle() -> str:
    try:
        find_rocm_runtime()
    except UsageError as error:
        return str(error)
    return "" if _KFD.exists() else "/dev/kfd is not there: load the amdgpu driver, or pass the device in"


def _nvidia() -> list[Target]:
    names = dict.fromkeys(nvidia.devices())
    obstacle = _cuda_obstacle() if names else ""
    return [Target(arch, "nvidia", "hardware", name, obstacle) for arch, name in names]


def _cuda_obstacle() -> str:
    try:
        find_cuda_compiler()
    except UsageError as error:
        return str(error)
    return ""


def _host() -> Target:
    name, flags = _cpu()
    lacking = [flag for flag in HOST_CPU_FLAGS if flag not in flags]
    obstacle = ""
    if machine.machine() != "x86_64":
        obstacle = f"the host platform needs an x86-64 CPU, this one is {machine.machine()}"
    elif lacking:
        obstacle = f"the host platform needs an {ARCHITECTURE} CPU, this one lacks {', '.join(lacking)}"
    return Target("host", "host", "cpu", name, obstacle)


@lru_cache(maxsize=1)
def _cpu() -> tuple[str, frozenset[str]]:
    """The CPU's name and feature flags."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return machine.processor() or "CPU", frozenset()
    fields = dict(re.findall(r"^(model name|flags)\s*:\s*(.*)$", text, re.MULTILINE))
    return fields.get("model name") or "CPU", frozenset(fields.get("flags", "").split())
