"""Effects of a launch in the runtime besides its result: errors that the library swallowed, and work that it did not
wait for. The runtime itself reports both (runtime/ledger.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import DeviceFault
from bitgate.runtime.ledger import Incident, left_behind

CORRUPTING = frozenset({"lds_canary", "global_canary", "fp_environment"})
"""Faults of the host runtime that harm more than the launch they belong to: writes out of bounds that hit nothing else,
and a floating-point environment that the next block would have computed in."""

LEFT = "work was left in flight on a stream that is not the caller's"


@dataclass(frozen=True)
class LaunchEffects:
    """Errors that the library hid: ``crash`` and ``damage`` are as in ``LaunchResult``, empty if it hid nothing."""

    crash: str = ""
    damage: str = ""
    fault: DeviceFault | None = None


def before_launch(device: Device) -> int:
    """Wait for the harness's own work, clear old errors, and return the mark that ``after_launch`` needs."""
    device.synchronize()
    device.clear_fault()  # this also takes any error that earlier calls left
    return device.ledger.mark()


def after_launch(device: Device, mark: int, buffers: Mapping[str, Buffer], reported: str = "") -> LaunchEffects:
    """Return what happened since the mark, once the caller's stream has ended; all other work has ended afterwards.

    ``reported`` is the error that the library returned.
    """
    in_flight = device.ledger.in_flight(device.stream)
    try:
        device.synchronize()
        late = ""
    except HipError as error:
        late = str(error)
    incidents = device.ledger.since(mark)
    left = left_behind(device.hip)
    fault = next((incident.fault for incident in incidents if incident.fault is not None), None)
    swallowed = _sentence(incidents, buffers) if incidents else late or left
    if in_flight:
        return LaunchEffects(damage="; ".join(filter(None, [f"{LEFT}: {in_flight}", swallowed])), fault=fault)
    if not swallowed:
        return LaunchEffects()
    if reported:
        why = "" if reported in swallowed else f": {swallowed}"
        return LaunchEffects(crash=reported + why, fault=fault)
    sentence = f"{swallowed}; the library hid it and returned OK"
    corrupting = fault is not None and fault.kind in CORRUPTING
    return LaunchEffects(crash=sentence, damage=sentence if corrupting else "", fault=fault)


def _sentence(incidents: Sequence[Incident], buffers: Mapping[str, Buffer]) -> str:
    first = incidents[0]
    named = "".join(
        f" (buffer {name}, which belongs to the caller)"
        for name, buffer in buffers.items()
        if first.fault is None and buffer.pointer <= first.address < buffer.pointer + max(1, buffer.bytes)
    )
    more = f" (and {len(incidents) - 1} more after it)" if len(incidents) > 1 else ""
    return f"{first.text}{named}{more}"
