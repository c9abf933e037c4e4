"""A kernel that is a Python function: it gets numpy views of the buffers that lie in the host runtime's memory."""

from __future__ import annotations

import ctypes
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.runner import Capability, LibraryState
from bitgate.model import Tensor

Views = Mapping[str, NDArray[Any]]


@dataclass(eq=False)
class CallableRunner:
    """It has no launch log, no threads to order and no second statement of what it takes."""

    family: KernelFamily
    instance: Instance
    function: Callable[[Any, Views], None]
    conduct: LibraryState = field(default_factory=LibraryState)
    capabilities: frozenset[Capability] = frozenset()

    @property
    def content_key(self) -> str:
        text = f"{inspect.getsource(self.function)} numpy {np.__version__}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def supports(self, problem: Any) -> Refusal | None:
        raise AssertionError("never asked: it states nothing of its own")

    def workspace(self, problem: Any) -> int:
        return 0

    def launch(
        self, problem: Any, buffers: Mapping[str, int], workspace: tuple[int, int], stream: int
    ) -> DispatchRecord:
        views = {role: view(problem.tensors[role], pointer) for role, pointer in buffers.items() if pointer}
        try:
            self.function(problem, views)
        except Exception as error:
            raise KernelFailed(None, f"{self.function.__name__}: {type(error).__name__}: {error}") from None
        return DispatchRecord("callable", 1, False, 0, self.instance.name, {}, (), (), ())


def view(tensor: Tensor, pointer: int) -> NDArray[Any]:
    """The tensor's cells where they are."""
    memory = (ctypes.c_uint8 * tensor.bytes).from_address(pointer)
    strides = tuple(stride * tensor.dtype.bytes for stride in tensor.strides)
    return np.ndarray(tensor.lengths, tensor.dtype.numpy, memoryview(memory), strides=strides)
