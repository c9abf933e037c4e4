"""What cases give with no mutant on: by the plain library and by that of mutants, which must agree; and what of the
mutants each case reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic

from bitgate.core.errors import UsageError
from bitgate.results.record import Verdict
from bitgate.tools.faults.mutation.schema import WATCHING
from bitgate.tools.faults.mutation.switching import Pool, Steps, SwitchedProcess, drive, open_pool
from bitgate.tools.faults.mutation.trial import Sound
from bitgate.verify.process import CaseRequest, Opening

Say = Callable[[str], None]

TELL_SECONDS = 10.0


def plain_verdicts(questions: Sequence[CaseRequest], opening: Opening, jobs: int, say: Say) -> list[Sound]:
    """The cases that are green as the sources are, in their order."""
    with open_pool(opening, jobs, {}, say) as pool:
        parts = _told(drive(pool, _parts(questions, _plain)), len(questions), say)
        found = {id(sound.question): sound for part in parts for sound in part}
    return [sound for question in questions if (sound := found[id(question)]).verdict.green]


def watched(pool: Pool, plain: Sequence[Sound], family: str, say: Say) -> list[Sound]:
    """The same cases by the library of mutants, none of them on. UsageError if one differs from the plain library's."""
    questions = {id(sound.question): sound for sound in plain}
    found = []
    for part in _told(drive(pool, _parts([sound.question for sound in plain], _watched)), len(plain), say):
        for sound in part:
            check_same(questions[id(sound.question)].verdict, sound.verdict, family)
            found.append(sound)
    return found


def _told(parts: Iterable[list[Sound]], total: int, say: Say) -> Iterator[list[Sound]]:
    done, told = 0, monotonic()
    for part in parts:
        done += len(part)
        if monotonic() - told > TELL_SECONDS:
            told = monotonic()
            say(f"{done} of {total} cases")
        yield part


def check_same(plain: Verdict, mutants: Verdict, family: str) -> None:
    def facts(verdict: Verdict) -> tuple[str, str]:
        return verdict.outcome.value, verdict.digest

    if facts(plain) != facts(mutants):
        was, now = (f"{verdict.outcome} {verdict.digest[:12]}".strip() for verdict in (plain, mutants))
        raise UsageError(
            f"{family}: {plain.test or plain.key.case}: {was} by the plain library, {now} by that of mutants with none"
            f" on ({mutants.reason or 'no reason'}): nothing can be learned from it; try another --seed, or report it"
        )


Job = Callable[[SwitchedProcess], Steps[list[Sound]]]


def _parts(
    questions: Sequence[CaseRequest],
    way: Callable[[SwitchedProcess, Sequence[CaseRequest]], Steps[list[Sound]]],
) -> list[Job]:
    """A job a problem: its inputs and reference are made once."""
    problems: dict[str, list[CaseRequest]] = {}
    for question in questions:
        problems.setdefault(question.planned.case, []).append(question)

    def job(part: Sequence[CaseRequest]) -> Job:
        return lambda process: way(process, part)

    return [job(part) for part in problems.values()]


def _plain(process: SwitchedProcess, questions: Sequence[CaseRequest]) -> Steps[list[Sound]]:
    found = []
    for question in questions:
        begun = monotonic()
        verdict = yield question
        found.append(Sound(question, verdict, monotonic() - begun))
    return found


def _watched(process: SwitchedProcess, questions: Sequence[CaseRequest]) -> Steps[list[Sound]]:
    found = []
    for question in questions:
        process.turn(question.planned, WATCHING)
        begun = monotonic()
        verdict = yield question
        found.append(Sound(question, verdict, monotonic() - begun, frozenset(process.reached(question.planned))))
    return found
