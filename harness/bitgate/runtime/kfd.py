"""AMD GPUs as files of the amdgpu driver list them, and why a process may not use them.

The folder that BITGATE_SYSTEM_ROOT names, if it is set, replaces the root: its ``dev`` and ``sys`` are read instead, so
that the files of another machine can be examined here. HIP itself reads no such folder.
"""

from __future__ import annotations

import grp
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = "BITGATE_SYSTEM_ROOT"

_CONTAINER = "start the container with --device=/dev/kfd --device=/dev/dri --group-add=video --group-add=render"
_AMD, _DISPLAY, _ACCELERATOR = "0x1002", "0x03", "0x12"
_FRAMEBUFFER = ("1", "2")
"""Kinds of memory banks that are the device's own."""


@dataclass(frozen=True)
class Gpu:
    """A GPU that the driver lists, or a part of a partitioned device. ``memory`` is in bytes, 0 where the driver states
    none; ``render`` is the number of its /dev/dri/renderD, 0 if it has none."""

    name: str
    compute_units: int
    memory: int
    render: int


@dataclass(frozen=True)
class Driver:
    """The GPUs that the driver lists; ``hidden`` counts those whose description this process may not read."""

    gpus: tuple[Gpu, ...] = ()
    hidden: int = 0

    @property
    def names(self) -> list[str]:
        """Name of every GPU, in the order in which HIP counts them."""
        return [gpu.name for gpu in self.gpus]


def root() -> Path:
    return Path(os.environ.get(ROOT) or "/")


def driver() -> Driver:
    """Return what the driver lists; nothing where there is no driver, or no /sys."""
    gpus, hidden = [], 0
    try:
        nodes = sorted((node for node in _nodes().iterdir() if node.name.isdecimal()), key=lambda node: int(node.name))
    except OSError:
        nodes = []
    for node in nodes:
        try:
            facts = _facts(node / "properties")
        except PermissionError:
            hidden += 1
        except OSError:
            continue
        else:
            if facts.get("simd_count") and facts.get("gfx_target_version"):
                gpus.append(_gpu(node, facts))
    return Driver(tuple(gpus), hidden)


def unseen(found: Driver) -> str:
    """Return why GPUs in the machine are not listed, and what to do, in one line; empty if nothing hints at any."""
    if found.gpus:
        return ""  # a container that has some of them
    if found.hidden:
        return f"the driver hides {_gpus(found.hidden)} from this process: {_CONTAINER}"
    if not (cards := _unclaimed()):
        return ""
    if (root() / "sys/module/amdgpu").exists():
        return f"no driver has claimed the AMD GPU at {cards[0]}: see amdgpu's messages in dmesg"
    return f"the AMD GPU at {cards[0]} has no driver: load it with modprobe amdgpu, or install it (amdgpu-dkms)"


def obstacle(found: Driver) -> str:
    """Return why this process cannot use the listed GPUs, and what to do; empty if it can."""
    kfd = root() / "dev/kfd"
    if not kfd.exists():
        if found.gpus:
            return f"/dev/kfd does not exist, though the driver lists {_gpus(len(found.gpus))}: {_CONTAINER}"
        return f"/dev/kfd does not exist: load the amdgpu driver (modprobe amdgpu); in a container, {_CONTAINER}"
    nodes = [root() / f"dev/dri/renderD{gpu.render}" for gpu in found.gpus if gpu.render]
    missing = [node for node in nodes if not node.exists()]
    if nodes and len(missing) == len(nodes):
        return f"/dev/dri/{missing[0].name} does not exist, though the driver lists it: {_CONTAINER}"
    for file in (kfd, *(node for node in nodes if node not in missing)):
        if not os.access(file, os.R_OK | os.W_OK):
            return _forbidden(file)
    return ""


def partitions() -> str:
    """Return ``compute partition CPX, memory partition NPS4``, where the driver states it; more than one if cards
    differ."""
    parts = []
    for kind in ("compute", "memory"):
        modes = dict.fromkeys(_text(file) for file in sorted(_cards(f"current_{kind}_partition")))
        if shown := "/".join(filter(None, modes)):
            parts.append(f"{kind} partition {shown}")
    return ", ".join(parts)


def _nodes() -> Path:
    return root() / "sys/class/kfd/kfd/topology/nodes"


def _gpu(node: Path, facts: dict[str, int]) -> Gpu:
    version = facts["gfx_target_version"]
    name = f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
    units = facts["simd_count"] // max(1, facts.get("simd_per_cu", 4))
    memory = facts.get("local_mem_size", 0)
    if not memory:
        for bank in sorted(node.glob("mem_banks/*/properties")):
            with suppress(OSError):
                bank_facts = _facts(bank)
                memory += bank_facts.get("size_in_bytes", 0) if str(bank_facts.get("heap_type")) in _FRAMEBUFFER else 0
    return Gpu(name, units, memory, facts.get("drm_render_minor", 0))


def _facts(file: Path) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", file.read_text(), re.MULTILINE)}


def _unclaimed() -> list[str]:
    """Return addresses of AMD GPUs on the PCI bus that no driver has claimed."""
    found = []
    for device in _entries("sys/bus/pci/devices"):
        kind = _text(device / "class")[:4]
        if _text(device / "vendor") == _AMD and kind in (_DISPLAY, _ACCELERATOR) and not (device / "driver").exists():
            found.append(device.name)
    return sorted(found)


def _cards(file: str) -> Iterator[Path]:
    return (path / "device" / file for path in _entries("sys/class/drm") if re.fullmatch(r"card\d+", path.name))


def _entries(folder: str) -> list[Path]:
    try:
        return sorted((root() / folder).iterdir())
    except OSError:
        return []


def _forbidden(file: Path) -> str:
    """Return which groups may open the file, and how to join them."""
    shown = f"/{file.relative_to(root())}"
    group, number = "render", ""
    with suppress(OSError, KeyError):
        owner = file.stat().st_gid
        if owner != 0:  # members of root's group may do more than this
            group, number = grp.getgrgid(owner).gr_name, f"={owner}"
    wanted = ",".join(dict.fromkeys((group, "render", "video")))
    add = f"--group-add{number}" if number else "--group-add=render --group-add=video"
    return (
        f"{shown} may not be opened by this user: sudo usermod -a -G {wanted} $USER and log in again;"
        f" in a container, start it with {add}"
    )


def _gpus(count: int) -> str:
    return f"{count} GPU" if count == 1 else f"{count} GPUs"


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
