"""What cases give with no mutant on: by the plain library and by that of mutants, which must agree; and what of the
mutants each case reaches."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from time import monotonic

from bitgate.errors import UsageError
from bitgate.faults.mutation.lanes import Lane, Question, drive, open_lanes
from bitgate.faults.mutation.schema import WATCHING
from bitgate.faults.mutation.trial import Sound
from bitgate.record import Verdict
from bitgate.verify.process import Opening

Say = Callable[[str], None]


def plain_verdicts(questions: Sequence[Question], opening: Opening, jobs: int, say: Say) -> list[Sound]:
    """The cases that are green as the sources are, in their order."""
    with open_lanes(opening, jobs, {}, say) as lanes:
        found = {id(sound.question): sound for part in drive(lanes, _parts(questions, _plain)) for sound in part}
    return [sound for question in questions if (sound := found[id(question)]).verdict.green]


def watched(lanes: Sequence[Lane], plain: Sequence[Sound], family: str) -> list[Sound]:
    """The same cases by the library of mutants, none of them on. UsageError if one differs from the plain library's."""
    questions = {id(sound.question): sound for sound in plain}
    found = []
    for part in drive(lanes, _parts([sound.question for sound in plain], _watched)):
        for sound in part:
            check_same(questions[id(sound.question)].verdict, sound.verdict, family)
            found.append(sound)
    return found


def check_same(plain: Verdict, mutants: Verdict, family: str) -> None:
    def facts(verdict: Verdict) -> tuple[str, str]:
        return verdict.outcome.value, verdict.digest

    if facts(plain) != facts(mutants):
        was, now = (f"{verdict.outcome} {verdict.digest[:12]}".strip() for verdict in (plain, mutants))
        raise UsageError(
            f"{family}: {plain.test or plain.key.case}: {was} by the plain library, {now} by that of mutants with none"
            f" on ({mutants.reason or 'no reason'}): nothing can be learned from it; try another --seed, or report it"
        )


Job = Callable[[Lane], Generator[Question, Verdict, list[Sound]]]


def _parts(
    questions: Sequence[Question], way: Callable[[Lane, Sequence[Question]], Generator[Question, Verdict, list[Sound]]]
) -> list[Job]:
    """A job a problem: its inputs and reference are made once."""
    problems: dict[str, list[Question]] = {}
    for question in questions:
        problems.setdefault(question.planned.case, []).append(question)

    def job(part: Sequence[Question]) -> Job:
        return lambda lane: way(lane, part)

    return [job(part) for part in problems.values()]


def _plain(lane: Lane, questions: Sequence[Question]) -> Generator[Question, Verdict, list[Sound]]:
    found = []
    for question in questions:
        begun = monotonic()
        verdict = yield question
        found.append(Sound(question, verdict, monotonic() - begun))
    return found


def _watched(lane: Lane, questions: Sequence[Question]) -> Generator[Question, Verdict, list[Sound]]:
    found = []
    for question in questions:
        lane.turn(question.planned, WATCHING)
        begun = monotonic()
        verdict = yield question
        found.append(Sound(question, verdict, monotonic() - begun, frozenset(lane.reached(question.planned))))
    return found
