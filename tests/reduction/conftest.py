"""Runs a reduction on an instance of the host, both results of an argmax among what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bitgate.kernel.build import Builder
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import families
from bitgate.model.host_tensor import HostTensor
from bitgate.ops.reduction import ReductionProblem
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named

Array = np.ndarray[Any, Any]


class Reducer:
    """``reducer(problem, x, "reduction.f32_wave")`` -> y, and index of an argmax, in logical order."""

    def __init__(self) -> None:
        self._builder = Builder("host")
        self.device = open_device(named("host"), self._builder)
        self._libraries: dict[str, KernelLibrary] = {}

    def library(self, family: str) -> KernelLibrary:
        declared = families()[family]
        if family not in self._libraries:
            self._libraries[family] = KernelLibrary.load(self._builder.family(declared), declared, target="host")
        return self._libraries[family]

    def __call__(self, problem: ReductionProblem, x: Array, kernel: str) -> dict[str, Array]:
        family, instance = kernel.split(".")
        library = self.library(family)
        hosts = {role: HostTensor.empty(tensor) for role, tensor in problem.tensors.items()}
        hosts["x"].logical[...] = x.astype(hosts["x"].storage.dtype)
        buffers = {}
        try:
            for role, host in hosts.items():
                buffers[role] = self.device.alloc(host.tensor.bytes, name=role)
                buffers[role].upload(host.storage)
            needed = library.workspace_size(problem, instance)
            workspace = (0, 0)
            if needed:
                buffers["workspace"] = self.device.alloc(needed, name="workspace")
                buffers["workspace"].fill(0xFF)
                workspace = (buffers["workspace"].pointer, needed)
            pointers = {role: buffers[role].pointer for role in hosts}
            library.run(problem, instance, {}, pointers, workspace, stream=self.device.stream)
            self.device.synchronize()
            for role in problem.outputs:
                buffers[role].download(hosts[role].storage)
            assert all(buffer.check_guards() is None for buffer in buffers.values())
        finally:
            for buffer in buffers.values():
                buffer.free()
        return {role: hosts[role].logical.copy() for role in problem.outputs}


@pytest.fixture(scope="session")
def reducer() -> Iterator[Reducer]:
    reducer = Reducer()
    yield reducer
    assert reducer.device.host is not None
    reducer.device.host.reset()
