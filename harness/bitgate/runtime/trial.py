"""Opens an AMD device in a separate process and reports what HIP says of it: a crash there harms nothing here."""

from __future__ import annotations

from msgspec import Struct

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.runtime.errors import check
from bitgate.runtime.hip_python import hip_release, is_of_another_release
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker, WorkerDied

ENTRY = f"{__name__}:serve"

SECONDS = 120.0
"""Limit for opening a device; a driver that resets it takes half a minute."""

_NOTHING_FREE = 1 << 28
"""Bytes of free memory below which no smoke case has room."""


def opened(target: str) -> DeviceReport:
    """Open the target's device in a child and report it. UsageError if it does not open."""
    printed = bytearray()
    try:
        under, environment = emulation.started()
        with Worker(ENTRY, printed.extend, environment=environment, under=under) as child:
            report: DeviceReport = child.ask(OpenDevice(target), SECONDS, into=DeviceReport)
    except WorkerDied as ended:
        said = printed.decode(errors="replace").strip().rpartition("\n")[2]
        remedy = "run the launcher by hand with rocminfo" if under else "see dmesg, and reinstall ROCm"
        raise UsageError(f"opening {target} ended: {ended.reason}{f' ({said})' if said else ''}: {remedy}") from None
    return report


class OpenDevice(Message):
    target: str


class DeviceReport(Struct):
    """An opened device: ``detail`` says what it is, ``warning`` what may surprise."""

    detail: str
    warning: str


def serve(channel: Channel) -> None:
    serving.serve(channel, {OpenDevice: lambda question: _report(question.target)})


def _report(target: str) -> DeviceReport:
    device = open_device(named(target))
    attributes, free = device.attributes, device.free_memory()
    version = int(check(device.hip.hipRuntimeGetVersion(), "hipRuntimeGetVersion"))
    warnings = [is_of_another_release(version)]
    if free < _NOTHING_FREE:
        warnings.append(f"{free / 2**30:.1f} GiB of its memory are free: see who holds the rest with amd-smi process")
    return DeviceReport(
        f"HIP {hip_release(version)} opens it as device {device.index}: {attributes.compute_units} CUs,"
        f" waves of {attributes.wave_size}, {attributes.lds_per_block >> 10} KiB of LDS a block,"
        f" {free / 2**30:.1f} of {attributes.total_memory / 2**30:.1f} GiB free",
        "; ".join(filter(None, warnings)),
    )
