"""A user's kernel family, declared as users do, for tests of planning that need no library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Option, Refusal
from bitgate.model import F32_ACCUMULATION
from bitgate.ops.convolution import ConvProblem, gemms_count


def _supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    if str(problem.dtypes) not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not among {instance.dtypes}")
    assert instance.vector is not None
    if problem.k % instance.vector[0]:
        return Refusal("vector", f"K = {problem.k} is no multiple of {instance.vector[0]}")
    return None


def _dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    count = gemms_count(problem)
    return Dispatch("flat" if count == 1 else "grouped", 1, True, facts={"gemms_count": count})


def _instance(name: str, vector: int, dtypes: tuple[str, ...] = ("f16", "f32")) -> Instance:
    return Instance(name, "all", dtypes, ("nhwgc",), (2,), F32_ACCUMULATION, vector=(vector, 1, 1))


@pytest.fixture
def family() -> KernelFamily:
    """Three instances with vectors of 8, 4 and 1; the last one takes f16 only."""
    return plain_family(
        Path("toy"),
        operations=("bwd_data",),
        platforms=("host", "amd"),
        instances=(_instance("v8", 8), _instance("v4", 4), _instance("v1", 1, ("f16",))),
        options=(Option("gate", ("on", "off"), "on", "Whether the gate is on."),),
        supports=_supports,
        dispatch=_dispatch,
    )
