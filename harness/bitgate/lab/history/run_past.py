"""The past of a run's failures in a history: new, known or flaky, since when, and the commits between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from sqlalchemy import Connection

from bitgate.lab.history import query
from bitgate.lab.history.first_bad import RegressedCase, commit_of, first_bad
from bitgate.lab.history.flaky import root_causes
from bitgate.lab.history.query import RecordedCase, RecordedRun
from bitgate.lab.history.series import RunAnswer
from bitgate.results.record import Key
from bitgate.results.report.page.past import CasePast, FixedCase, RunPast, TestedKey

Between = Callable[[str, str], "tuple[list[str], int] | None"]
"""The newest commits between two, and their number; None where the repository does not have both."""
TOGETHER = 500
"""Cases that are asked for at once."""
CASES = 100_000
"""Red cases that are looked up; a history of more says the same of them."""


def run_past(
    connection: Connection,
    runs: Sequence[RecordedRun],
    reds: Iterable[tuple[TestedKey, str]],
    is_green: Callable[[TestedKey], bool],
    *,
    but: Iterable[str] = (),
    commits: Sequence[str] = (),
    between: Between = lambda good, bad: None,
    against: str = "",
) -> RunPast:
    """Return the past of a run's red cases, and the cases that it fixed.

    ``but`` names the run itself, which the history may hold already; ``commits`` are those of the run.
    """
    skipped = set(but)
    earlier = [run for run in runs if run.name not in skipped]
    names = {run.number: run.name for run in earlier}
    causes = root_causes(connection, earlier)
    flaky = causes.flaky
    regressed = {
        (one.case.number, one.case.target): one
        for found in first_bad(connection, earlier, known=causes)
        for one in found.cases
    }
    current = commits[0].removesuffix("-dirty") if len(commits) == 1 else ""
    asked = dict(list(reds)[:CASES])
    looking = lru_cache(maxsize=256)(between)
    found: dict[TestedKey, CasePast] = {key: CasePast("new") for key in asked}
    fixed: list[FixedCase] = []
    for case, recorded in _series(connection, earlier, sorted({key.case for key, _ in asked})):
        answers = [answer for answer in recorded if not answer.outcome.is_unanswered]
        if not answers:
            continue
        key = Key.of(case.as_json()), case.test
        if key in asked:
            is_flaky = (case.number, case.target) in flaky
            past = _past(answers, asked[key], is_flaky, regressed.get((case.number, case.target)), names, current)
            found[key] = _with_commits(past, looking)
        elif not answers[-1].green and is_green(key):
            fixed.append(_fixed(case, answers[-1], names))
    return RunPast(against, found, tuple(fixed))


def _series(
    connection: Connection, runs: Sequence[RecordedRun], names: Sequence[str]
) -> Iterator[tuple[RecordedCase, list[RunAnswer]]]:
    """Yield the past of all cases that were ever red, and that of these, which may have been green up to now."""
    seen = set()
    for case, recorded in query.series(connection, runs, mixed_only=True):
        seen.add((case.number, case.target))
        yield case, recorded
    for first in range(0, len(names), TOGETHER):
        for case, recorded in query.series(connection, runs, names=names[first : first + TOGETHER]):
            if (case.number, case.target) not in seen:
                yield case, recorded


def _past(
    answers: Sequence[RunAnswer],
    outcome: str,
    is_flaky: bool,
    regressed: RegressedCase | None,
    names: dict[int, str],
    current: str,
) -> CasePast:
    last = answers[-1]
    state = "flaky" if is_flaky else "known" if not last.green and last.outcome.value == outcome else "new"
    if last.green:
        return CasePast(state, "", names[last.run], commit_of(last), current)
    first = len(answers) - 1
    while first and not answers[first - 1].green:
        first -= 1
    bad = regressed.bad if regressed else answers[first]
    good = regressed.good if regressed else answers[first - 1] if first else None
    return CasePast(state, names[bad.run], names[good.run] if good else "", commit_of(good), commit_of(bad))


def _with_commits(past: CasePast, between: Between) -> CasePast:
    if not past.good or not past.bad or past.good == past.bad:
        return past
    lines, count = between(past.good, past.bad) or ([], 0)
    return CasePast(past.state, past.since, past.good_run, past.good, past.bad, tuple(lines), count)


def _fixed(case: RecordedCase, last: RunAnswer, names: dict[int, str]) -> FixedCase:
    return FixedCase(case.case, case.words, case.target, last.outcome.value, names[last.run])
