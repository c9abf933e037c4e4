"""A kernel of a user's whose every thread traps."""

from __future__ import annotations

from pathlib import Path

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.model import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="trapping",
    operations=("fwd",),
    sources=("trapping.hip.cpp",),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=(
        Instance("fwd_f32", "trapping", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION, vector=(1, 1, 1), block_size=64),
    ),
)
