"""What runs again and what does not, as a table; and that no attempt can make a red night green."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.lab.ci.retry import TIMES_LONGER, AttemptHistory, Health, decide, unanswered
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import Outcome

CASES = tuple(f"case{number}" for number in range(100))


def tried(
    state: TaskState = TaskState.ENDED, node: str = "n1", cases: int = 100, reason: str = "", **told: Outcome
) -> AttemptHistory:
    """An attempt that answered that number of cases, with PASS but for the named ones."""
    outcomes = dict.fromkeys(CASES[:cases], Outcome.PASS) | told
    red = frozenset(i for i, outcome in outcomes.items() if outcome.facts.green != "always")
    return AttemptHistory(TaskStatus(state, 0 if state is TaskState.ENDED else None, node, reason), outcomes, red)


def many(outcome: Outcome, count: int) -> dict[str, Any]:
    return dict.fromkeys(CASES[:count], outcome)


def test_a_shard_with_all_its_answers_is_settled() -> None:
    decision = decide(CASES, [tried()])
    assert (decision.again, decision.why) == (False, "")


@pytest.mark.parametrize("state", [TaskState.NODE_FAILED, TaskState.PREEMPTED, TaskState.LOST, TaskState.ENDED])
def test_only_cases_without_answers_run_once_more_elsewhere(state: TaskState) -> None:
    decision = decide(CASES, [tried(state, cases=60)])
    assert decision.again
    assert decision.only == frozenset(CASES[60:])
    assert decision.avoid == (() if state is TaskState.PREEMPTED else ("n1",))
    again = decide(CASES, [tried(state, cases=60), tried(state, "n2", cases=80)])
    assert not again.again
    assert again.why.startswith("ran again, and still 20 cases without an answer")


def test_a_shard_without_any_answer_runs_as_a_whole() -> None:
    assert decide(CASES, [tried(TaskState.LOST, cases=0)]).only == frozenset()


def test_a_second_attempt_may_answer_what_the_first_did_not() -> None:
    first, second = tried(TaskState.LOST, cases=60), tried()
    assert not decide(CASES, [first, second]).again
    assert decide(CASES, [first, second]).why == ""


@pytest.mark.parametrize("outcome", [Outcome.INFRA, Outcome.LOST])
def test_a_verdict_about_nobody_is_no_answer(outcome: Outcome) -> None:
    decision = decide(CASES, [tried(case7=outcome)])
    assert (decision.again, decision.only, decision.avoid) == (True, frozenset(["case7"]), ("n1",))


def test_timeouts_get_more_time_out_of_memory_a_whole_machine() -> None:
    late = decide(CASES, [tried(TaskState.TIMED_OUT, cases=50)])
    assert (late.again, late.longer, late.alone) == (True, TIMES_LONGER, False)
    full = decide(CASES, [tried(TaskState.OUT_OF_MEMORY, cases=50)])
    assert (full.again, full.longer, full.alone) == (True, 1.0, True)


@pytest.mark.parametrize("outcome", [Outcome.MISMATCH, Outcome.CORRUPTED, Outcome.CRASHED, Outcome.HUNG])
def test_a_red_case_runs_once_more_to_be_classified(outcome: Outcome) -> None:
    first = tried(case3=outcome)
    decision = decide(CASES, [first])
    assert (decision.again, decision.only) == (True, frozenset(["case3"]))
    assert decision.why == "again to see whether 1 case fails alike each time"
    alone = AttemptHistory(first.status, {"case3": Outcome.PASS})
    assert not decide(CASES, [first, alone]).again


@pytest.mark.parametrize(
    "outcome", [Outcome.NONDETERMINISTIC, Outcome.BUILD_FAILED, Outcome.REFUSED, Outcome.NOT_RUN, Outcome.KNOWN_BUG]
)
def test_what_is_told_apart_already_is_not_run_again(outcome: Outcome) -> None:
    assert not decide(CASES, [tried(case3=outcome)]).again


def test_a_sick_shard_stops_and_says_so() -> None:
    decision = decide(CASES, [tried(**many(Outcome.CRASHED, 6))])
    assert not decision.again
    assert decision.why == "unhealthy on n1: 6 of 100 cases ended INFRA or CRASHED: nothing of it is run again"
    assert decide(CASES, [tried(**many(Outcome.CRASHED, 5))]).again
    assert decide(CASES[:10], [tried(cases=10, **many(Outcome.INFRA, 2))]).again, "two of ten say nothing yet"


def test_no_capacity_and_cancelled_are_final() -> None:
    none = decide(CASES, [tried(TaskState.NO_CAPACITY, cases=0, reason="gfx950: no such feature")])
    assert (none.again, none.why) == (False, "no capacity: gfx950: no such feature")
    assert not decide(CASES, [tried(TaskState.CANCELLED, cases=3)]).again


def test_a_failing_machine_is_avoided_and_if_all_fail_none_run() -> None:
    lost = tried(TaskState.LOST, "n1", cases=0)
    two = Health.of([(CASES, [lost])] * 2)
    assert two.unhealthy == ()
    three = Health.of([(CASES, [lost])] * 3)
    assert three.unhealthy == ("n1",)
    assert three.is_hopeless
    stopped = decide(CASES, [lost], three)
    assert not stopped.again
    assert "n1 keeps failing, and no machine is healthy" in stopped.why
    others = Health.of([*[(CASES, [lost])] * 3, (CASES, [tried(node="n2")])])
    assert not others.is_hopeless
    elsewhere = decide(CASES, [tried(TaskState.LOST, "n3", cases=0)], others)
    assert (elsewhere.again, elsewhere.avoid) == (True, ("n3", "n1"))


def test_a_machine_where_more_goes_well_is_not_sick() -> None:
    lost = tried(TaskState.LOST, "n1", cases=0)
    assert Health.of([*[(CASES, [lost])] * 3, *[(CASES, [tried()])] * 4]).unhealthy == ()


_outcomes = st.dictionaries(st.sampled_from(CASES[:8]), st.sampled_from(Outcome))
_attempts = st.lists(
    st.builds(
        lambda state, node, outcomes: AttemptHistory(
            TaskStatus(state, 0, node), outcomes, frozenset(i for i, one in outcomes.items() if one is not Outcome.PASS)
        ),
        st.sampled_from([state for state in TaskState if state.over]),
        st.sampled_from(["", "n1", "n2"]),
        _outcomes,
    ),
    min_size=1,
    max_size=6,
)


@given(st.data())
def test_nothing_runs_for_ever(data: st.DataObject) -> None:
    """Whatever happens, a shard has three attempts: the first, one for answers, one to classify."""
    attempts: list[AttemptHistory] = []
    asked = frozenset(CASES[:8])
    while not attempts or (decision := decide(CASES[:8], attempts)).again:
        asked = decision.only or asked if attempts else asked
        outcomes = data.draw(st.dictionaries(st.sampled_from(sorted(asked)), st.sampled_from(Outcome)))
        red = frozenset(i for i, one in outcomes.items() if one is not Outcome.PASS)
        state = data.draw(st.sampled_from([state for state in TaskState if state.over]))
        attempts.append(AttemptHistory(TaskStatus(state, 0, "n1"), outcomes, red))
        assert len(attempts) <= 3


@given(_attempts)
def test_a_reason_is_given_unless_all_is_answered(attempts: Sequence[AttemptHistory]) -> None:
    decision = decide(CASES[:8], attempts)
    if not decision.why:
        assert not unanswered(CASES[:8], attempts)
