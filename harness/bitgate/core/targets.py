"""Targets: the architectures that kernels are built for, one row each, and the names by which targets are called.

A new gfx target is one row of the table, and a fragment header where its matrix instructions are new. The rest of
bitgate builds, plans and probes by the row: kernels get its facts as defines (bitgate.kernel.build.flags).
tests/build/test_architectures.py compares the rows of AMD GPUs with LLVM.

A name is an architecture with the features that code is built with: ``gfx942:sramecc+:xnack-``, as LLVM spells it and
HIP names a device. File names cannot hold a colon, so results, folders and reports write ``gfx942_sramecc+_xnack-``;
both spellings are read wherever a target is named. ``host_for_gfx942`` is the host in the place of gfx942, with which a
lab tries its set-up before its GPUs arrive. ``emulated_gfx942`` is gfx942's code on an emulator of that GPU
(core/emulation.py): wherever results have a target's name, no emulated one can be read as a GPU's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from bitgate.core.errors import UsageError, meant

Platform: TypeAlias = Literal["host", "amd", "nvidia"]
PLATFORMS: tuple[Platform, ...] = ("host", "amd", "nvidia")

KIB = 1024
KEPT, FLUSHED = "kept", "flushed to zero"


@dataclass(frozen=True)
class Matrix:
    """Matrix instructions for which a Fragment is written (kernels/include/bitgate/fragment.hpp).

    ``generation``: the ISA that fixed which lane holds what. ``without``: dtypes whose fragments are sums by fma.
    ``i8``: how a mnemonic writes factors of that type, and ``i8_k`` how many k one instruction sums. ``float8``: the
    flavour that has instructions; other 8-bit floats are multiplied as bf16, where each is a normal number.
    ``subnormals``: the treatment of subnormal f16 and bf16 operands; empty where it is unknown. ``exact_range``: by the
    sums' dtype, the largest m such that every integer in [-m, m] survives.
    """

    name: str
    generation: int = 0
    without: tuple[str, ...] = ()
    i8: str = "i8"
    i8_k: int = 16
    float8: Literal["", "fnuz", "ocp"] = ""
    subnormals: str = ""
    exact_range: Mapping[str, int] = field(default_factory=lambda: {"f32": 1 << 24, "i32": (1 << 31) - 1})


@dataclass(frozen=True)
class Architecture:
    """One architecture: a row of the table of targets.

    ``waves``: lanes of the waves that kernels are built for, the usual number first. ``lds_bytes``: LDS that a block
    has without a request for more. ``largest_block``: threads. ``matrix``: None if no Fragment is written for it.

    ``pair_adds``: dtypes of which one atomic operation adds two neighbours. ``features``: those that code may be built
    with, without, or for both (``gfx942:xnack-``). ``members``: the architectures that run a generic target's code.
    """

    name: str
    platform: Platform
    waves: tuple[int, ...]
    matrix: Matrix | None = None
    lds_bytes: int = 64 * KIB
    pair_adds: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    largest_block: int = 1024


HOST = Architecture("host", "host", (32, 64), Matrix("host", subnormals=KEPT))

_MFMA_GFX90A = Matrix("MFMA", 9, subnormals=FLUSHED)
"""CK#603, #673 and #678 report the subnormals."""
_MFMA_GFX942 = Matrix("MFMA", 9, i8_k=32, float8="fnuz", subnormals=KEPT)
_MFMA_GFX950 = Matrix("MFMA", 9, i8_k=32, float8="ocp", subnormals=KEPT)
_MFMA_COMMON = Matrix("MFMA", 9, i8_k=32, subnormals=KEPT)
_WMMA_GFX11 = Matrix("WMMA", 11, without=("f32", "f64"), i8="iu8")
_WMMA_GFX12 = Matrix("WMMA", 12, without=("f32", "f64"), i8="iu8", float8="ocp")

_X, _SX = ("xnack",), ("sramecc", "xnack")
_HALVES = ("f16", "bf16")


def _gfx(
    name: str,
    wave: int,
    matrix: Matrix | None = None,
    features: tuple[str, ...] = (),
    pair_adds: tuple[str, ...] = (),
    lds_bytes: int = 64 * KIB,
    members: str = "",
) -> Architecture:
    return Architecture(name, "amd", (wave,), matrix, lds_bytes, pair_adds, features, tuple(members.split()))


