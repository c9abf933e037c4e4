"""Each barrier of the grouped kernel is needed, and the host shows it: without it some order of threads is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bitgate.core import paths
from bitgate.kernel.registry import families
from bitgate.model import parse_case_id

WHOLE = families()["grouped_bwd_data"]
INSTANCES = tuple(instance for instance in WHOLE.instances if instance.group == "grouped_bwd_data_f32_w32")
FAMILY = replace(WHOLE, sources=("library.hip.cpp", "grouped_bwd_data_f32_w32.hip.cpp"), instances=INSTANCES)
PIPELINE = "kernels/include/bitgate/implicit_gemm/pipeline.hpp"
BARRIERS = {
    "in_turn(tiles_are_complete, ": "in_turn(",
    ", tiles_are_free);": ");",
    "__syncthreads(); // sums are complete": "",
}
"""And what is there without it."""
SCHEDULES = ("forward", "reverse", "random:1")


@pytest.fixture(params=[None, *BARRIERS])
def removed(request):
    return request.param


@pytest.fixture
def overlay(removed, tmp_path):
    """A header with one barrier less."""
    if removed is None:
        return {}
    text = (paths.root() / PIPELINE).read_text()
    assert text.count(removed) == 1
    (tmp_path / "without.hpp").write_text(text.replace(removed, BARRIERS[removed]))
    return {PIPELINE: tmp_path / "without.hpp"}


def test_a_missing_barrier_shows_under_some_schedule(bench, integers, oracle, removed, overlay):
    """All instances, of both depths."""
    library = bench.build(FAMILY, overlay)
    problem = parse_case_id("bwd_data_f32_nhwgc_g2n2k32c64_y3_h9x9_p1")
    inputs = integers(problem)
    expected = oracle(problem, inputs)
    right = {
        (instance.name, schedule): np.array_equal(
            bench.run(problem, inputs, library, instance.name, schedule=schedule).values, expected
        )
        for instance in INSTANCES
        for schedule in SCHEDULES
    }
    always = {i.name: all(right[i.name, schedule] for schedule in SCHEDULES) for i in INSTANCES}
    assert always == {i.name: removed is None for i in INSTANCES}, right


@pytest.mark.parametrize("barrier", [None, "the tile is complete", "the tile is free again"])
def test_a_missing_barrier_of_the_transpose_shows_too(bench, integers, oracle, barrier, tmp_path):
    """Each block takes two tiles, so that the second may be loaded too early."""
    file = "include/bitgate/implicit_gemm/transpose.hpp"
    text = (FAMILY.folder.parent / file).read_text()
    assert barrier is None or text.count(f"__syncthreads(); // {barrier}") == 1
    seeded = tmp_path / "transpose.hpp"
    seeded.write_text(text if barrier is None else text.replace(f"__syncthreads(); // {barrier}", ""))
    library = bench.build(FAMILY, {f"kernels/{file}": seeded})
    problem = parse_case_id("bwd_data_f32_ngcw_g2n1100k2c2_y1_h2")
    inputs = integers(problem)
    expected = oracle(problem, inputs)
    runs = [bench.run(problem, inputs, library, INSTANCES[0].name, schedule=schedule) for schedule in SCHEDULES]
    assert all(np.array_equal(run.values, expected) for run in runs) == (barrier is None)
