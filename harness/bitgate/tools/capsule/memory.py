"""A capsule's buffers on a device: their contents before the first step, and the addresses of a manifest's places."""

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
    """Return the bytes of the buffer before the first step. ``content`` is the data of the spec's file."""
    if content is not None:
        return as_bytes(content)
    pattern = np.frombuffer(bytes.fromhex(spec.pattern), np.uint8)
    return np.resize(pattern, spec.bytes)


def as_bytes(content: NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(content).reshape(-1).view(np.uint8)


def tensor_of(tensor: Tensor, image: Bytes) -> HostTensor:
    """Return a tensor over memory as it is on a device."""
    return HostTensor(tensor, image.view(tensor.dtype.numpy))


def upload(buffers: Buffers, specs: Iterable[BufferSpec], images: Mapping[str, Bytes]) -> None:
    """Allocate and fill all buffers of a capsule. Raises HipError if there is no memory left."""
    for spec in specs:
        buffers.add(spec.name, spec.bytes, spec.alignment).upload(images[spec.name])


def address_of(place: Place, buffers: Mapping[str, Buffer]) -> int:
    return buffers[place.buffer].pointer + place.offset


def place_of(address: int, buffers: Mapping[str, Buffer]) -> Place | None:
    """Return the buffer that contains an address, or ends there; None if there is no such buffer."""
    for name, buffer in buffers.items():
        if buffer.pointer <= address <= buffer.pointer + buffer.bytes:
            return Place(name, address - buffer.pointer)
    return None
