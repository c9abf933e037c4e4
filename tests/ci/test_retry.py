"""What runs again and what does not, as a table; and that no attempt can make a red night green."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.lab.ci.retry import TIMES_LONGER, AttemptHistory, Decision, Health, culprits, decide, unanswered
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


@pytest.mark.parametrize("state", [TaskState.LOST, TaskState.ENDED, TaskState.TIMED_OUT])
def test_a_case_without_two_answers_is_given_up(state: TaskState) -> None:
    again = decide(CASES, [tried(state, cases=60), tried(state, "n2", cases=80)])
    assert not again.again
    assert again.why.startswith("ran again, and still 20 cases without an answer")


@pytest.mark.parametrize("state", [TaskState.NODE_FAILED, TaskState.PREEMPTED])
def test_a_lost_node_costs_nothing_while_some_is_answered(state: TaskState) -> None:
    attempts = [tried(state, f"n{count}", cases=count) for count in (20, 40, 60, 80)]
    assert decide(CASES, attempts).only == frozenset(CASES[80:])
    stuck = [*attempts, *[tried(state, "n9", cases=0)] * 2]
    assert decide(CASES, stuck).again
    given_up = decide(CASES, [*stuck, tried(state, "n9", cases=0)])
    assert given_up.why.startswith("3 attempts in a row gave no answer, and still 20 cases without an answer")


def answers(outcomes: dict[str, Outcome]) -> AttemptHistory:
    """An attempt that ended with these outcomes."""
    return AttemptHistory(TaskStatus(TaskState.ENDED, 0, "n1"), outcomes)


def died(
    under_way: Sequence[str], answered: Sequence[str] = (), asked: Sequence[str] = (), **how: Any
) -> AttemptHistory:
    """An attempt that ended with these cases in its black boxes."""
    status = TaskStatus(how.get("state", TaskState.LOST), None, "n1", "its job died of SIGKILL")
    outcomes = dict.fromkeys(answered, Outcome.PASS)
    return AttemptHistory(status, outcomes, asked=frozenset(asked), under_way=frozenset(under_way))


def test_what_was_under_way_runs_last_one_by_one() -> None:
    """A run of four processes dies; the third suspect is the culprit."""
    suspects, others = CASES[10:14], [*CASES[:10], *CASES[14:]]
    attempts = [died(suspects, CASES[:10])]
    first = decide(CASES, attempts)
    assert (first.only, first.in_turn) == (frozenset(CASES[14:]), False)
    attempts.append(answers(dict.fromkeys(first.only, Outcome.PASS)))
    second = decide(CASES, attempts)
    assert (second.only, second.in_turn) == (frozenset(suspects), True)
    attempts.append(died(suspects[2:], suspects[:2], suspects))
    third = decide(CASES, attempts)
    assert (third.only, third.why) == (
        frozenset(suspects[2:3]),
        "1 case last and alone, under way when a run died: case12",
    )
    attempts.append(died(suspects[2:3], (), suspects[2:3]))
    assert culprits(attempts) == frozenset(suspects[2:3])
    assert decide(CASES, attempts).only == frozenset(suspects[3:])
    attempts.append(answers({suspects[3]: Outcome.PASS}))
    assert decide(CASES, attempts) == Decision(False)
    assert not unanswered(others, attempts)


def test_a_suspect_avoids_the_node_it_died_on_alone() -> None:
    """The node that answered the others may be the only one left."""
    lost = replace(died([CASES[10]], CASES[:10]), status=TaskStatus(TaskState.NODE_FAILED, node="n2"))
    others = frozenset(CASES[11:])
    went_well = replace(answers(dict.fromkeys(others, Outcome.PASS)), asked=others)
    decision = decide(CASES, [lost, went_well])
    assert (decision.only, decision.avoid) == (frozenset([CASES[10]]), ("n2",))


def test_a_case_out_of_memory_runs_alone_with_all_of_it() -> None:
    first = replace(tried(case7=Outcome.INFRA), short=frozenset(["case7"]))
    decision = decide(CASES, [first])
    assert (decision.only, decision.alone, decision.in_turn) == (frozenset(["case7"]), True, True)
    again = replace(tried(cases=0, case7=Outcome.INFRA), short=frozenset(["case7"]), asked=decision.only)
    assert decide(CASES, [first, again]).why.startswith("ran again, and still 1 case without an answer")


def test_a_job_out_of_memory_spares_what_was_not_at_fault() -> None:
    attempts = [died([CASES[50]], CASES[:50], state=TaskState.OUT_OF_MEMORY)]
    others = decide(CASES, attempts)
    assert (others.only, others.alone) == (frozenset(CASES[51:]), False)
    attempts.append(answers(dict.fromkeys(others.only, Outcome.PASS)))
    alone = decide(CASES, attempts)
    assert (alone.only, alone.alone) == (frozenset([CASES[50]]), True)


def test_a_shard_whose_runs_all_die_is_unhealthy() -> None:
    attempts = [died([CASES[number]]) for number in range(4)]
    assert decide(CASES, attempts[:3]).again
    assert decide(CASES, attempts).why.startswith("unhealthy on n1: 4 runs died with cases under way")


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
    """Whatever happens: a case is charged twice, each death has a suspect, each excuse an answer."""
    attempts: list[AttemptHistory] = []
    asked = frozenset(CASES[:8])
    while not attempts or (decision := decide(CASES[:8], attempts)).again:
        asked = decision.only or asked if attempts else asked
        outcomes = data.draw(st.dictionaries(st.sampled_from(sorted(asked)), st.sampled_from(Outcome)))
        red = frozenset(i for i, one in outcomes.items() if one is not Outcome.PASS)
        state = data.draw(st.sampled_from([state for state in TaskState if state.over]))
        boxes = data.draw(st.frozensets(st.sampled_from(sorted(asked)), max_size=2))
        only = frozenset() if len(asked) == 8 else asked
        attempts.append(AttemptHistory(TaskStatus(state, 0, "n1"), outcomes, red, asked=only, under_way=boxes))
        assert len(attempts) <= 60


@given(_attempts)
def test_a_reason_is_given_unless_all_is_answered(attempts: Sequence[AttemptHistory]) -> None:
    decision = decide(CASES[:8], attempts)
    if not decision.why:
        assert not unanswered(CASES[:8], attempts)
