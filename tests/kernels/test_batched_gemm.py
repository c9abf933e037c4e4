"""What the batched GEMM refuses, by which clause; C++ and Python agree on it, and what is supported verifies."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import parse_case_id
from bitgate.ops.gemm import GEMM_LAYOUTS
from bitgate.results.record import Outcome
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

FAMILY = families()["batched_gemm"]


@st.composite
def case_texts(draw):
    dtype = draw(st.sampled_from(["f16", "f32", "bf16"]))
    sizes = "".join(f"{letter}{draw(st.integers(1, 90))}" for letter in "mnk")
    op = draw(st.sampled_from(["", "", "_bilinear", "_bias", "_relu", "_scale"]))
    gap = draw(st.sampled_from(["", "", "_gap", "_gapak8_gapbk16_gapcn24", "_gapam3_gapbn5_gapcm7"]))
    split = draw(st.sampled_from(["", "", "_sk2", "_sk5"]))
    return f"gemm_{dtype}_{draw(st.sampled_from(GEMM_LAYOUTS))}_b{draw(st.integers(1, 3))}{sizes}{op}{gap}{split}"


@pytest.fixture(scope="module")
def session():
    return Session("host")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case_texts())
def test_supported_means_that_it_runs_and_verifies(session, case):
    problem, library = parse_case_id(case), session.opened.library(FAMILY.name)
    declared = {i.name: FAMILY.supports(problem, i, {}) is None for i in FAMILY.instances}
    assert {name: library.is_supported(problem, name) is None for name in declared} == declared
    runs = {
        name: verify(PlannedCase(problem, kernel_called(session.families, FAMILY.name, name)), session)
        for name, supported in declared.items()
        if supported
    }
    assert {name: verdict.reason for name, verdict in runs.items() if verdict.outcome is not Outcome.PASS} == {}
