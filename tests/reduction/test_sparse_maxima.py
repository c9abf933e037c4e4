"""Maxima of data that a device makes: rows differ, and no tensor is needed in host memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from tests.verify.softmax.callable_runner import CallableRunner, Views

from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.resolved import kernel_called
from bitgate.model import F32_ACCUMULATION, parse_case_id
from bitgate.numerics.certificate import certify_plan
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.results.record import Outcome
from bitgate.runtime.tools import can_fill
from bitgate.verify.memory import memory_shortage
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

LARGE = ("f16_o70000l32771i1", "f32_o3l32771i30000", "f16_o1100000000l1i2")
TILE = 256


@pytest.mark.parametrize("kind", ["max", "argmax"])
@pytest.mark.parametrize("large", LARGE)
def test_data_of_more_than_2_31_elements_take_nothing_on_the_host(monkeypatch, large, kind):
    problem = parse_case_id(f"reduction_{large}_{kind}")
    plan = plan_fill(problem, F32_ACCUMULATION, "sparse")
    certificate = certify_plan(problem, plan, F32_ACCUMULATION)
    assert can_fill("gpu", problem.tensors["x"], plan.of("x"))
    assert (certificate.holds, certificate.sensitivity) == (True, None)
    held = sum(one.bytes * (3 if role in problem.outputs else 1) for role, one in problem.tensors.items())
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=held))
    assert memory_shortage(problem, False, "sparse") == ""
    assert "GiB of host memory" in memory_shortage(problem, False, "late")


@pytest.mark.parametrize(("dtype", "alike"), [("f32", 0.01), ("i32", 0.01), ("f16", 0.02), ("bf16", 0.05), ("i8", 0.1)])
def test_a_long_row_seldom_has_its_neighbours_maximum(dtype, alike):
    """Uniform f16 numbers in [-1, 1) would give 97 % of neighbouring rows one maximum: most such rows hold 1."""
    problem = parse_case_id(f"reduction_{dtype}_o300l32771i1_max")
    x = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "sparse"))["x"].logical.astype(np.float64)
    largest = x.max(axis=1).ravel()
    assert np.mean(largest[1:] == largest[:-1]) < alike
    assert np.mean(largest > 0) > 0.99


def right(x: Any) -> tuple[Any, Any]:
    return x.max(axis=1), x.argmax(axis=1)


def of_the_next_row(x: Any) -> tuple[Any, Any]:
    return right(np.roll(x, -1, axis=0))


def without_the_last_tile(x: Any) -> tuple[Any, Any]:
    return right(x[:, :-TILE])


def place_within_its_tile(x: Any) -> tuple[Any, Any]:
    value, place = right(x)
    return value, place % TILE


KERNELS: tuple[Callable[..., Any], ...] = (right, of_the_next_row, without_the_last_tile, place_within_its_tile)


def supports(problem: Any, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    return None


def opened(family: KernelFamily, instance: Instance, options: Any) -> CallableRunner:
    reduced = globals()[instance.name]

    def kernel(problem: Any, views: Views) -> None:
        for role, cells in zip(problem.outputs, reduced(views["x"]), strict=False):
            views[role][...] = cells

    return CallableRunner(family, instance, kernel)


FAMILY = KernelFamily(
    name="numpy_maximum",
    operations=("reduction",),
    folder=Path(__file__).parent,
    platforms=("host",),
    instances=tuple(Instance(one.__name__, "numpy", ("f16",), (), (0,), F32_ACCUMULATION) for one in KERNELS),
    supports=supports,
    opens=opened,
)


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session("host", suites=(), progress=lambda line: None)
    session.families = {**session.families, FAMILY.name: FAMILY}
    return session


@pytest.mark.parametrize(
    ("kernel", "kind", "outcome", "words"),
    [
        (right, "max", Outcome.PASS, ""),
        (right, "argmax", Outcome.PASS, ""),
        (of_the_next_row, "max", Outcome.MISMATCH, "cells of y are wrong"),
        (without_the_last_tile, "max", Outcome.MISMATCH, "cells of y are wrong"),
        (place_within_its_tile, "argmax", Outcome.MISMATCH, "cells of index are wrong"),
    ],
)
def test_a_wrong_maximum_is_red_by_the_device_alone(session, kernel, kind, outcome, words):
    problem = parse_case_id(f"reduction_f16_o40l3000i2_{kind}")
    planned = PlannedCase(
        problem, kernel_called(session.families, FAMILY.name, kernel.__name__), fill="sparse", reference="gpu"
    )
    verdict = verify(planned, session)
    assert verdict.outcome is outcome, verdict.reason
    assert words in verdict.reason
    assert verdict.reference == "gpu"
