"""Opening of a device: loads the platform's HIP runtime, once a process, and makes hip-python use that one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, RTLD_GLOBAL
from typing import Any

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.targets import runs_on, target_id
from bitgate.kernel.build import Builder
from bitgate.runtime import race_log, sanitizer_log
from bitgate.runtime.device import Attributes, Device
from bitgate.runtime.errors import HipError, check
from bitgate.runtime.hip_python import HipFunctions, hip_release, import_hip, installed, lacking
from bitgate.runtime.host import HostRuntime
from bitgate.runtime.ledger import IncidentLedger
from bitgate.runtime.targets import Target
from bitgate.worker.mapped import mapped_runtimes

_SEARCH_VARIABLES = ("ROCM_PATH", "ROCM_HOME")
_NARROWING = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


class _Platform:
    """The platform that this process has loaded; a process has one."""

    loaded: tuple[str, Any, HostRuntime | None, IncidentLedger | None] | None = None


def open_device(target: Target, builder: Builder | None = None) -> Device:
    """Open the device of a target. ``builder`` builds the host's runtime; by default one that reports on stderr.

    Raises UsageError if the runtime cannot be built or loaded, hip-python is missing, or this process runs another
    platform.
    """
    if target.obstacle:
        raise UsageError(f"{target.name}: {target.obstacle}")
    if target.kind == emulation.EMULATED:
        emulation.check_inside(target.name)
    if _Platform.loaded is None:
        _Platform.loaded = _load(target, builder)
    platform, hip, host, ledger = _Platform.loaded
    if platform != target.platform:
        raise UsageError(
            f"{target.name} needs the {target.platform} platform, this process runs {platform}:"
            " one platform a process, start another one"
        )
    return _open(hip, target, host, ledger)


def _load(target: Target, builder: Builder | None) -> tuple[str, Any, HostRuntime | None, IncidentLedger | None]:
    if target.platform == "amd":
        hip = _rocm()
        return target.platform, hip, None, race_log.ledger_of(hip)
    path = (builder or Builder(target.platform, arch=target.name)).runtime()
    try:
        handle = CDLL(str(path), mode=RTLD_GLOBAL)
    except OSError as error:
        raise UsageError(f"{path}: the {target.platform} runtime cannot be loaded: {error}") from None
    host = HostRuntime(path, handle) if target.platform == "host" else None
    ledger = sanitizer_log.ledger_of(str(path), handle) if target.platform == "nvidia" else None
    with _only_what_is_loaded():
        hip = import_hip()
        _count(hip)
    if others := [str(other) for other in mapped_runtimes() if other != path.resolve()]:
        raise UsageError(
            f"hip-python opened {', '.join(others)} besides bitgate's {target.platform} runtime:"
            " take ROCm out of LD_LIBRARY_PATH and LD_PRELOAD"
        )
    return target.platform, hip, host, ledger


def _rocm() -> Any:
    """Return hip-python on ROCm's own runtime, which it opens at the first call."""
    hip = HipFunctions(import_hip())
    try:
        hip.hipGetDeviceCount()
    except (HipError, UsageError, RuntimeError) as error:
        if not mapped_runtimes():
            raise UsageError(f"ROCm's libamdhip64.so cannot be loaded ({error}): reinstall ROCm") from None
    runtime = mapped_runtimes()[0]
    if missing := lacking(runtime):
        raise UsageError(f"{runtime} lacks {', '.join(missing)}: bitgate needs ROCm 6.4 or later, install it")
    _count(hip)
    return hip


def _count(hip: Any) -> int:
    """Return the number of devices. This is the first HIP call, at which hip-python opens the runtime."""
    try:
        return int(check(hip.hipGetDeviceCount(), "hipGetDeviceCount"))
    except HipError as error:
        raise UsageError(f"the HIP runtime does not start: {error.with_advice}{_narrowed()}") from None
    except RuntimeError as error:
        raise UsageError(f"the HIP runtime does not start: {error}") from None


def _narrowed() -> str:
    """Return which variables hide devices from this process."""
    shown = [f"{name}={os.environ[name]}" for name in _NARROWING if name in os.environ]
    return f" (here {', '.join(shown)})" if shown else ""


