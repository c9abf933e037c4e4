"""Conditions of mutants: clauses on a case's facts, drawn so that each excludes something."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.model import operation_called, parse_case_id
from bitgate.model.facts import Clause, Facts, numbers_of
from bitgate.tools.faults.mutation.condition import Condition, draw_condition

K_ABOVE_128, ODD_K, F16 = (
    Clause("problem.k", ">", 128),
    Clause("problem.k", "==", 1, modulus=2),
    Clause("dtypes", "is", "f16"),
)

facts = st.fixed_dictionaries(
    {"problem.k": st.integers(1, 300), "problem.left_pad": st.integers(0, 3), "dtypes": st.sampled_from(["f16", "f32"])}
)


@pytest.mark.parametrize(
    ("clause", "words", "case", "holds"),
    [
        (K_ABOVE_128, "problem.k > 128", {"problem.k": 129}, True),
        (K_ABOVE_128, "problem.k > 128", {"problem.k": 128}, False),
        (K_ABOVE_128, "problem.k > 128", {"k": 129}, False),
        (ODD_K, "problem.k % 2 == 1", {"problem.k": 7}, True),
        (ODD_K, "problem.k % 2 == 1", {"problem.k": 8}, False),
        (F16, "dtypes is f16", {"dtypes": "f16"}, True),
        (F16, "dtypes is f16", {"dtypes": "f32"}, False),
        (Clause("dtypes", "is not", "f16"), "dtypes is not f16", {"dtypes": "f32"}, True),
        (Clause("dtypes", "is not", "f16"), "dtypes is not f16", {}, False),
        (Clause("k", "<", 8), "k < 8", {"k": 7}, True),
        (Clause("k", "!=", 0, modulus=8), "k % 8 != 0", {"k": 16}, False),
        (Clause("g:", "is", ">2"), "g is >2", {"g:": ">2"}, True),
    ],
)
def test_a_clause_and_its_words(clause: Clause, words: str, case: Facts, holds: bool) -> None:
    assert str(clause) == words
    assert clause.holds(case) is holds


def test_a_condition_holds_where_all_clauses_do() -> None:
    condition = Condition((K_ABOVE_128, F16))
    assert str(condition) == "problem.k > 128 and dtypes is f16"
    assert condition.holds({"problem.k": 200, "dtypes": "f16"})
    assert not condition.holds({"problem.k": 200, "dtypes": "f32"})


@given(st.lists(facts, min_size=2, max_size=20), st.integers(0, 99))
def test_a_drawn_condition_holds_for_its_case_only_in_part(every: list[Facts], seed: int) -> None:
    condition = draw_condition(every[0], every, Random(seed))
    assert condition == draw_condition(every[0], every, Random(seed))
    if condition is not None:
        one, other = condition.clauses
        assert condition.holds(every[0])
        assert any(one.holds(case) and not other.holds(case) for case in every)
        assert any(other.holds(case) and not one.holds(case) for case in every)


def test_no_condition_is_drawn_of_what_a_kernel_cannot_see() -> None:
    every: list[Facts] = [{"fill": fill, "option": ""} for fill in ("exact", "special", "edges")]
    assert draw_condition(every[0], every, Random(1)) is None


def test_the_numbers_of_a_problem_name_its_axes_from_the_last() -> None:
    problem = parse_case_id("fwd_f16_g2n3k5c7_y1x3_h8x9_s2x1")
    numbers = numbers_of(operation_called("fwd").space, problem)
    assert (numbers["g"], numbers["k"], numbers["num_d"]) == (2, 5, 0)
    assert (numbers["stride[-2]"], numbers["stride[-1]"], numbers["filter[-1]"]) == (2, 1, 3)
    assert "layout" not in numbers
