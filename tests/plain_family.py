"""The shortest declaration of kernels: one instance that takes everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.model import F32_ACCUMULATION


def plain_family(folder: Path, *sources: str, **stated: Any) -> KernelFamily:
    """``sources`` lie in the folder; the family is named like it, and built for the host, if nothing else is stated."""
    only = Instance("only", "one", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION)
    plain = {"name": folder.name, "operations": ("fwd",), "platforms": ("host",), "instances": (only,)}
    return KernelFamily(folder=folder, sources=sources, **plain | stated)
