"""Targets: what kernels are built for and run on. ``host`` always exists; GPUs are detected."""

from __future__ import annotations

import os
import platform as machine
import re
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.targets import ARCHITECTURES, TargetId, emulated, runs_on, target_id
from bitgate.kernel.build import artefacts
from bitgate.kernel.build.flags import ARCHITECTURE
from bitgate.kernel.build.toolchain import find_cuda_compiler, find_rocm_runtime
from bitgate.runtime import kfd, nvidia

HOST_CPU_FLAGS = ("avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
"""Flags in /proc/cpuinfo of a CPU that runs x86-64-v3 code."""

_FORCED = "ROCM_BOOTSTRAP_FORCE_GFX_ARCH"
_DISABLED = "ROCM_BOOTSTRAP_DISABLE_DETECTION"


@dataclass(frozen=True)
class Target:
    """A target of kernels: ``name`` is a TargetId's; ``obstacle`` says why nothing can run on it, if so."""

    name: str
    platform: str
    kind: Literal["hardware", "cpu", "emulated"]
    device_name: str
    obstacle: str = ""


def present() -> list[Target]:
    """Return the targets of this machine, GPUs first. Raises UsageError if a forced target is unknown."""
    return [*_amd(), *_nvidia(), _host()]


def best() -> Target:
    """Return a GPU that can run kernels if there is one, else the host. Raises UsageError if not even the host can."""
    if emulation.launcher():
        raise UsageError(f"{emulation.LAUNCHER} names an emulator: say of what, with --target gfx942")
    targets = present()
    for target in targets:
        if not target.obstacle:
            return target
    raise UsageError("; ".join(f"{target.name}: {target.obstacle}" for target in targets))


def named(name: str) -> Target:
    """Return the target of that name, on a device on which its code runs; any member of a generic target is such a
    device.

    Raises UsageError that lists what is present, or what prevents its use.
    """
    wanted = target_id(name)
    if wanted.is_emulated or emulation.launcher():
        return _emulated(wanted)
    targets = present()
    for target in targets:
        if runs_on(wanted.name, target.name):
            if target.obstacle:
                raise UsageError(f"{target.name} is present, but {target.obstacle}")
            return replace(target, name=wanted.name)
    found = ", ".join(dict.fromkeys(target.name for target in targets))
    if wanted.platform == "nvidia" and (outer := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        found += f", with CUDA_VISIBLE_DEVICES={outer!r}"
    if wanted.platform == "amd" and (why := unseen()):
        raise UsageError(f"{name} is not present on this machine (found: {found}), but {why}")
    compile_hint = f"compile for it with bitgate compile --target {name}, or " if wanted.platform == "amd" else ""
    raise UsageError(f"{name} is not present on this machine (found: {found}); {compile_hint}run on host")


def _emulated(wanted: TargetId) -> Target:
    """Return the target on the emulator that the environment names. UsageError if it names none, or this is no GPU."""
    program = emulation.emulator()
    if wanted.platform != "amd":
        raise UsageError(f"{emulation.LAUNCHER} names an emulator of AMD GPUs: unset it for --target {wanted.name}")
    if not program:
        raise UsageError(
            f"{wanted.name}: no emulator is named: give --launcher 'rocjitsu --config FILE --', or set"
            f" {emulation.LAUNCHER}"
        )
    emulation.check(os.environ[emulation.LAUNCHER], emulation.LAUNCHER)
    target = wanted if wanted.is_emulated else emulated(wanted)
    if obstacle := _runtime_obstacle():
        raise UsageError(f"{target.name}: {obstacle}")
    return Target(target.name, "amd", "emulated", f"{target.spelled} on {program}")


def absent(name: str) -> Target:
    """Return a target to plan for, present or not; nothing can run on it."""
    wanted = target_id(name)
    if wanted.platform == "amd" and not wanted.is_emulated and emulation.launcher():
        wanted = emulated(wanted)
    kind: Literal["hardware", "cpu", "emulated"] = "cpu" if wanted.platform == "host" else "hardware"
    return Target(wanted.name, wanted.platform, "emulated" if wanted.is_emulated else kind, "", "this is a plan only")


def platform_of(name: str) -> str:
    """Return ``host``, ``amd`` or ``nvidia``, whether or not the target is present. Raises UsageError with the nearest
    name."""
    return target_id(name).platform


def amd_names() -> list[str]:
    """Return the target of every AMD GPU, in the order in which HIP counts them; several of one kind have one name.

    Raises UsageError if a forced target is unknown.
    """
    if sys.platform == "linux" and not os.environ.get(_FORCED):
        return kfd.driver().names if os.environ.get(_DISABLED) != "1" else []
    try:
        from rocm_bootstrap import detect_gpus
    except ImportError:
        return []
    try:
        return [gpu.target.name for gpu in detect_gpus()]
    except ValueError as error:  # it names no target
        raise UsageError(f"{_FORCED}: {error}") from None
    except OSError:
        return []


def unseen() -> str:
    """Return why AMD GPUs of this machine are no targets, in one line; empty if nothing hints at any."""
    is_overridden = sys.platform != "linux" or os.environ.get(_FORCED) or os.environ.get(_DISABLED) == "1"
    return "" if is_overridden else kfd.unseen(kfd.driver())


def _amd() -> list[Target]:
    names = dict.fromkeys(amd_names())
    obstacle = _rocm_obstacle() if names else ""
    return [
        Target(name, "amd", "hardware", f"AMD {name}", obstacle if name in ARCHITECTURES else _NO_ROW) for name in names
    ]


_NO_ROW = "this bitgate knows no such architecture: take a newer one, or add its row to bitgate/core/targets.py"


def _rocm_obstacle() -> str:
    return kfd.obstacle(kfd.driver()) or _runtime_obstacle()


def _runtime_obstacle() -> str:
    try:
        find_rocm_runtime()
    except UsageError as error:
        return str(error)
    return ""


def _nvidia() -> list[Target]:
    names = dict.fromkeys(nvidia.devices())
    obstacle = _cuda_obstacle() if names else ""
    return [Target(arch, "nvidia", "hardware", name, obstacle) for arch, name in names]


def _cuda_obstacle() -> str:
    if artefacts.is_configured():
        return ""
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
    """Return the CPU's name and feature flags."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return machine.processor() or "CPU", frozenset()
    fields = dict(re.findall(r"^(model name|flags)\s*:\s*(.*)$", text, re.MULTILINE))
    return fields.get("model name") or "CPU", frozenset(fields.get("flags", "").split())
