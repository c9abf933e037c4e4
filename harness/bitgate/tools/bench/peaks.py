"""What devices can do at most, from their makers' data sheets (docs/bench.md names them), and the share of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bitgate.model import Problem


@dataclass(frozen=True)
class Peak:
    """``flops``: dense, a second, by the types that are multiplied, by matrix instructions; ``bytes``: of the memory, a
    second."""

    flops: Mapping[str, float]
    bytes: float


def _peak(terabytes: float, **teraflops: float) -> Peak:
    return Peak({name: 1e12 * value for name, value in teraflops.items()}, 1e12 * terabytes)


PEAKS: Mapping[str, Peak] = {
    "H200": _peak(4.8, f16=989.5, bf16=989.5, f8=1979.0, i8=1979.0, f32=67.0, f64=67.0),
    "MI250X": _peak(1.6384, f16=191.5, bf16=191.5, i8=191.5, f32=47.9, f64=47.9),
    "MI300X": _peak(5.3, f16=1307.4, bf16=1307.4, f8=2614.9, i8=2614.9, f32=163.4, f64=163.4),
    "MI350X": _peak(8.0, f16=2306.9, bf16=2306.9, f8=4613.7, i8=4613.7, f32=144.2, f64=72.1),
    "MI355X": _peak(8.0, f16=2516.6, bf16=2516.6, f8=5033.2, i8=5033.2, f32=157.3, f64=78.6),
    "RX 7900 XTX": _peak(0.96, f16=122.8, bf16=122.8, i8=122.8, f32=61.4),
    "RX 9070 XT": _peak(0.64, f16=194.6, bf16=194.6, f8=389.3, i8=389.3, f32=48.7),
}
"""By a part of the name that the driver gives the device. An MI250X is two devices: the row is for one of them."""


@dataclass(frozen=True)
class Roofline:
    """``seconds`` that the problem would take at the peaks; ``by``: arithmetic or memory."""

    seconds: float
    by: str


def peak_of(device: str) -> Peak | None:
    """By the device's name; None if there is no row for it."""
    return next((peak for name, peak in PEAKS.items() if name.lower() in device.lower()), None)


def roofline(problem: Problem, device: str) -> Roofline | None:
    """None where the device, or its peak for the problem's types, is not in the table."""
    peak = peak_of(device)
    flops = peak.flops.get(_multiplied(problem)) if peak else None
    if peak is None or flops is None:
        return None
    arithmetic, memory = problem.flops / flops, problem.bytes / peak.bytes
    return Roofline(max(arithmetic, memory), "arithmetic" if arithmetic >= memory else "memory")


def _multiplied(problem: Problem) -> str:
    """The types of all operands, if they are one; float8 in any flavour is f8."""
    read = {tensor.dtype.name for role, tensor in problem.tensors.items() if role not in problem.outputs}
    widths = {"f8" if "f8" in name else name for name in read}
    return widths.pop() if len(widths) == 1 else ""