_ROWS = (
    HOST,
    _gfx("gfx90a", 64, _MFMA_GFX90A, _SX, ("f16",)),
    _gfx("gfx942", 64, _MFMA_GFX942, _SX, _HALVES),
    _gfx("gfx950", 64, _MFMA_GFX950, _SX, _HALVES, 160 * KIB),
    _gfx("gfx1100", 32, _WMMA_GFX11),
    _gfx("gfx1101", 32, _WMMA_GFX11),
    _gfx("gfx1102", 32, _WMMA_GFX11),
    _gfx("gfx1103", 32, _WMMA_GFX11),
    _gfx("gfx1150", 32, _WMMA_GFX11),
    _gfx("gfx1151", 32, _WMMA_GFX11),
    _gfx("gfx1152", 32, _WMMA_GFX11),
    _gfx("gfx1153", 32, _WMMA_GFX11),
    _gfx("gfx1200", 32, _WMMA_GFX12, pair_adds=_HALVES),
    _gfx("gfx1201", 32, _WMMA_GFX12, pair_adds=_HALVES),
    # LLVM's generic targets: code for a whole family, with the features that all its members have.
    _gfx("gfx9-4-generic", 64, _MFMA_COMMON, _SX, _HALVES, members="gfx942 gfx950"),
    _gfx(
        "gfx11-generic",
        32,
        _WMMA_GFX11,
        members="gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153",
    ),
    _gfx("gfx12-generic", 32, _WMMA_GFX12, pair_adds=_HALVES, members="gfx1200 gfx1201"),
    # No Fragment is written for these: they run kernels without one. gfx908 has MFMA with other operands of bf16.
    _gfx("gfx900", 64, features=_X),
    _gfx("gfx902", 64, features=_X),
    _gfx("gfx904", 64, features=_X),
    _gfx("gfx906", 64, features=_SX),
    _gfx("gfx908", 64, features=_SX),
    _gfx("gfx909", 64, features=_X),
    _gfx("gfx90c", 64, features=_X),
    _gfx("gfx1010", 32, features=_X),
    _gfx("gfx1011", 32, features=_X),
    _gfx("gfx1012", 32, features=_X),
    _gfx("gfx1013", 32, features=_X),
    _gfx("gfx1030", 32),
    _gfx("gfx1031", 32),
    _gfx("gfx1032", 32),
    _gfx("gfx1033", 32),
    _gfx("gfx1034", 32),
    _gfx("gfx1035", 32),
    _gfx("gfx1036", 32),
    _gfx("gfx1250", 32, pair_adds=_HALVES, lds_bytes=320 * KIB),
    _gfx("gfx1251", 32, pair_adds=_HALVES, lds_bytes=320 * KIB),
    _gfx("gfx9-generic", 64, features=_X, members="gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"),
    _gfx("gfx10-1-generic", 32, features=_X, members="gfx1010 gfx1011 gfx1012 gfx1013"),
    _gfx("gfx10-3-generic", 32, members="gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"),
)

ARCHITECTURES: Mapping[str, Architecture] = {row.name: row for row in _ROWS}
"""Architectures by name; those of NVIDIA are left out, since their rows follow from their numbers."""


@lru_cache(maxsize=64)
def architecture(name: str) -> Architecture:
    """Return the row of a name without target features. UsageError with the nearest name if there is none."""
    if re.fullmatch(r"sm_\d{2,3}", name):
        return _nvidia(int(name.removeprefix("sm_")))
    if name in ARCHITECTURES:
        return ARCHITECTURES[name]
    raise UsageError(f"unknown target '{name}'{meant(name, ARCHITECTURES, 0.5)} (host, or a gfx target such as gfx942)")


def _nvidia(capability: int) -> Architecture:
    matrix = Matrix("mma.sync", subnormals=KEPT)
    return Architecture(
        f"sm_{capability}", "nvidia", (32,), matrix, 48 * KIB, _HALVES if capability >= 90 else ("f16",)
    )


STAND_IN, EMULATED = "host_for_", "emulated_"


