"""The covering of a pool: every combination that it has, for few seconds, and none twice."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitgate.tools.tiers.cover import Cover, goals, pairs_of

NAMES = ("a", "b", "c", "d")


def pool(*values: str) -> list[dict[str, str]]:
    return [dict(zip(NAMES, one, strict=True)) for one in values]


EVERY = pool(*("".join(one) for one in product("012", repeat=4)))


def test_nine_cases_have_every_pair_of_four_factors():
    wanted = goals(EVERY, pairs_of(NAMES))
    cover = Cover([1.0] * len(EVERY))
    cover.extend(wanted)
    assert cover.reached(wanted) == wanted.possible == 6 * 9
    assert 9 <= len(cover.chosen) <= 12


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text("01", min_size=4, max_size=4), min_size=1, max_size=30))
def test_what_is_chosen_has_what_the_pool_has(values):
    classes = pool(*values)
    wanted = goals(classes, combinations(NAMES, 3))
    cover = Cover([1.0] * len(classes))
    cover.extend(wanted)
    seen = {(names, *(classes[at][n] for n in names)) for at in cover.chosen for names in combinations(NAMES, 3)}
    assert seen == {(names, *(one[n] for n in names)) for one in classes for names in combinations(NAMES, 3)}
    assert len(set(cover.chosen)) == len(cover.chosen)


def test_of_equal_cases_the_cheaper_is_taken():
    cover = Cover([5.0, 1.0])
    cover.extend(goals(pool("0000", "0000"), pairs_of(NAMES)))
    assert cover.chosen == [1]


def test_a_budget_ends_the_list():
    cover = Cover([1.0] * len(EVERY))
    wanted = goals(EVERY, pairs_of(NAMES))
    cover.extend(wanted, budget=3.5)
    assert len(cover.chosen) == 3
    assert cover.reached(wanted) == 18


def test_a_further_goal_takes_no_case_twice():
    cover = Cover([1.0] * len(EVERY))
    cover.extend(goals(EVERY, pairs_of(NAMES)))
    before = list(cover.chosen)
    triples = goals(EVERY, combinations(NAMES, 3))
    cover.extend(triples)
    assert cover.chosen[: len(before)] == before
    assert cover.reached(triples) == triples.possible == 4 * 27


def test_only_allowed_cases_are_taken():
    allowed = np.array([one["a"] == "1" for one in EVERY])
    cover = Cover([1.0] * len(EVERY))
    cover.extend(goals(EVERY, pairs_of(NAMES)), allowed=allowed)
    assert {EVERY[at]["a"] for at in cover.chosen} == {"1"}


@pytest.mark.parametrize("names", [("a", "missing")])
def test_a_factor_that_a_case_lacks_is_a_class_of_its_own(names):
    wanted = goals([{"a": "1"}, {"a": "1", "missing": "x"}], [names])
    assert wanted.possible == 2
