"""The device memory of one capsule: its buffers between guards, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.capsule.manifest import BufferSpec, Place
from bitgate.device.buffers import Buffer
from bitgate.device.device import Device
from bitgate.device.errors import HipError

Bytes = NDArray[np.uint8]


def image(spec: BufferSpec, content: NDArray[Any] | None) -> Bytes:
    """What the buffer holds before the first step, byte for byte. ``content`` is the data of the spec's file."""
    if content is not None:
        return np.ascontiguousarray(content).reshape(-1).view(np.uint8)
    pattern = np.frombuffer(bytes.fromhex(spec.pattern), np.uint8)
    return np.resize(pattern, spec.bytes)


class Memory:
    """Buffers of a device with their first contents; in a ``with``. HipError if there is no memory left."""

    def __init__(self, device: Device, specs: tuple[BufferSpec, ...], images: Mapping[str, Bytes]) -> None:
        self._device = device
        self._specs = specs
        self._images = images
        self._buffers: dict[str, Buffer] = {}
        self.damage = ""
        """What was written that is nobody's to write; complete once the memory is given back."""

    def __enter__(self) -> Memory:
        for spec in self._specs:
            buffer = self._device.alloc(spec.bytes, name=spec.name, alignment=spec.alignment)
            self._buffers[spec.name] = buffer
            buffer.upload(self._images[spec.name])
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in self._buffers.values():
            try:
                buffer.free()
            except HipError as error:
                fault = self._device.fault()
                self.damage = self.damage or (fault.text if fault is not None else str(error))

    @property
    def pointers(self) -> dict[str, int]:
        return {name: buffer.pointer for name, buffer in self._buffers.items()}

    def address(self, place: Place) -> int:
        return self._buffers[place.buffer].pointer + place.offset

    def place(self, address: int) -> Place | None:
        """The buffer that an address lies in, or behind whose last byte it points."""
        for name, buffer in self._buffers.items():
            if buffer.pointer <= address <= buffer.pointer + buffer.bytes:
                return Place(name, address - buffer.pointer)
        return None

    def download(self, name: str) -> Bytes:
        found = np.empty(self._buffers[name].bytes, np.uint8)
        self._buffers[name].download(found)
        return found

    def inspect(self) -> None:
        """Look at guards and inputs; what is wrong goes to ``damage``. Work must have ended."""
        damages = [damage.text for buffer in self._buffers.values() if (damage := buffer.check_guards()) is not None]
        for spec in self._specs:
            if spec.role == "input":
                changed = np.flatnonzero(self.download(spec.name) != self._images[spec.name])
                if changed.size:
                    damages.append(f"input {spec.name} was changed, first at byte {changed[0]}")
        self.damage = "; ".join(damages)
