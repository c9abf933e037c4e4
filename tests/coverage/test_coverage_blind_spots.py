"""The founding question: on CK's table as it stood before #7732, is the hole that hid the bug named, and near the top?

The rule of the ranking knows dispatch factors and frequencies, no bug. Facts: CK's test shapes, with and without the
three rows that the fix added; the pairs of #10627 (flat path and split-N) and #12089 (flat path and K % 8).
"""

from functools import lru_cache
from pathlib import Path

import pytest

from bitgate.model.space.table import TableRequest
from bitgate.ops.convolution import ConvProblem, Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.factors import FACTORS
from bitgate.tools.coverage.assume import Assumptions
from bitgate.tools.coverage.readers import read
from bitgate.tools.coverage.survey import RankedHole, Survey, surveys

TABLE = Path(__file__).parent / "data" / "ck_bwd_data_shapes.csv"
NAMES = [factor.name for factor in FACTORS[Pass.BWD_DATA]]
MORE_THAN_ONE = {">1", "2-8", "9-31", "32", "33", "34-64", ">64"}


@lru_cache
def survey(era: str, strength: int = 2) -> Survey:
    where = (("era", era),) if era else ()
    (only,) = surveys(read(TABLE, TableRequest(where)), Assumptions.parse(["numd=0"], NAMES), strength)
    return only


@lru_cache
def holes(era: str, strength: int = 2) -> tuple[tuple[dict[str, str], str, RankedHole], ...]:
    found = survey(era, strength)
    return tuple((found.factors_of(r.hole), found.words(r.hole), r) for r in found.ranked(exact=0))


def named(era: str, top: int, strength: int = 2, **classes: str) -> list[str]:
    """The words of holes among the first ``top`` that have these classes."""
    return [words for factors, words, _ in holes(era, strength)[:top] if classes.items() <= factors.items()]


def founding(era: str, top: int) -> list[str]:
    return [
        words
        for factors, words, _ in holes(era)[:top]
        if factors.get("g") == "1" and factors.get("gemms_count") in MORE_THAN_ONE and factors.get("ndim", "2") == "2"
    ]


def test_before_the_fix_the_founding_hole_is_in_the_top_ten() -> None:
    assert founding("before_7732", 10) == [
        "G=1 with gemms_count > 1",
        "flat path (2D, G=1, K of at least one vector) with gemms_count > 1",
    ]


def test_with_the_rows_of_the_fix_it_is_closed() -> None:
    assert founding("", 20) == []
    assert named("", 10**6, path="flat", gemms_count="32")  # the bucket's edge stays open, further down


@pytest.mark.parametrize("era", ["before_7732", ""])
def test_the_two_later_bugs_of_the_gate_are_in_the_top_twenty(era: str) -> None:
    assert named(era, 20, path="flat", k_mod_vector="!=0")
    assert named(era, 20, path="flat", split_n="beyond")


@pytest.mark.parametrize(
    "classes",
    [
        {"path": "flat", "gcd": "not coprime"},
        {"path": "flat", "gemms_count": "33"},
        {"path": "grouped", "gcd": "shared"},
        {"dilation": ">1", "pad": ">0"},
        {"path": "flat", "pad_sides": "differ"},
        {"path": "grouped", "pad_sides": "differ"},
        {"path": "flat", "pad": ">= filter"},
        {"path": "flat", "stride_axes": "differ"},
        {"path": "flat", "gap": "strided"},
        {"path": "flat", "main_loop": "mixed"},
        {"k_size": "1", "gemms_count": ">1"},
        {"c_size": "1", "gemms_count": ">1"},
    ],
)
def test_the_pairs_that_stay_open_after_the_fix_are_named(classes: dict[str, str]) -> None:
    wider = {"k_size": "below", "c_size": "below"}  # nothing below one vector is there, which says more
    assert named("", 10**6, 2, **classes) or named("", 10**6, 2, **{k: wider.get(k, v) for k, v in classes.items()})


def test_3d_with_one_group_and_several_sub_gemms_is_a_triple() -> None:
    assert named("", 10**6, strength=3, ndim="3", g="1", gemms_count=">1")


def test_d_tensors_are_a_hole_unless_assumed_away() -> None:
    (free,) = surveys(read(TABLE, TableRequest()), Assumptions(), 2)
    assert "grouped path with NumD=1" in [free.words(hole) for hole, _ in free.order]
    assert not named("", 10**6, numd="1")


def test_each_hole_comes_with_a_row_that_closes_it() -> None:
    found = survey("before_7732")
    space = found.scope
    for factors, _, ranked in holes("before_7732")[:60]:
        problem = ranked.problem
        assert isinstance(problem, ConvProblem)
        codes = space.classify(Batch.from_problems([problem]))[0]
        for term in ranked.hole.terms:
            assert codes[term.factor] in term.members, (factors, ranked.problem)
        assert ranked.closes >= 1


def test_counts_are_of_run_classes_with_plan_only_ones_apart() -> None:
    before, after = survey("before_7732").levels, survey("").levels
    assert before.counts()[1] == after.counts()[1]
    assert before.counts()[0] < after.counts()[0] < after.counts()[1]
    assert after.counts(plan_only=True)[0] == 0 < after.counts(plan_only=True)[1]
