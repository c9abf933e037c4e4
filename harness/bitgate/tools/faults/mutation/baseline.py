"""Verdicts of cases with no mutant on, by the plain library and by that of mutants, and the mutants each case reaches.

Both libraries must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic

from bitgate.core.errors import UsageError
from bitgate.core.progress import TimeLeft
from bitgate.results.record import Verdict
from bitgate.tools.faults.mutation.switch import WATCHING
from bitgate.tools.faults.mutation.switching import Pool, Steps, SwitchedProcess, drive, open_pool
from bitgate.tools.faults.mutation.trial import MeasuredCase
from bitgate.verify.process import CaseRequest, Opening

Say = Callable[[str], None]

TELL_SECONDS = 10.0


def plain_verdicts(questions: Sequence[CaseRequest], opening: Opening, jobs: int, say: Say) -> list[MeasuredCase]:
    """Return the cases with the sources as they are, in their order."""
    with open_pool(opening, jobs, say) as pool:
        parts = _with_progress(drive(pool, _parts(questions, _plain)), len(questions), say)
        found = {id(case.question): case for part in parts for case in part}
    return [found[id(question)] for question in questions]


def watched(pool: Pool, plain: Sequence[MeasuredCase], family: str, say: Say) -> list[MeasuredCase]:
    """Run the same cases by the library of mutants, none of them on.

    Raises UsageError if a verdict differs from the plain library's.
    """
    questions = {id(green_case.question): green_case for green_case in plain}
    found = []
    for part in _with_progress(
        drive(pool, _parts([green_case.question for green_case in plain], _watched)), len(plain), say
    ):
        for green_case in part:
            check_same(questions[id(green_case.question)].verdict, green_case.verdict, family)
            found.append(green_case)
    return found


def measured(pool: Pool, questions: Sequence[CaseRequest], say: Say) -> list[MeasuredCase]:
    """Return the cases by the library of mutants, none of them on, in their order."""
    parts = _with_progress(drive(pool, _parts(questions, _watched)), len(questions), say)
    found = {id(case.question): case for part in parts for case in part}
    return [found[id(question)] for question in questions]


def green(pool: Pool, questions: Sequence[CaseRequest], say: Say) -> list[MeasuredCase]:
    """Return the cases that are green by the library of mutants, none of them on."""
    return [case for case in measured(pool, questions, say) if case.verdict.green]


def _with_progress(parts: Iterable[list[MeasuredCase]], total: int, say: Say) -> Iterator[list[MeasuredCase]]:
    done, reported, left = 0, monotonic(), TimeLeft(total)
    for part in parts:
        done += len(part)
        if monotonic() - reported > TELL_SECONDS:
            reported = monotonic()
            say(f"{done} of {total} cases{left.words(done)}")
        yield part


def check_same(plain: Verdict, mutants: Verdict, family: str) -> None:
    def facts(verdict: Verdict) -> tuple[str, str]:
        return verdict.outcome.value, verdict.digest

    if facts(plain) != facts(mutants):
        was, now = (f"{verdict.outcome} {verdict.digest[:12]}".strip() for verdict in (plain, mutants))
        raise UsageError(
            f"{family}: {plain.test or plain.key.case}: {was} by the plain library, {now} by that of mutants with none"
            f" on ({mutants.reason or 'no reason'}): its verdicts mean nothing; try another --seed, or report it"
        )


Job = Callable[[SwitchedProcess], Steps[list[MeasuredCase]]]


def _parts(
    questions: Sequence[CaseRequest],
    way: Callable[[SwitchedProcess, Sequence[CaseRequest]], Steps[list[MeasuredCase]]],
) -> list[Job]:
    """Return a job for each problem, so that its inputs and reference are made once."""
    problems: dict[str, list[CaseRequest]] = {}
    for question in questions:
        problems.setdefault(question.planned.case, []).append(question)

    def job(part: Sequence[CaseRequest]) -> Job:
        return lambda process: way(process, part)

    return [job(part) for part in problems.values()]


def _plain(process: SwitchedProcess, questions: Sequence[CaseRequest]) -> Steps[list[MeasuredCase]]:
    found = []
    for question in questions:
        begun = monotonic()
        verdict = yield question
        found.append(MeasuredCase(question, verdict, monotonic() - begun))
    return found


def _watched(process: SwitchedProcess, questions: Sequence[CaseRequest]) -> Steps[list[MeasuredCase]]:
    found = []
    for question in questions:
        process.turn(question.planned, WATCHING)
        begun = monotonic()
        verdict = yield question
        found.append(MeasuredCase(question, verdict, monotonic() - begun, frozenset(process.reached(question.planned))))
    return found
