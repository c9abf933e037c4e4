"""Predicted seconds of cases, and how they are fitted and kept."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.kernel.resolved import Kernel, kernel_called
from bitgate.model import parse_case_id
from bitgate.tools.tiers.cost import PARTS, UNKNOWN, CostModel, amounts, read_costs
from bitgate.tools.tiers.recording import fitted, record_costs, write_costs

PROBLEM = parse_case_id("gemm_f32_rcr_b2m65n64k40")


def kernel(name: str, options: dict[str, str] | None = None) -> Kernel:
    family, instance = name.split(".")
    return kernel_called(registry.families(ours()), family, instance, (options or {}).items())


def test_a_case_is_made_of_the_threads_and_tiles_that_it_launches():
    counted = dict(zip(PARTS, amounts(kernel("batched_gemm.f32_rcr_64x64x16_a4b4c4_w32"), PROBLEM), strict=True))
    assert counted["case"] == counted["launch"] == 1
    assert counted["thread"] == 2 * 2 * 128  # two tiles of rows of each of two matrices
    assert counted["tile"] == 2 * 2 * 3 * 64 * 64 * 16  # in three steps each


def test_blocks_that_take_turns_count_as_often():
    problem = parse_case_id("reduction_f32_o40l100i1_sum")
    usual, limited = (amounts(kernel("reduction.f32_block", one), problem)[2] for one in ({}, {"most_blocks": "1"}))
    assert limited >= usual > 0


def test_the_shipped_costs_know_every_family_of_a_request():
    model = read_costs(ours().shelves[0])
    assert "grouped_fwd.fwd" in model.costs
    assert all(len(parts) == len(PARTS) and parts[0] > 0 for parts in model.costs.values())
    assert model.seconds(kernel("batched_gemm.f32_rcr_64x64x16_a4b4c4_w32"), PROBLEM) < 0.05


def test_a_family_without_costs_has_those_of_the_middle():
    rows = {"a.fwd": (1.0, 0, 0, 0, 0, 0), "b.fwd": (3.0, 0, 0, 0, 0, 0), "c.fwd": (2.0, 0, 0, 0, 0, 0)}
    assert CostModel(rows).seconds(kernel("batched_gemm.f32_rcr_64x64x16_a4b4c4_w32"), PROBLEM) == 2.0
    assert CostModel()._typical == UNKNOWN


def test_a_fit_finds_what_seconds_were_made_of():
    rng = np.random.default_rng(1)
    parts = np.concatenate([np.ones((200, 1)), rng.integers(1, 9, (200, 1)), 1000.0 * rng.random((200, 2))], axis=1)
    costs = np.array([2e-3, 0.0, 3e-6, 1e-6])
    assert fitted(parts, parts @ costs) == pytest.approx(tuple(costs), rel=0.02, abs=1e-8)


def test_costs_are_kept_in_a_file(tmp_path):
    write_costs(tmp_path, {"b.fwd": UNKNOWN, "a.fwd": (0.001, 0.0, 1e-7, 0.0, 0.0, 2e-9)})
    assert read_costs(tmp_path).costs == {"b.fwd": UNKNOWN, "a.fwd": (0.001, 0.0, 1e-7, 0.0, 0.0, 2e-9)}
    assert read_costs(tmp_path / "nowhere").costs == {}


@pytest.mark.parametrize("text", ['"a.fwd" = 3', '"a.fwd" = { case = 1.0 }', "[a"])
def test_a_damaged_file_is_named(tmp_path, text):
    (tmp_path / "costs.toml").write_text(text)
    with pytest.raises(UsageError, match=r"costs\.toml"):
        read_costs(tmp_path)


def test_costs_are_measured_on_real_cases(tmp_path, monkeypatch):
    monkeypatch.setattr("bitgate.tools.tiers.recording.SAMPLE", 24)
    (tmp_path / "solve.toml").write_text(
        "[gemm]\nkernels = 'batched_gemm'\noperations = 'gemm'\nsmoke = 1\nregression = 1\ntriples = ['op']\n"
    )
    (found,) = record_costs(tmp_path, [], registry.families(ours()), lambda text: None)
    assert found.cases == 24
    assert read_costs(tmp_path).costs["batched_gemm.gemm"][0] > 0
