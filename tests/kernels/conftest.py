"""The host device, our kernel families on it, and small integers with what they must become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracle import expected, gaps
from tests.problems import convolution

from bitgate.kernel.build import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import families
from bitgate.model.host_tensor import HostTensor
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.convolution.launches import SubGemmRecord, sub_gemm_records
from bitgate.runtime.device import Device
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named

POISON = 0xA5


@dataclass(frozen=True)
class Outcome:
    """What a kernel left in the result, and what it says that it did."""

    result: HostTensor
    record: DispatchRecord

    @property
    def values(self) -> np.ndarray[Any, Any]:
        return self.result.logical.astype(np.float64)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The record's."""
        return self.record.facts

    @property
    def gemms(self) -> tuple[SubGemmRecord, ...]:
        """The record's."""
        return sub_gemm_records(self.record, len(self.result.tensor.lengths) - 3)


class Bench:
    """Runs one problem on one kernel instance of the host."""

    def __init__(self, device: Device, builder: Builder) -> None:
        self.device = device
        self._builder = builder
        self._libraries: dict[str, KernelLibrary] = {}

    def library(self, family: KernelFamily | str) -> KernelLibrary:
        declaration = families()[family] if isinstance(family, str) else family
        if declaration.name not in self._libraries:
            self._libraries[declaration.name] = self.build(declaration)
        return self._libraries[declaration.name]

    def build(self, declaration: KernelFamily, overlay: Mapping[str, Path] | None = None) -> KernelLibrary:
        return KernelLibrary.load(self._builder.family(declaration, overlay), declaration, target="host")

    def run(
        self,
        problem: ConvProblem,
        inputs: Mapping[str, HostTensor],
        kernel: KernelLibrary | KernelFamily | str,
        instance: str,
        options: Mapping[str, str] | None = None,
        *,
        alias_d: bool = False,
        schedule: str = "forward",
        workspace: int | None = None,
    ) -> Outcome:
        """The result starts as poison (or as D where D is the result itself), and its gaps must stay so; every buffer
        has guards. ``workspace``: bytes, poisoned too; default: as many as the library asks for."""
        self.device.set_schedule(schedule)
        tensors = dict(inputs)
        result = HostTensor.empty(problem.tensors[problem.result])
        result.storage.view(np.uint8).fill(POISON)
        if alias_d:
            result.logical[...] = inputs["d0"].logical
        tensors[problem.result] = result
        buffers = {}
        try:
            for name, tensor in tensors.items():
                buffers[name] = self.device.alloc(tensor.tensor.bytes, name=name)
                buffers[name].upload(tensor.storage)
            pointers = {name: buffer.pointer for name, buffer in buffers.items()}
            if alias_d:
                pointers["d0"] = pointers[problem.result]
            library = kernel if isinstance(kernel, KernelLibrary) else self.library(kernel)
            needed = library.workspace_size(problem, instance, options) if workspace is None else workspace
            scratch = (0, 0)
            if needed:
                buffers["workspace"] = self.device.alloc(needed, name="workspace")
                buffers["workspace"].fill(0xFF)
                scratch = (buffers["workspace"].pointer, needed)
            record = library.run(problem, instance, options, pointers, scratch, stream=self.device.stream)
            self.device.synchronize()
            buffers[problem.result].download(result.storage)
            assert all(buffer.check_guards() is None for buffer in buffers.values())
            assert (gaps(result) == POISON).all()
        finally:
            for buffer in buffers.values():
                buffer.free()
        return Outcome(result, record)


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    builder = Builder("host")
    bench = Bench(open_device(named("host"), builder), builder)
    yield bench
    assert bench.device.host is not None
    bench.device.host.reset()


def small_integers(problem: ConvProblem, seed: int = 0, reach: int = 2) -> dict[str, HostTensor]:
    """Operands and D of integers in [-reach, reach]: every sum here is exact."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for name, tensor in problem.tensors.items():
        if name != problem.result:
            inputs[name] = HostTensor.empty(tensor)
            values = generator.integers(-reach, reach + 1, tensor.lengths)
            inputs[name].logical[...] = values.astype(tensor.dtype.numpy)
    return inputs


def brute_force(problem: ConvProblem, inputs: Mapping[str, HostTensor]) -> np.ndarray[Any, Any]:
    """The result, rounded to its type, as f64."""
    return expected(problem, inputs).astype(np.float64)


@pytest.fixture(scope="session")
def integers() -> Any:
    return small_integers


@pytest.fixture(scope="session")
def oracle() -> Any:
    return brute_force


@lru_cache(maxsize=256)
def _solved(case: str, reach: int) -> tuple[ConvProblem, dict[str, HostTensor], np.ndarray[Any, Any]]:
    problem = convolution(case)
    inputs = small_integers(problem, reach=reach)
    return problem, inputs, brute_force(problem, inputs)


@pytest.fixture(scope="session")
def right(bench: Bench) -> Any:
    """``right(kernel, instance, case, ...)``: a run of small integers, whose result is the oracle's; what it left."""

    def run(kernel: KernelFamily | str, instance: str, case: str, *options: Any, reach: int = 2, **how: Any) -> Outcome:
        problem, inputs, due = _solved(case, reach)
        outcome = bench.run(problem, inputs, kernel, instance, *options, **how)
        np.testing.assert_array_equal(outcome.values, due, err_msg=f"{case} {instance} {options} {how}")
        return outcome

    return run
