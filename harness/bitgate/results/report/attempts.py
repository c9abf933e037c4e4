"""Attempts at one case, put in order by their stamps, and the one verdict that follows from them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from bitgate.results.record import UNKNOWN, Diagnosis, Outcome, Verdict, to_event

_EVER = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class AttemptEntry:
    """The final verdict on one key and test, with the outcomes of ``earlier`` attempts, oldest first."""

    verdict: Verdict
    earlier: tuple[Outcome, ...] = ()

    @property
    def changed(self) -> bool:
        """True if an earlier attempt ended otherwise: its input had the same bits, so that is a finding itself."""
        return any(outcome is not self.verdict.outcome for outcome in self.earlier)


@dataclass(frozen=True)
class SettledVerdict:
    """The entry that attempts amount to, and the jobs that made them.

    ``job`` gave the last verdict; ``rivals`` are jobs whose order is unknown.
    """

    entry: AttemptEntry
    job: int
    rivals: frozenset[int]


@dataclass(frozen=True)
class JobAttempt:
    """A verdict with its line in a file. ``job`` is equal for files that one job wrote, or continued to write."""

    verdict: Verdict
    job: int
    line: int


def settle(tries: Sequence[JobAttempt]) -> SettledVerdict:
    """Return the one verdict that all attempts at a case amount to."""
    if len(tries) == 1:
        return SettledVerdict(AttemptEntry(tries[0].verdict), tries[0].job, frozenset())
    once = _once(tries)
    rivals = _rivals(once)
    ordered = _ordered(once)
    verdicts = [attempt.verdict for attempt in ordered]
    final = _of_one_mind(verdicts)
    entry = AttemptEntry(final, tuple(verdict.outcome for verdict in verdicts[:-1]))
    return SettledVerdict(entry, ordered[-1].job, rivals)


def _once(tries: Sequence[JobAttempt]) -> list[JobAttempt]:
    """Return the attempts without copies.

    Verdicts that one job wrote at one time are copies of each other, however many files hold them. A verdict that
    answers otherwise is no copy, whatever its stamp.
    """
    seen: dict[object, JobAttempt] = {}
    for number, one in enumerate(tries):
        stamp = one.verdict.run
        copied = (stamp, one.job, one.verdict.green, *_answer(one.verdict))
        seen.setdefault(copied if stamp and stamp.job else number, one)
    return list(seen.values())


def _rivals(tries: Sequence[JobAttempt]) -> frozenset[int]:
    jobs: dict[int, set[int]] = defaultdict(set)
    for one in tries:
        jobs[one.job].add(one.verdict.run.attempt if one.verdict.run else 0)
    if len(jobs) < 2:
        return frozenset()
    ids = {one.verdict.run.id if one.verdict.run else None for one in tries}
    counted = sum(len(attempts) for attempts in jobs.values())
    in_order = len(ids) == 1 and None not in ids and len(set().union(*jobs.values())) == counted
    return frozenset() if in_order else frozenset(jobs)


def _ordered(tries: Sequence[JobAttempt]) -> list[JobAttempt]:
    """Sort by run, attempt and time; lines older than stamps come first, in the order of their file."""
    begun: dict[str, datetime] = {}
    for one in tries:
        if stamp := one.verdict.run:
            begun[stamp.id] = min(stamp.instant, begun.get(stamp.id, stamp.instant))

    def place(one: JobAttempt) -> tuple[Any, ...]:
        stamp = one.verdict.run
        age = (begun[stamp.id], stamp.id, stamp.attempt, stamp.instant) if stamp else (_EVER, "", 0, _EVER)
        # If all of that is equal, neither the order of files nor their names may decide.
        return (*age, one.line, json.dumps(to_event(one.verdict), sort_keys=True, default=str))

    return sorted(tries, key=place)


def _of_one_mind(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the last verdict; NONDETERMINISTIC if it is green and the same build answered otherwise before.

    An attempt that did not run withdraws no finding, and a green attempt withdraws no answer.
    """
    final = verdicts[-1]
    answers = [verdict for verdict in verdicts if not verdict.outcome.is_unanswered]
    if final.outcome.is_unanswered and answers and not answers[-1].green:
        return answers[-1]
    if not final.green or not answers:
        return final
    last = answers[-1]
    same = [verdict for verdict in answers if _is_comparable(verdict, last)]
    if len({_answer(verdict) for verdict in same}) == 1:
        return final if last.green else last
    reason = f"the answer changed between attempts of one build: {', then '.join(map(_format_answer, same))}"
    return replace(last, outcome=Outcome.NONDETERMINISTIC, reason=reason, diagnosis=Diagnosis(("race",), reason, {}))


def _is_comparable(verdict: Verdict, last: Verdict) -> bool:
    """Return whether two verdicts can contradict each other: they are of one build.

    A case whose process died, or had to be ended, names no build: within one run it is that of its other attempts.
    Between two runs the test may have been edited, which says nothing about bits. A verdict of another run is therefore
    left out if the test alone made it red.
    """
    same_run = verdict.run and last.run and verdict.run.id == last.run.id
    builds = {one.fingerprint.get("build", UNKNOWN) for one in (verdict, last)}
    has_no_build = Outcome.BUILD_FAILED in (verdict.outcome, last.outcome)
    if len(builds - {UNKNOWN} if same_run and not has_no_build else builds) > 1:
        return False
    return bool(same_run) or not verdict.reason.startswith("the verdict alone was PASS, but ")


def _answer(verdict: Verdict) -> tuple[Outcome, str]:
    return verdict.outcome, verdict.digest if verdict.outcome is Outcome.PASS else ""


def _format_answer(verdict: Verdict) -> str:
    attempt = f" in attempt {verdict.run.attempt}" if verdict.run else ""
    return f"{verdict.outcome}{attempt}" + (f" ({verdict.digest})" if verdict.outcome is Outcome.PASS else "")


def jobs_of(files: Iterable[frozenset[tuple[str, str]]]) -> list[int]:
    """Return a number for each file, equal for files that hold verdicts of one job: a copy, or a continued record."""
    numbers: list[int] = []
    owner: dict[tuple[str, str], int] = {}
    for number, jobs in enumerate(files):
        known = sorted({owner[job] for job in jobs if job in owner})
        mine = known[0] if known else number
        for other in known[1:]:  # this file links two that seemed to belong to different jobs
            numbers = [mine if old == other else old for old in numbers]
            owner = {job: mine if old == other else old for job, old in owner.items()}
        numbers.append(mine)
        owner |= dict.fromkeys(jobs, mine)
    return numbers
