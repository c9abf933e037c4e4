"""Sizes that are drawn around a task's own have a tail in each length, however few problems are asked for."""

from __future__ import annotations

import pytest

from bitgate.model import parse_case_id
from bitgate.tools.judge.drawing import LONGEST_TAIL, around, tails, tails_of_own
from bitgate.tools.judge.problems import of_operation


def test_one_problem_has_a_tail_in_each_length() -> None:
    assert tails({"a": 64, "b": 32}, lambda sizes: True) == [{"a": 65, "b": 33}]


def test_equal_lengths_have_tails_that_differ() -> None:
    """A grid of rows by rows, in place of rows by columns, is right on squares."""
    assert tails({"a": 64, "b": 64, "c": 64}, lambda sizes: True) == [{"a": 65, "b": 67, "c": 69}]


def test_a_length_that_has_to_be_a_multiple_gets_the_next_one() -> None:
    """Heads of 4 groups, say: one more of everything is no problem."""
    found = tails({"heads": 8, "keys": 64}, lambda sizes: sizes["heads"] % 4 == 0)
    assert found == [{"heads": 12, "keys": 64}, {"heads": 8, "keys": 65}]


def test_lengths_that_were_shrunk_get_a_tail_of_the_own() -> None:
    """A grid of max(1, n // 128) is right on 33 columns, and on 512."""
    own, base = {"m": 512, "n": 512, "k": 16}, {"m": 32, "n": 64, "k": 16}
    found = tails_of_own(own, base, 1 << 15, lambda sizes: True)
    assert [(one["m"], one["n"]) for one in found] == [(513, 8), (8, 513)]
    assert all(one.keys() == base.keys() for one in found)
    (only,) = tails_of_own({"n": 1 << 24}, {"n": 1 << 13}, 1 << 13, lambda sizes: True)
    assert only == {"n": LONGEST_TAIL + 1}


def test_tails_come_first_and_once() -> None:
    first = [{"a": 5, "b": 7}, {"a": 9, "b": 4}]
    drawn = [*around({"a": 4, "b": 4}, 3, first)]
    assert drawn[:2] == first
    assert len({tuple(one.values()) for one in drawn}) == len(drawn)


@pytest.mark.parametrize(
    ("task", "near"),
    [
        ("gemm_f16_m64n64k64", "gemm_f16_rcr_b2m65n67k69"),
        (
            "fwd_f16_nhwgc_g2n1k64c8_y1x1_h7x7_s1x1_d1x1_p0x0_q0x0",
            "fwd_f16_nhwgc_g3n2k65c9_y2x2_h8x10_s1x1_d1x1_p0x0_q0x0",
        ),
    ],
)
def test_problems_around_a_case_begin_with_its_tails(task: str, near: str) -> None:
    own, tail, *_ = dict.fromkeys(one.case for one in of_operation(task, "smoke", 1, 5, True).cases)
    assert parse_case_id(own) == parse_case_id(task)
    assert tail == near


def test_an_operation_has_tails_next_to_its_tier() -> None:
    cases = of_operation("gemm", "smoke", 3, 5, True).cases
    assert len({one.case for one in cases if one.group == "smoke"}) == 3
    assert len({one.case for one in cases if one.group == "drawn"}) == 1