@contextmanager
def _only_what_is_loaded() -> Iterator[None]:
    """Hide a ROCm in ``ROCM_PATH`` or in the ``rocm_sdk`` package while hip-python searches: it prefers those."""
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
    """Return the first device on which the target's code runs."""
    if target.platform != "amd":
        return 0
    names = [_architecture(hip, index) for index in range(_count(hip))]
    for index, name in enumerate(names):
        if runs_on(target.name, name):
            return index
    wanted = target_id(target.name)
    listed = ", ".join(dict.fromkeys(names)) or "none"
    for name in names:
        if name.partition(":")[0] == wanted.architecture.name:
            raise UsageError(
                f"HIP lists {name}, which does not run code for {wanted.spelled}:"
                " take the target without features, or set the device so (xnack+: HSA_XNACK=1, and amdgpu.noretry=0)"
            )
    raise UsageError(
        f"HIP lists no {target.name} device (it lists {listed}):"
        f" see HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES{_narrowed()}"
    )


def _architecture(hip: Any, index: int) -> str:
    """Return ``gfx942:sramecc+:xnack-``, which only the structure of properties holds.

    Its layout is hip-python's: with another ROCm something else is at its place, or nothing.
    """
    try:
        properties = check(_properties(hip, index), "hipGetDeviceProperties")
    except (HipError, RuntimeError, UsageError) as error:
        raise UsageError(f"HIP does not describe device {index} ({error}): {_matching(hip)}") from None
    name = properties.gcnArchName
    text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    if not re.fullmatch(r"gfx[0-9a-f]+(:[a-z]+[+-])*", text):
        raise UsageError(f"HIP calls the architecture of device {index} {text[:40]!r}: {_matching(hip)}")
    return text


def _properties(hip: Any, index: int) -> Any:
    """Return the properties of a device; hip-python returns the structure since 10, before, it filled one in."""
    try:
        return hip.hipGetDeviceProperties(index)
    except TypeError:
        properties = hip.hipDeviceProp_t()
        return (*hip.hipGetDeviceProperties(properties, index)[:1], properties)


def _open(hip: Any, target: Target, host: HostRuntime | None, ledger: IncidentLedger | None) -> Device:
    """Open the device, if what HIP reports of it is plausible: the numbers of attributes differ between releases."""
    index = _index(hip, target)
    try:
        device = Device(target, hip, host, index, ledger)
        if target.platform == "amd" and (wrong := _implausible(device.attributes, target)):
            raise UsageError(f"HIP says of device {index} ({target.name}) {wrong}: {_matching(hip)}")
    except HipError as error:
        advice = f": {_matching(hip)}" if target.platform == "amd" and error.call in _ABOUT_DEVICES else ""
        raise UsageError(f"{target.name} cannot be opened: {error if advice else error.with_advice}{advice}") from None
    return device


_ABOUT_DEVICES = ("hipDeviceGetAttribute", "hipMemGetInfo")


def _implausible(attributes: Attributes, target: Target) -> str:
    """Return a text for a value that no device of the target has; empty if there is none."""
    row = target_id(target.name).architecture
    waves = " or ".join(map(str, row.waves))
    for is_odd, sentence in (
        (attributes.wave_size not in row.waves, f"waves of {attributes.wave_size} lanes, where it has {waves}"),
        (attributes.compute_units < 1, f"{attributes.compute_units} compute units"),
        (attributes.max_threads_per_block < row.waves[0], f"blocks of {attributes.max_threads_per_block} threads"),
        (attributes.lds_per_block < _LEAST_LDS, f"{attributes.lds_per_block} bytes of LDS a block"),
        (attributes.total_memory < 1, f"{attributes.total_memory} bytes of memory"),
    ):
        if is_odd:
            return sentence
    return ""


_LEAST_LDS = 32 << 10


def _matching(hip: Any) -> str:
    """Return what to do about a hip-python that is not for this ROCm."""
    try:
        version = int(check(hip.hipRuntimeGetVersion(), "hipRuntimeGetVersion"))
        runtime, wanted = f"HIP {hip_release(version)}", f"'hip-python=={hip_release(version)}.*'"
    except (HipError, RuntimeError, UsageError):
        runtime, wanted = "this HIP", "the hip-python of the installed ROCm"
    return f"{runtime} and hip-python {installed() or 'none'} do not fit; pip install {wanted}"
