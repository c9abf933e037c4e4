"""Opens a device: loads the platform's HIP runtime, once a process, and makes hip-python use that one."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, RTLD_GLOBAL
from typing import Any

from bitgate.build import Builder
from bitgate.device.device import Device
from bitgate.device.errors import HipError, check
from bitgate.device.host import HostRuntime
from bitgate.device.ledger import IncidentLedger, NvidiaLedger
from bitgate.device.targets import Target
from bitgate.errors import UsageError
from bitgate.isolation.mapped import mapped_runtimes
from bitgate.target_id import runs_on

_SEARCH_VARIABLES = ("ROCM_PATH", "ROCM_HOME")


class _Platform:
    """The platform that this process has loaded; a process has one."""

    loaded: tuple[str, Any, HostRuntime | None, IncidentLedger | None] | None = None


def open_device(target: Target, builder: Builder | None = None) -> Device:
    """The device of a target. ``builder`` builds the host's runtime; by default one that reports on stderr.

    UsageError if the runtime cannot be built or loaded, hip-python is missing, or this process runs another platform.
    """
    if target.obstacle:
        raise UsageError(f"{target.name}: {target.obstacle}")
    if _Platform.loaded is None:
        _Platform.loaded = _load(target, builder)
    platform, hip, host, ledger = _Platform.loaded
    if platform != target.platform:
        raise UsageError(
            f"{target.name} needs the {target.platform} platform, this process runs {platform}:"
            " one platform a process, start another one"
        )
    return Device(target, hip, host, _index(hip, target), ledger)


def _load(target: Target, builder: Builder | None) -> tuple[str, Any, HostRuntime | None, IncidentLedger | None]:
    if target.platform == "amd":
        hip = _import_hip()
        _count(hip)
        return target.platform, hip, None, None
    path = (builder or Builder(target.platform, arch=target.name)).runtime()
    try:
        handle = CDLL(str(path), mode=RTLD_GLOBAL)
    except OSError as error:
        raise UsageError(f"{path}: the {target.platform} runtime cannot be loaded: {error}") from None
    host = HostRuntime(path, handle) if target.platform == "host" else None
    ledger = NvidiaLedger(str(path), handle) if target.platform == "nvidia" else None
    with _only_what_is_loaded():
        hip = _import_hip()
        _count(hip)
    if others := [str(other) for other in mapped_runtimes() if other != path.resolve()]:
        raise UsageError(
            f"hip-python opened {', '.join(others)} beside bitgate's {target.platform} runtime:"
            " take ROCm out of LD_LIBRARY_PATH and LD_PRELOAD"
        )
    return target.platform, hip, host, ledger


def _import_hip() -> Any:
    try:
        from hip import hip
    except ImportError as error:
        raise UsageError(f"hip-python cannot be imported ({error}): pip install hip-python") from None
    return hip


def _count(hip: Any) -> int:
    """How many devices there are. The first HIP call: here hip-python opens the runtime."""
    try:
        return int(check(hip.hipGetDeviceCount(), "hipGetDeviceCount"))
    except (HipError, RuntimeError) as error:
        raise UsageError(f"the HIP runtime does not start: {error}") from None


@contextmanager
def _only_what_is_loaded() -> Iterator[None]:
    """hip-python prefers a ROCm found by ``ROCM_PATH`` or in the ``rocm_sdk`` package; hide both while it looks."""
    hidden = {name: os.environ.pop(name) for name in _SEARCH_VARIABLES if name in os.environ}
    absent = object()
    package: Any = sys.modules.get("rocm_sdk", absent)
    sys.modules["rocm_sdk"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        os.environ.update(hidden)
        if package is absent:
            del sys.modules["rocm_sdk"]
        else:
            sys.modules["rocm_sdk"] = package


def _index(hip: Any, target: Target) -> int:
    """The first device on which the target's code runs."""
    if target.platform != "amd":
        return 0
    names = [_architecture(hip, index) for index in range(_count(hip))]
    for index, name in enumerate(names):
        if runs_on(target.name, name):
            return index
    raise UsageError(
        f"HIP lists no {target.name} device (it lists {', '.join(names) or 'none'}):"
        " see HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES"
    )


def _architecture(hip: Any, index: int) -> str:
    """``gfx942:sramecc+:xnack-``, which only the structure of properties tells. Its layout is hip-python's: that of
    another ROCm reads something else at its place, or nothing."""
    try:
        properties = check(_properties(hip, index), "hipGetDeviceProperties")
    except (HipError, RuntimeError) as error:
        raise UsageError(f"HIP does not describe device {index} ({error}): {_matching(hip)}") from None
    name = properties.gcnArchName
    text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    if not re.fullmatch(r"gfx[0-9a-f]+(:[a-z]+[+-])*", text):
        raise UsageError(f"HIP calls the architecture of device {index} {text[:40]!r}: {_matching(hip)}")
    return text


def _properties(hip: Any, index: int) -> Any:
    """hip-python gives the structure back since 10; before, it filled one in."""
    try:
        return hip.hipGetDeviceProperties(index)
    except TypeError:
        properties = hip.hipDeviceProp_t()
        return (*hip.hipGetDeviceProperties(properties, index)[:1], properties)


def _matching(hip: Any) -> str:
    """What to do about a hip-python that is not for this ROCm."""
    try:
        version = int(check(hip.hipRuntimeGetVersion(), "hipRuntimeGetVersion"))
        runtime = f"HIP {version // 10_000_000}.{version // 100_000 % 100}"
    except (HipError, RuntimeError):
        runtime = "this HIP"
    installed = importlib.metadata.version("hip-python") if importlib.util.find_spec("hip") else "none"
    return f"{runtime} and hip-python {installed} do not fit; pip install the hip-python of the ROCm that is here"
