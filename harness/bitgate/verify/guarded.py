"""Device memory of one run between guards, freed whatever happens, and inspected when work has ended."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.kernel.c_problem import DEFAULT_ALIGNMENT
from bitgate.model.host_tensor import HostTensor
from bitgate.model.memory_runs import Runs
from bitgate.numerics.bits import bits_of
from bitgate.runtime.buffers import Buffer, BufferBlock, Look, fits
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_memcmp.restype = ctypes.c_int


class Buffers:
    """The buffers of one run by name, for use in a ``with``; ``placement`` is as in ``Device.alloc``."""

    def __init__(self, device: Device, placement: str) -> None:
        self.named: dict[str, Buffer] = {}
        self.damage = ""
        """Damage that showed only as the memory was freed."""
        self.failure = ""
        """The error of a GPU that could not free it."""
        self._device = device
        self._placement = placement
        self._block: BufferBlock | None = None

    def add(
        self,
        name: str,
        size: int,
        alignment: int = DEFAULT_ALIGNMENT,
        *,
        guarded: bool = True,
        runs: Runs | None = None,
    ) -> Buffer:
        """Allocate a buffer; ``guarded`` and ``runs`` are as in ``Device.alloc``. Raises HipError if there is no memory
        left."""
        buffer = self._device.alloc(
            size, name=name, alignment=alignment, placement=self._placement, guarded=guarded, runs=runs
        )
        self.named[name] = buffer
        return buffer

    def put(self, contents: Mapping[str, NDArray[Any]]) -> None:
        """Fill the buffers of these names, adding those that do not exist."""
        new = {name: storage for name, storage in contents.items() if name not in self.named}
        if self._device.host is None and not self._device.pool.exact and self._block is None and fits(new):
            self._block = BufferBlock(self._device, new, DEFAULT_ALIGNMENT, self._placement)
            self.named |= self._block.buffers
        for name, storage in contents.items():
            if name not in new:
                self.named[name].upload(storage)
            elif name not in self.named:
                self.add(name, storage.nbytes, guarded=False).put(storage)

    def at(self, name: str, size: int) -> Buffer:
        """Return the buffer of this name, adding it if it does not exist."""
        return self.named[name] if name in self.named else self.add(name, size)

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in self.named.values():
            try:
                buffer.free()
            except HipError as error:
                fault = self._device.fault()
                if self._device.host is None:  # no canaries are checked there: the device failed earlier
                    self.failure = self.failure or str(error)
                else:
                    self.damage = self.damage or (fault.text if fault is not None else str(error))
        if self._block is not None:
            self._block.free()

    def look(self, inputs: Mapping[str, HostTensor], outputs: Mapping[str, HostTensor]) -> str:
        """Copy the outputs, and return a sentence on forbidden writes, which is empty if there were none.

        Forbidden writes are those to guards, and to inputs that have a buffer. Those to the padding of the outputs are
        found where these are compared.
        """
        looks = {} if self._device.host is not None else self._looks()
        for role, output in outputs.items():
            content = looks[role].content if looks else None
            if content is None:
                self.named[role].download(output.storage)
            else:
                output.storage.view(np.uint8)[...] = content
        return self._harm(inputs, looks)

    def _looks(self) -> dict[str, Look]:
        looks = {} if self._block is None else self._block.look()
        return {name: looks[name] if name in looks else one.look() for name, one in self.named.items()}

    def _harm(self, inputs: Mapping[str, HostTensor], looks: Mapping[str, Look]) -> str:
        damages = [looks[name].damage if looks else buffer.check_guards() for name, buffer in self.named.items()]
        found = [damage.text for damage in damages if damage is not None]
        for name, tensor in inputs.items():
            if name in self.named and not self._holds(name, tensor.storage, looks):
                found.append(f"input {name} was changed: {_where_changed(self.named[name], tensor)}")
        return "; ".join(found)

    def _holds(self, name: str, expected: NDArray[Any], looks: Mapping[str, Look]) -> bool:
        """Return whether the buffer holds exactly these bytes; the host's memory is compared in place."""
        buffer = self.named[name]
        if self._device.host is not None:
            return same_bytes(buffer.pointer, expected)
        found: NDArray[Any] | None = looks[name].content
        if found is None:
            found = np.empty_like(expected)
            buffer.download(found)
        return found.nbytes == expected.nbytes and same_bytes(found.ctypes.data, expected)


def same_bytes(address: int, expected: NDArray[Any]) -> bool:
    """Return whether memory at an address of this process holds the bytes of an array."""
    return bool(_memcmp(address, expected.ctypes.data, expected.nbytes) == 0)


def _where_changed(buffer: Buffer, tensor: HostTensor) -> str:
    now = np.empty_like(tensor.storage)
    buffer.download(now)
    changed = bits_of(now) != bits_of(tensor.storage)
    return (
        f"{np.count_nonzero(changed)} of {tensor.tensor.space} elements, the first at index {changed.argmax()} of its"
        " memory"
    )
