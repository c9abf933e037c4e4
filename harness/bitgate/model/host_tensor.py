"""Host memory of one tensor: 1-D storage with gaps, and the strided view in logical order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.tensor import Tensor

GAP_PATTERN = 0xFF
"""The byte that every cell between the rows of a strided tensor holds.

As a float it is a NaN (in the FNUZ types a huge number), so a kernel that reads a gap cannot go unseen; as an
integer it is -1. It is one byte, so that a memset makes it on any device.
"""


@dataclass(frozen=True, eq=False)
class HostTensor:
    """A tensor in host memory: ``storage`` holds ``tensor.space`` elements, with GAP_PATTERN in the gaps."""

    tensor: Tensor
    storage: NDArray[Any]

    def __post_init__(self) -> None:
        wanted = (self.tensor.space,)
        if self.storage.shape != wanted or self.storage.dtype != self.tensor.dtype.numpy:
            raise ValueError(
                f"tensor '{self.tensor.name}' needs {wanted[0]} elements of {self.tensor.dtype},"
                f" the storage has {self.storage.shape} of {self.storage.dtype}"
            )
        if not self.storage.flags.c_contiguous:
            raise ValueError(f"tensor '{self.tensor.name}': the storage must be contiguous")

    @classmethod
    def empty(cls, tensor: Tensor) -> HostTensor:
        """Return uninitialised cells between initialised gaps."""
        storage = np.empty(tensor.space, tensor.dtype.numpy)
        if has_gaps(tensor):
            storage.view(np.uint8).fill(GAP_PATTERN)
        return cls(tensor, storage)

    @cached_property
    def logical(self) -> NDArray[Any]:
        """The cells in logical order; a view."""
        cells: NDArray[Any] = self.bits.view(self.storage.dtype)
        return cells

    @cached_property
    def bits(self) -> NDArray[Any]:
        """The same cells as unsigned integers of the same width; a view."""
        # This goes through the buffer: as_strided does not know all of ml_dtypes' types.
        unsigned = self.storage.view(self.tensor.dtype.bits)
        strides = tuple(stride * unsigned.itemsize for stride in self.tensor.strides)
        cells: NDArray[Any] = np.ndarray(self.tensor.lengths, unsigned.dtype, unsigned, strides=strides)
        return cells


def has_gaps(tensor: Tensor) -> bool:
    """Return whether memory is left unused between the tensor's cells."""
    return tensor.has_gaps
