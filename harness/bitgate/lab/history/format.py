"""Lines that each command of ``bitgate history`` prints for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from bitgate.results.report.text import columns, counted

if TYPE_CHECKING:
    from bitgate.lab.history.diff import Difference
    from bitgate.lab.history.durations import Duration
    from bitgate.lab.history.first_bad import FirstBad
    from bitgate.lab.history.flaky import Attribution
    from bitgate.lab.history.query import RecordedCase, RecordedRun
    from bitgate.lab.history.root_cause import CandidateCause
    from bitgate.lab.history.series import TrendPoint
    from bitgate.lab.history.timed import LevelShift, TimedSeries

COMMIT = 12
"""Letters of a commit."""
SHOWN = 10
"""Cases that broke together, and machines on which one deviates."""


def format_runs(runs: Sequence[RecordedRun]) -> list[str]:
    header = ("run", "started", "tier", "commit", "verdicts", "red", "unanswered", "targets")
    rows = [
        (
            run.name,
            run.started[:16].replace("T", " "),
            run.tier,
            " ".join(commit[:COMMIT] for commit in run.commits),
            sum(count for _, count in run.targets),
            run.red,
            run.unanswered,
            " ".join(target for target, _ in run.targets),
        )
        for run in runs
    ]
    return columns(header, rows)


def format_trends(trends: Sequence[tuple[RecordedCase, Sequence[TrendPoint]]]) -> Iterator[str]:
    for case, points in trends:
        yield f"{case.case}  {case.words} on {case.target}"
        rows = [
            (
                point.run,
                point.answer.outcome.value + " alone" * point.deviates,
                f"{point.answer.seconds:.4f}",
                point.answer.digest + " changed" * point.changed,
                point.answer.node,
                point.answer.commit[:COMMIT],
            )
            for point in points
        ]
        yield from (f"  {line}" for line in columns(("run", "verdict", "seconds", "digest", "node", "commit"), rows))


def format_first_bad(found: Sequence[FirstBad], between: Sequence[tuple[list[str], int] | None]) -> Iterator[str]:
    """Format first bad runs. ``between`` has the commits of each and their number, where the repository is here."""
    for one, commits in zip(found, between, strict=True):
        yield from _format_first_bad(one)
        lines, count = commits or ([], 0)
        yield from (f"    {line}" for line in lines)
        if count > len(lines):
            yield f"    ... and {count - len(lines)} commits before"


def _format_first_bad(found: FirstBad) -> Iterator[str]:
    once = ", in that run alone so far" if found.once else ""
    yield f"{found.run}: {counted(len(found.cases), 'case')} red since{once}"
    for one in found.cases[:SHOWN]:
        where = f"{one.case.case}  {one.case.words} on {one.case.target}"
        yield f"  {one.bad.outcome}  {where}, {counted(one.reds, 'time')}"
    if len(found.cases) > SHOWN:
        yield f"  ... and {len(found.cases) - SHOWN} more (--json has all)"
    if not found.good_run:
        yield "  no good run of them is known before"
    elif not found.good or not found.bad:
        yield f"  {found.good_run} was the last good run; its records do not say both commits"
    elif found.good == found.bad:
        yield f"  {found.good_run} was the last good run, of the same commit {found.bad[:COMMIT]}: look at the machine"
    else:
        yield f"  {found.good_run} was the last good run: git log {found.good[:COMMIT]}..{found.bad[:COMMIT]}"


def format_blame(found: Attribution, runs: int) -> Iterator[str]:
    counts = ("answers", "deviate", "rate", "score")
    cases = [
        (
            one.case.case,
            one.case.words,
            one.case.target,
            *_counts(one.cause),
            " ".join(f"{node} {count}" for node, count in one.nodes[:SHOWN]),
        )
        for one in found.cases
    ]
    machines = [(one.node, one.why, *_counts(one.cause)) for one in found.machines]
    nights = [(one.run.name, one.target, one.family, *_counts(one.cause)) for one in found.nights]
    for header, rows in (
        (("flaky case", "kernel", "target", *counts, "on"), cases),
        (("bad machine", "why", *counts), machines),
        (("bad night", "target", "kernel", *counts), nights),
    ):
        yield from columns(header, rows) if rows else ()
    said = {"flaky case": cases, "bad machine": machines, "bad night": nights}
    kinds = ", ".join(counted(len(rows), name) for name, rows in said.items())
    yield f"{kinds} in {found.answers} answers of {counted(runs, 'run')}; {found.lone} deviations have no cause"


def _counts(cause: CandidateCause) -> tuple[object, ...]:
    return cause.answers, cause.deviations, f"{cause.rate:.1%}", round(cause.score)


def format_durations(found: Sequence[Duration]) -> list[str]:
    header = ("target", "machine", "case", "kernel", "fill", "runs", "median s", "p95 s", "drift")
    rows = [
        (
            one.target,
            one.machine,
            one.case,
            f"{one.family}.{one.instance}",
            one.fill,
            len(one.samples),
            f"{one.median:.4f}",
            f"{one.p95:.4f}",
            str(one.drift or ""),
        )
        for one in found
    ]
    return columns(header, rows)


def format_timed(
    found: Sequence[TimedSeries], between: Callable[[LevelShift], tuple[list[str], int] | None]
) -> Iterator[str]:
    """Format series, slower ones first, then faster. ``between`` returns a step's commits, where the repository is
    here."""
    ordered = sorted(found, key=lambda one: (one.regression is None, not one.steps, not one.enough))
    rows = [
        (
            one.case.case,
            one.case.words,
            one.case.target,
            one.device,
            one.how,
            len(one.points),
            f"{1e3 * one.levels[-1].seconds:.4g}",
            one.words,
        )
        for one in ordered
        if one.points
    ]
    yield from columns(("case", "kernel", "target", "device", "timed by", "nights", "ms", "says"), rows)
    for one in ordered:
        if one.regression:
            yield from _format_step(one, one.regression, between(one.regression))
    counts = {
        "slower": sum(one.regression is not None for one in found),
        "faster": sum(bool(one.steps) and one.regression is None for one in found),
        "steady": sum(one.enough and not one.steps for one in found),
        "with too little data": sum(not one.enough for one in found),
    }
    yield f"{len(found)} series: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}"


def _format_step(one: TimedSeries, step: LevelShift, commits: tuple[list[str], int] | None) -> Iterator[str]:
    yield f"{one.case.case}  {one.case.words} on {one.device or one.case.target}: {one.words}"
    yield f"  {1e3 * step.before.seconds:.4g} ms before, {1e3 * step.after.seconds:.4g} ms since"
    good, bad = step.commits
    if not good or not bad:
        yield f"  {step.last.run} was the last run before; its records do not say both commits"
    elif good == bad:
        yield f"  {step.last.run} was the last run before, of the same commit {bad[:COMMIT]}: look at the machine"
    else:
        yield f"  {step.last.run} was the last run before: git log {good[:COMMIT]}..{bad[:COMMIT]}"
    lines, count = commits or ([], 0)
    yield from (f"    {line}" for line in lines)
    if count > len(lines):
        yield f"    ... and {count - len(lines)} commits before"


def format_difference(found: Difference) -> Iterator[str]:
    before, after = found.before.name, found.after.name
    rows = [
        (
            one.case.case,
            one.case.words,
            one.target,
            f"{one.before.outcome} {one.before.digest}".rstrip(),
            f"{one.after.outcome} {one.after.digest}".rstrip(),
        )
        for one in found.changes
    ]
    if rows:
        yield from columns(("case", "kernel", "target", before, after), rows)
    only = f"{found.only[0]} in {before} only, {found.only[1]} in {after} only"
    yield f"{len(rows)} differ, {found.same} are the same; {only}"
