"""A kernel that is a Python function."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.runner import LibraryState
from bitgate.model import F32_ACCUMULATION


@dataclass(eq=False)
class InNumpy:
    family: KernelFamily
    instance: Instance
    conduct: LibraryState = field(default_factory=LibraryState)
    capabilities: frozenset[str] = frozenset()
    content_key = "numpy"

    def workspace(self, problem):
        return 0

    def launch(self, problem, buffers, workspace, stream):
        view = {role: cells(problem.tensors[role], buffers[role]) for role in problem.tensors}
        bias = view["b"].astype(np.float32) if "b" in view else 0
        y = view["x"].astype(np.float32) * view["s"].astype(np.float32)[:, None] + bias
        view["y"][...] = y
        view["best"][...] = y.argmax(axis=1)
        return DispatchRecord("numpy", 1, False, 0, self.instance.name, {}, (), (), ())


def cells(tensor, pointer):
    memory = (ctypes.c_uint8 * tensor.bytes).from_address(pointer)
    strides = tuple(stride * tensor.dtype.bytes for stride in tensor.strides)
    return np.ndarray(tensor.lengths, tensor.dtype.numpy, memory, strides=strides)


def opened(family: KernelFamily, instance: Instance, options: Any) -> Any:
    return InNumpy(family, instance)


FAMILY = KernelFamily(
    name="in_numpy",
    operations=("scaled_rows",),
    platforms=("host",),
    instances=(Instance("mixed", "numpy", ("f16_f32_f16", "f16_f32_bf16_f16"), (), (), F32_ACCUMULATION),),
    opens=opened,
)
