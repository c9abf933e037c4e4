"""What units begin with: a header that is compiled once, so that not each of them parses the standard library and HIP.

It changes no object: where it cannot be compiled before, it is read as the text that it is. Headers include what they
need themselves, since compilers other than g++ get no prelude.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bitgate.core.project import own_kernels
from bitgate.kernel.build.toolchain import ToolchainKind

PRELUDE_KINDS: tuple[ToolchainKind, ...] = ("gnu",)

FEW_UNITS = 4
"""Units that take less time than the header before them."""


@dataclass(frozen=True)
class Prelude:
    """``includes``: where the header finds others, which is less than where its units do."""

    source: Path
    includes: tuple[Path, ...]


def prelude_of_kernels(kind: ToolchainKind, folder: Path, platform_includes: tuple[Path, ...]) -> Prelude | None:
    """Of bitgate's own kernels: another's may define what a header's meaning hangs on."""
    kernels = own_kernels()
    if not folder.is_relative_to(kernels):
        return None
    return _prelude(kind, kernels / "platforms" / "host" / "include" / "hip" / "prelude.hpp", platform_includes)


def prelude_of_host_code(kind: ToolchainKind, kernels: Path) -> Prelude | None:
    """Of the host's HIP runtime and the native helpers, in that room."""
    include = kernels / "include"
    return _prelude(kind, include / "bitgate" / "standard.hpp", (include,))


def _prelude(kind: ToolchainKind, header: Path, includes: tuple[Path, ...]) -> Prelude | None:
    """None where nobody takes one, and for kernels of a commit that had none yet."""
    return Prelude(header, includes) if kind in PRELUDE_KINDS and header.is_file() else None