@dataclass(frozen=True)
class TargetId:
    """A target: an architecture with the features that its name states, sorted.

    Code for a target that does not state a feature is for both settings of it.
    """

    architecture: Architecture
    features: tuple[tuple[str, bool], ...] = ()
    in_place_of: str = ""
    """The name of the target whose place the host takes, if any."""
    is_emulated: bool = False
    """Whether an emulator of the GPU runs the code."""

    @property
    def name(self) -> str:
        """The name in results and on disk."""
        if self.in_place_of:
            return f"{STAND_IN}{self.in_place_of}"
        return f"{EMULATED * self.is_emulated}{self.spelled.replace(':', '_')}"

    @property
    def of_code(self) -> TargetId:
        """The target that code is compiled for: the same on a GPU and on its emulator."""
        return replace(self, is_emulated=False) if self.is_emulated else self

    @property
    def spelled(self) -> str:
        """The name that compilers and HIP use."""
        return ":".join((self.architecture.name, *self._settings))

    @property
    def platform(self) -> Platform:
        return self.architecture.platform

    @property
    def _settings(self) -> list[str]:
        return [f"{feature}{'+' if on else '-'}" for feature, on in self.features]

    def runs_on(self, device: TargetId) -> bool:
        """Return whether code for this target runs on a device, or wherever code for another target does.

        It runs on its architecture and on the members of a generic one, unless both state a feature and differ in it.
        """
        of_device = device.architecture.name
        fits = of_device == self.architecture.name or of_device in self.architecture.members
        stated = dict(device.features)
        return fits and all(stated.get(feature, on) == on for feature, on in self.features)


@lru_cache(maxsize=256)
def target_id(text: str) -> TargetId:
    """Return the target of a name in either spelling. UsageError says what is unknown, and what to write."""
    if text.startswith(STAND_IN):
        other = target_id(text.removeprefix(STAND_IN))
        if other.platform == "host":
            raise UsageError(f"target '{text}': the host takes the place of a GPU's target: host_for_gfx942")
        return TargetId(HOST, in_place_of=other.name)
    if text.startswith(EMULATED):
        return emulated(target_id(text.removeprefix(EMULATED)))
    if text.startswith("sm_"):
        return TargetId(architecture(text))
    name, *stated = re.split("[:_]", text)
    row = architecture(name)
    features: dict[str, bool] = {}
    for word in stated:
        feature, sign = word[:-1], word[-1:]
        if feature not in row.features or sign not in ("+", "-") or feature in features:
            can = " or ".join(f"{name}:{one}+, {name}:{one}-" for one in row.features) or f"{name}: it has no features"
            raise UsageError(f"target '{text}': '{word}' is no feature of {name}, on or off, once: write {can}")
        features[feature] = sign == "+"
    return TargetId(row, tuple(sorted(features.items())))


def emulated(target: TargetId) -> TargetId:
    """Return the target on an emulator. UsageError for what is none of an AMD GPU's."""
    if target.platform != "amd" or target.is_emulated:
        raise UsageError(f"target '{target.name}': emulators are of AMD GPUs: write {EMULATED}gfx942")
    return replace(target, is_emulated=True)


def is_emulated(target: str) -> bool:
    """Return whether a name is of a target on an emulator."""
    return target.startswith(EMULATED)


def of_code(target: str) -> str:
    """Return the name of the target that code for this one is compiled for; a name of no target is returned
    unchanged."""
    return target.removeprefix(EMULATED)


def canonical(text: str) -> str:
    """Return a target's name in results, however it is spelled; a name of no target is returned unchanged."""
    try:
        return target_id(text).name
    except UsageError:
        return text


def architecture_of(target: str) -> Architecture:
    """Return the architecture of a target in either spelling. UsageError as ``target_id``."""
    return target_id(target).architecture


def runs_on(built: str, device: str) -> bool:
    """Return ``TargetId.runs_on`` of two names; false if either is no target's."""
    try:
        return target_id(built).runs_on(target_id(device))
    except UsageError:
        return False


def in_place_of(target: str) -> str:
    """Return the target whose place the host takes under this name; empty for any other name."""
    try:
        return target_id(target).in_place_of
    except UsageError:
        return ""
