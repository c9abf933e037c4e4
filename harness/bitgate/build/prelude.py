"""What units begin with: a header that is compiled once, so that not each of them parses the standard library and HIP.

It changes no object: where it cannot be compiled before, it is read as the text that it is. Headers include what they
need themselves, since compilers other than g++ get no prelude.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bitgate.build.toolchain import ToolchainKind
from bitgate.project import own_kernels

KINDS: tuple[ToolchainKind, ...] = ("gnu",)

FEW = 4
"""Units that take less time than the header before them."""


@dataclass(frozen=True)
class Prelude:
    """``includes``: where the header finds others, which is less than where its units do."""

    source: Path
    includes: tuple[Path, ...]


def of_kernels(kind: ToolchainKind, folder: Path, platform_includes: tuple[Path, ...]) -> Prelude | None:
    """Of bitgate's own kernels: another's may define what a header's meaning hangs on."""
    kernels = own_kernels()
    if kind not in KINDS or not folder.is_relative_to(kernels):
        return None
    return Prelude(kernels / "platforms" / "host" / "include" / "hip" / "prelude.hpp", platform_includes)


def of_host_code(kind: ToolchainKind) -> Prelude | None:
    """Of the host's HIP runtime and the native helpers."""
    include = own_kernels() / "include"
    return Prelude(include / "bitgate" / "standard.hpp", (include,)) if kind in KINDS else None
