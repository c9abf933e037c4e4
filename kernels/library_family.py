"""A family on all platforms: a library of its ``library.hip.cpp`` and one generated unit an instance group."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitgate.kernel import KernelFamily


def library_family(
    declaration: str, operations: tuple[str, ...], generated: Mapping[str, str], **stated: Any
) -> KernelFamily:
    """``declaration`` is its ``__file__``: the family is called like its folder. ``stated``: further fields."""
    folder = Path(declaration).parent
    return KernelFamily(
        name=folder.name,
        operations=operations,
        sources=("library.hip.cpp", *generated),
        generated=generated,
        folder=folder,
        platforms=("host", "amd", "nvidia"),
        **stated,
    )
