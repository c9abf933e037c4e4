"""The shortest declaration of kernels: one instance that takes everything."""

from __future__ import annotations

from pathlib import Path

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.operation import F32_ACCUMULATION


def plain_family(folder: Path, *sources: str, name: str = "", platform: str = "host") -> KernelFamily:
    """``sources`` lie in the folder; the family is named like it if nothing else is said."""
    return KernelFamily(
        name=name or folder.name,
        operations=("fwd",),
        sources=sources,
        folder=folder,
        platforms=(platform,),
        instances=(Instance("only", "one", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION),),
        options=(),
        supports=lambda problem, instance, options: None,
        dispatch=lambda problem, instance, options: None,
    )
