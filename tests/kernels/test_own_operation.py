"""An operation that is neither convolution nor GEMM crosses the same C ABI with other roles, attributes and facts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.plain_family import plain_family

from bitgate.kernel.declaration import Instance, Refusal
from bitgate.kernel.errors import KernelFailed
from bitgate.model import DTYPES, F32_ACCUMULATION, Tensor

F32 = Instance("f32", "row_sums", ("f32",), (), (), F32_ACCUMULATION, vector=(1, 1, 1), block_size=64)
FOLDER = Path(__file__).with_name("row_sums")
FAMILY = plain_family(FOLDER, "row_sums.hip.cpp", operations=("row_sums",), instances=(F32,))
X = np.arange(12, dtype=np.float32).reshape(3, 4)


@dataclass(frozen=True)
class RowSums:
    """y[r] = factor * sum_c x[r,c], of the columns that a mask names, if there is one."""

    rows: int
    columns: int
    has_mask: bool = False
    factor: float = 1.0
    extra: tuple[tuple[str, object], ...] = ()
    operation = "row_sums"
    outputs = ("y",)
    parts = 1

    @property
    def tensors(self):
        f32 = DTYPES["f32"]
        masked: dict[str, Any] = {"mask": None}
        if self.has_mask:
            masked = {"mask": Tensor("mask", f32, "c", (self.columns,), (1,))}
        x = Tensor("x", f32, "rc", (self.rows, self.columns), (self.columns, 1))
        return {"x": x, **masked, "y": Tensor("y", f32, "r", (self.rows,), (1,))}

    @property
    def attributes(self):
        return {**({} if self.factor == 1 else {"factor": self.factor}), **dict(self.extra)}


def run(bench, problem, **arrays):
    y = np.zeros(problem.rows, np.float32)
    with ExitStack() as stack:
        buffers = {}
        for role, array in {**arrays, "y": y}.items():
            buffers[role] = stack.enter_context(bench.device.alloc(array.nbytes, name=role))
            buffers[role].upload(array)
        pointers = {role: buffer.pointer for role, buffer in buffers.items()}
        record = bench.library(FAMILY).run(problem, "f32", {}, pointers, stream=bench.device.stream)
        bench.device.synchronize()
        buffers["y"].download(y)
    return y.tolist(), record


def test_it_runs_with_roles_attributes_and_facts_of_its_own(bench):
    y, record = run(bench, RowSums(3, 4, factor=0.5), x=X)
    assert y == (0.5 * X.sum(axis=1)).tolist()
    assert (record.path, record.facts, record.parts) == ("a_row_a_thread", {"columns": 4}, ())
    assert record.summary()["columns"] == 4


def test_an_optional_tensor_is_null_where_it_is_absent(bench):
    mask = np.array([1, 0, 0, 1], np.float32)
    assert run(bench, RowSums(3, 4, has_mask=True), x=X, mask=mask)[0] == (X @ mask).tolist()
    with pytest.raises(KernelFailed, match="buffer mask is null"):
        run(bench, RowSums(3, 4, has_mask=True), x=X)


def test_it_refuses_by_its_clauses_and_what_it_does_not_know(bench):
    library = bench.library(FAMILY)
    assert library.is_supported(RowSums(65, 4), "f32") == Refusal("rows", "65 rows: at most 64")
    unknown = library.is_supported(RowSums(3, 4, extra=(("order", "ascending"),)), "f32")
    assert unknown.clause == "unknown_attribute"
    assert "'order'" in unknown.text
