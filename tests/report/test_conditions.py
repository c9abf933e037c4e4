"""Conditions of defects: planted ones are found in random facts, and random verdicts have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitgate.model.facts import Clause, Facts
from bitgate.results.report.conditions import CaseFacts, SharedCondition, shared_condition

DTYPES, LAYOUTS = ("f32", "f16", "bf16"), ("nhwgc", "gnhwc", "ngchw", "nwgc")
PLANTED = (
    Clause("dtypes", "is", "f16"),
    Clause("layout", "is not", "nhwgc"),
    Clause("k", ">", 64),
    Clause("k", "<", 64),
    Clause("k", "!=", 0, modulus=8),
    Clause("c", "==", 0, modulus=4),
    Clause("g", "==", 1),
)
CASES = 400


def _problems(rng: Random, count: int = CASES) -> list[Facts]:
    return [
        {
            "dtypes": rng.choice(DTYPES),
            "layout": rng.choice(LAYOUTS),
            "g": rng.choice((1, 1, 2, 3)),
            "k": rng.randint(1, 128),
            "c": rng.randint(1, 128),
            "n": rng.randint(1, 9),
        }
        for _ in range(count)
    ]


def _cases(problems: Sequence[Facts]) -> list[CaseFacts]:
    """Return each problem as a separate case."""
    return [CaseFacts({"problem": facts}, {"problem": str(place)}) for place, facts in enumerate(problems)]


def _condition(problems: Sequence[Facts], is_red: Callable[[Facts], bool]) -> SharedCondition | None:
    cases = list(zip(problems, _cases(problems), strict=True))
    reds, greens = ([case for facts, case in cases if is_red(facts) is red] for red in (True, False))
    return shared_condition(reds, greens)


@given(st.sets(st.sampled_from(PLANTED), min_size=1, max_size=2), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_planted_condition_is_found(planted: set[Clause], seed: int) -> None:
    problems = _problems(Random(seed))

    def is_red(facts: Facts) -> bool:
        return all(clause.holds(facts) for clause in planted)

    red = sum(map(is_red, problems))
    found = _condition(problems, is_red)
    if red < 8:  # few cases say little, and a pair of bounds may leave none
        assert found is None or found.green < CASES - red
        assert found is None or red > 1
        return
    assert found is not None
    assert found.green == 0
    for clauses in found.alternatives:
        assert len(clauses) <= len(planted)
        assert [all(clause.holds(facts) for clause in clauses) for facts in problems] == list(map(is_red, problems))


def test_three_clauses_are_found_where_two_do_not_do() -> None:
    f16, odd, one_group = Clause("dtypes", "is", "f16"), Clause("k", "!=", 0, modulus=2), Clause("g", "==", 1)
    found = _condition(
        _problems(Random(1), 1000), lambda facts: all(clause.holds(facts) for clause in (f16, odd, one_group))
    )
    assert found is not None
    assert {clause.name for clause in found.alternatives[0]} == {"dtypes", "k", "g"}
    assert found.green == 0


@pytest.mark.parametrize("red", [2, 3, 5, 10, 30, 100])
def test_random_verdicts_seldom_have_a_condition(red: int) -> None:
    found = 0
    for seed in range(60):
        rng = Random(seed)
        cases = _cases(_problems(rng, 200))
        rng.shuffle(cases)
        found += shared_condition(cases[:red], cases[red:]) is not None
    # One in a hundred is the bound; that more than three of sixty are found is one chance in three hundred.
    assert found <= 3


def test_one_problem_on_many_instances_is_one_observation() -> None:
    problems = _problems(Random(2), 60)
    cases = [
        CaseFacts({"problem": facts, "instance": {"instance": name}}, {"problem": str(place), "instance": name})
        for place, facts in enumerate(problems)
        for name in ("t32", "t64", "t128", "t256", "t512", "w32", "w64", "w128")
    ]
    assert shared_condition(cases[:8], cases[8:]) is None
    odd = [case for case in cases if int(str(case.groups["problem"]["k"])) % 2]
    even = [case for case in cases if case not in odd]
    found = shared_condition(odd, even)
    assert found is not None
    assert "k % 2 != 0" in found.words


def test_a_condition_that_green_cases_meet_too_says_how_many() -> None:
    problems = _problems(Random(3))
    luck = Random(4)
    odd = Clause("k", "!=", 0, modulus=8), Clause("dtypes", "is", "f16")
    found = _condition(problems, lambda facts: all(one.holds(facts) for one in odd) and luck.random() < 0.7)
    assert found is not None
    assert found.words == ("dtypes is f16 and k % 8 != 0",)
    assert 0 < found.green < 45


def test_a_clause_that_two_green_cases_would_need_is_left_out() -> None:
    problems = [{**facts, "n": 1 + place % 8} for place, facts in enumerate(_problems(Random(6), 100))]
    lucky: list[Facts] = [{**facts, "k": 7, "n": 9} for facts in _problems(Random(7), 2)]
    found = _condition([*problems, *lucky], lambda facts: Clause("k", "!=", 0, 8).holds(facts) and facts["n"] != 9)
    assert found == SharedCondition(((Clause("k", "!=", 0, 8),),), 2)


def test_what_is_as_likely_is_an_alternative_and_the_words_of_a_class_need_no_name() -> None:
    problems: list[Facts] = [
        {"stride:": "stride > 1" if place % 5 == 0 else "stride 1", "strided": "yes" if place % 5 == 0 else "no"}
        | {"count": 4 if place % 5 == 0 else place % 3}
        for place in range(100)
    ]
    cases = [
        CaseFacts({"problem": facts, "dispatch": {"dispatch path": "flat" if facts["strided"] == "yes" else "grouped"}},
                  {"problem": str(place), "dispatch": str(place)})
        for place, facts in enumerate(problems)
    ]  # fmt: skip
    reds = [case for case in cases if case.groups["problem"]["strided"] == "yes"]
    found = shared_condition(reds, [case for case in cases if case not in reds])
    assert found is not None
    assert found.words == ("stride > 1", "dispatch path is flat")


def test_a_number_is_bounded_by_the_nearest_green_case() -> None:
    problems: list[Facts] = [{"k": k, "odd": k % 3} for k in range(1, 201)]
    found = _condition(problems, lambda facts: Clause("k", ">", 150).holds(facts))
    assert found is not None
    assert found.words == ("k > 150",)


def test_a_bound_lies_between_the_red_and_the_green_cases_that_meet_the_rest() -> None:
    problems: list[Facts] = [
        {"path": path, "count": count}
        for path, counts in (("flat", (1, 4)), ("grouped", (2, 3, 4, 9)))
        for count in counts * 30
    ]
    found = _condition(problems, lambda facts: facts == {"path": "flat", "count": 4})
    assert found is not None
    assert found.words == ("path is flat and count == 4",)
    problems += [{"path": "flat", "count": count} for count in (5, 6, 7)]
    found = _condition(problems, lambda facts: facts["path"] == "flat" and Clause("count", ">", 3).holds(facts))
    assert found is not None
    assert found.words == ("path is flat and count > 1",)


def test_nothing_is_said_of_one_red_case_or_without_a_green_one() -> None:
    cases = _cases(_problems(Random(5)))
    assert shared_condition(cases[:1], cases[1:]) is None
    assert shared_condition(cases, []) is None
    assert shared_condition([], cases) is None
