"""A capsule's buffers on a device: what they hold before the first step, and where a manifest's places lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Tensor
from bitgate.model.host_tensor import HostTensor
from bitgate.runtime.buffers import Buffer
from bitgate.tools.capsule.manifest import BufferSpec, Place
from bitgate.verify.guarded import Buffers

Bytes = NDArray[np.uint8]


def image(spec: BufferSpec, content: NDArray[Any] | None) -> Bytes:
    """What the buffer holds before the first step, byte for byte. ``content`` is the data of the spec's file."""
    if content is not None:
        return as_bytes(content)
    pattern = np.frombuffer(bytes.fromhex(spec.pattern), np.uint8)
    return np.resize(pattern, spec.bytes)


def as_bytes(content: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(content).reshape(-1).view(np.uint8)


def tensor_of(tensor: Tensor, image: Bytes) -> HostTensor:
    """A tensor over memory as it lies on a device."""
    return HostTensor(tensor, image.view(tensor.dtype.numpy))


def upload(buffers: Buffers, specs: Iterable[BufferSpec], images: Mapping[str, Bytes]) -> None:
    """All buffers of a capsule. HipError if there is no memory left."""
    for spec in specs:
        buffers.add(spec.name, spec.bytes, spec.alignment).upload(images[spec.name])


def address_of(place: Place, buffers: Mapping[str, Buffer]) -> int:
    return buffers[place.buffer].pointer + place.offset


def place_of(address: int, buffers: Mapping[str, Buffer]) -> Place | None:
    """The buffer that an address lies in, or behind whose last byte it points."""
    for name, buffer in buffers.items():
        if buffer.pointer <= address <= buffer.pointer + buffer.bytes:
            return Place(name, address - buffer.pointer)
    return None
