"""Dump of the tensors of a case as .npy files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bitgate.model.host_tensor import HostTensor


class Dump:
    """An observer that writes each tensor of a case to ``<folder>/<name>.npy`` in logical order, without padding.

    Types that numpy does not know (bf16, f8) are widened to f32, which holds each of their values.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, tensor: HostTensor) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        cells = tensor.logical
        if cells.dtype.isbuiltin != 1:
            cells = cells.astype(np.float32)
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(cells))
