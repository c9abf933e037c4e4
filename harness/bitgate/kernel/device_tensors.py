"""Tensors over the memory of a GPU, for Python functions as kernels: torch's, or by ``__cuda_array_interface__``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from bitgate.model import Tensor

BITS = {1: "|u1", 2: "<i2"}
"""Numpy's names of integers that stand for the bits of types that it has not itself."""


@dataclass(frozen=True)
class DeviceArray:
    """The cells of a tensor on a GPU, for every library that reads ``__cuda_array_interface__``: ``cupy.asarray(x)``.

    Of types that numpy has not (bf16, f8) the cells are integers of the same bits.
    """

    tensor: Tensor
    pointer: int
    stream: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        tensor = self.tensor
        plain = tensor.dtype.numpy
        return {
            "shape": tuple(tensor.lengths),
            "typestr": plain.str if plain.kind in "biuf" else BITS[tensor.dtype.bytes],
            "data": (self.pointer, False),
            "strides": tuple(stride * tensor.dtype.bytes for stride in tensor.strides),
            "version": 3,
            "stream": self.stream or None,
        }


def torch_module() -> Any:
    """Return torch, which bitgate itself does not need. ModuleNotFoundError if it is not installed."""
    return import_module("torch")


def torch_on_device(tensor: Tensor, pointer: int) -> Any:
    """Return the cells of a tensor at an address of a GPU's memory as a tensor of torch over the same memory."""
    torch = torch_module()
    kind = getattr(torch, tensor.dtype.numpy.name)
    if 0 in tensor.lengths:
        return torch.empty(tuple(tensor.lengths), dtype=kind, device="cuda")
    return torch.as_tensor(DeviceArray(tensor, pointer, 0), device="cuda").view(kind)


def keep_on_device(found: Mapping[str, object], into: Mapping[str, Any]) -> None:
    """Copy what a function returned by role into the outputs. TypeError or ValueError unless types and shapes are the
    same."""
    torch = torch_module()
    for role, output in into.items():
        value: Any = found[role]
        if type(value) is not torch.Tensor:  # what computes its cells when they are read would be a subclass
            raise TypeError(f"returned a {type(value).__name__}: return torch's tensors")
        if value.device != output.device:
            raise TypeError(f"returned {role} on {value.device}: the outputs are on {output.device}")
        if value.dtype != output.dtype:
            raise TypeError(f"returned {role} in {value.dtype}: its type is {output.dtype}")
        if value.shape != output.shape:
            raise ValueError(f"returned {role} as {tuple(value.shape)}: its shape is {tuple(output.shape)}")
        if value.layout is not torch.strided:
            raise TypeError(f"returned {role} in the layout {value.layout}: return dense cells")
        output.copy_(value.detach())
