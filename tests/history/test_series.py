"""The steady state of the answers of a case, and what falls out of line."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.lab.history.series import CHANGE, CHANGE_OF_NOTHING, DEVIATION, RunAnswer, Series, likeliest, steady
from bitgate.results.record import UNKNOWN, Outcome

EACH_ITS_OWN = [f"b{number}" for number in range(100)]


def states(reds: str, builds: str = "") -> str:
    """``x`` is red, ``.`` is green; each night has a separate build unless ``builds`` names them by letters."""
    names = list(builds) if builds else EACH_ITS_OWN[: len(reds)]
    return "".join("x" if ill else "." for ill in steady([one == "x" for one in reds], names))


EXAMPLES = {
    "well throughout": ("......", "......"),
    "a commit broke it": ("....xxxx", "....xxxx"),
    "broken and mended": ("...xxx...", "...xxx..."),
    "mended the next night but one": ("...xx...", "...xx..."),
    "one red alone is no change": ("...x....", "........"),
    "one green alone is none either": ("xxx.xxxx", "xxxxxxxx"),
    "red since last night": (".......x", ".......x"),
}


@pytest.mark.parametrize("what", EXAMPLES)
def test_a_state_is_what_lasts(what: str) -> None:
    reds, expected = EXAMPLES[what]
    assert states(reds) == expected


def test_the_same_build_is_not_broken_and_mended() -> None:
    assert states("..xx..", "aaaaaa") == "......"
    assert states("....xxxx", "aaaaaaaa") == "....xxxx", "a driver may have changed under it"


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["a", "b", UNKNOWN])), max_size=9))
def test_no_path_is_likelier_than_the_one_found(told: list[tuple[bool, str]]) -> None:
    reds, builds = [red for red, _ in told], [build for _, build in told]

    def cost(path: tuple[bool, ...]) -> float:
        deviations = sum(DEVIATION for red, ill in zip(reds, path, strict=True) if red != ill)
        for place in range(1, len(path)):
            if path[place] != path[place - 1]:
                same = builds[place] == builds[place - 1] != UNKNOWN
                deviations += CHANGE_OF_NOTHING if same else CHANGE
        return deviations

    found = likeliest(reds, builds)
    assert len(found) == len(reds)
    assert cost(found) == pytest.approx(min(cost(path) for path in product((False, True), repeat=len(reds))))


def test_what_is_broken_and_mended_again_and_again_is_neither() -> None:
    assert states("..xx..xx..xx..") == "..xx..xx..xx.."
    assert states("..xx..xx..xx..xx..") == "." * 18


@given(st.lists(st.booleans(), max_size=40))
def test_a_state_costs_no_more_than_none(reds: list[bool]) -> None:
    """Deviations are never more than the answers of the lesser kind."""
    path = steady(reds, EACH_ITS_OWN[: len(reds)])
    deviations = sum(red != ill for red, ill in zip(reds, path, strict=True))
    assert deviations <= min(sum(reds), len(reds) - sum(reds))


def answers(*outcomes: Outcome, build: str = "") -> list[RunAnswer]:
    return [
        RunAnswer(f"t{n}", n, "n1", build or f"b{n}", "c", outcome, outcome is Outcome.PASS, "", 0.1)
        for n, outcome in enumerate(outcomes)
    ]


def test_what_did_not_run_is_no_answer() -> None:
    lost, infra, good, bad = Outcome.LOST, Outcome.INFRA, Outcome.PASS, Outcome.MISMATCH
    series = Series.of(answers(good, lost, bad, infra, bad))
    assert [answer.outcome for answer in series.answers] == [good, bad, bad]
    assert series.is_red
    assert [(period.red, period.first, period.last) for period in series.periods] == [(False, 0, 0), (True, 1, 2)]


def test_a_known_bug_is_red_as_before() -> None:
    series = Series.of(answers(Outcome.MISMATCH, Outcome.MISMATCH, Outcome.KNOWN_BUG, Outcome.KNOWN_BUG))
    assert (series.deviations, series.is_red) == ([], True)


def test_a_deviation_is_certain_if_one_build_answered_both_ways() -> None:
    good, bad = Outcome.PASS, Outcome.MISMATCH
    (place,) = Series.of(told := answers(good, good, bad, good)).deviations
    assert not Series.of(told).is_certain(place)
    assert Series.of(answers(good, good, bad, good, build="one")).is_certain(place)
    assert not Series.of(answers(good, good, bad, good, build=UNKNOWN)).is_certain(place)


def test_nothing_is_said_of_no_answers() -> None:
    series = Series.of([])
    assert (series.states, series.is_red, series.periods, series.deviations) == ((), False, [], [])
