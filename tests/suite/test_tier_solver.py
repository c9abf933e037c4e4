"""The tier solver: pinned cases first, then gain a second, within the budget; never worse than what it could add."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.results.plan import PlannedItem
from bitgate.results.record import Key
from bitgate.suite.tier_solver import FeaturedCase, covered_by, solve
from bitgate.tools.coverage.features import features, read_killers

SMALL = "bwd_data_f32_nhwgc_g1n1k8c8_y3x3_h6x6_s2x2_d1x1_p1x1_q1x1"
DENSE = "bwd_data_f32_nhwgc_g2n1k8c8_y3x3_h6x6_s1x1_d1x1_p1x1_q1x1"


def item(name: str, seconds: float = 1.0, pin: str = "", case: str = SMALL, instance: str = "i") -> PlannedItem:
    key = Key(case, "k", instance, (), "exact", 0, "forward", "host")
    return PlannedItem(name, key, "regression", "s", why=name, pin=pin, seconds=seconds)


def candidate(name: str, *numbers: int, seconds: float = 1.0, pin: str = "") -> FeaturedCase:
    return FeaturedCase(item(name, seconds, pin), np.array(numbers, np.int64))


def test_most_for_its_seconds_and_nothing_for_what_others_have():
    cheap, dear, double = candidate("a", 0, 1, seconds=1), candidate("b", 0, 1, 2, seconds=9), candidate("c", 0)
    solution = solve([cheap, dear, double], np.ones(3), budget=5)
    assert solution.ids == {"a"}
    assert solution.possible.all()
    assert solution.covered.tolist() == [True, True, False]
    assert solve([cheap, dear, double], np.ones(3), budget=10).ids == {"a", "b"}


def test_pinned_cases_are_in_whatever_they_cost_each_once():
    pinned = [candidate("p1", 0, seconds=8, pin="#1"), candidate("p2", 0, seconds=7, pin="#2")]
    same = FeaturedCase(structs.replace(item("p3", 5, "#2"), why="p2"), np.array([0]))
    solution = solve([*pinned, same, candidate("x", 1, 2, 3)], np.ones(4), budget=1)
    assert solution.ids == {"p1", "p3"}  # of the two cases of one pinned row the cheaper
    assert all(one.is_pinned for one in solution.chosen)


def test_a_defect_outweighs_pairs():
    weights = np.array([1.0, 1.0, 1.0, 300.0])
    assert solve([candidate("pairs", 0, 1, 2), candidate("killer", 3)], weights, budget=1).ids == {"killer"}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.frozensets(st.integers(0, 11), max_size=6), st.floats(0.01, 3)), max_size=14),
    st.floats(0.1, 10),
)
def test_the_budget_holds_and_no_useful_case_that_fits_is_left(cases, budget):
    candidates = [candidate(f"{n}", *sorted(has), seconds=cost) for n, (has, cost) in enumerate(cases)]
    solution = solve(candidates, np.ones(12), budget)
    assert solution.seconds <= budget + 1e-9
    assert (solution.covered == covered_by(candidates, solution.ids, 12)).all()
    for one in candidates:
        if one.item.id not in solution.ids and one.seconds <= budget - solution.seconds - 1e-9:
            assert solution.covered[one.features].all()
    assert solve(candidates, np.ones(12), budget).chosen == solution.chosen


def test_features_are_pairs_instances_and_defects(tmp_path):
    report = tmp_path / "faults.json"
    by = "suites/x/test_x.py::test_bits[a]"
    report.write_text(json.dumps({"faults": [{"name": "f", "killed": True, "by": by}]}))
    known = features([item("a"), item("b", case=DENSE, instance="j")], read_killers([report]))
    kinds = known.counts(np.ones(len(known.names), bool))
    assert (kinds["kill"], kinds["instance"]) == (1, 2)
    assert known.names[known.candidates[0].features[0]] == ("kill", "f")
    shared = set(known.candidates[0].features) & set(known.candidates[1].features)
    assert 0 < len(shared) < kinds["pair"]
    report.write_text("[]")
    with pytest.raises(UsageError, match="not what bitgate faults run --json prints"):
        read_killers([report])


def test_the_command_solves_smoke_and_writes_planned_ids(tmp_path, capsys):
    out = tmp_path / "smoke.txt"
    question = ["--solve-tier", "smoke", "--seconds", "3", "--kernel", "grouped_fwd", "--target", "host"]
    assert run(["cases", *question, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["solved"]["seconds"] <= 3 + sum(c["seconds"] for c in document["cases"] if c["pinned"])
    assert [case["id"] for case in document["cases"]] == out.read_text().split()
    assert document["solved"]["pair"] > 0.9 * document["possible"]["pair"]
    assert run(["cases", *question]) == 0
    assert "smoke as the tables have it" in capsys.readouterr().out
