"""``bitgate triage``: which failures of a run are new, which are known, and what is fixed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.history import Last, Url
from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable
from bitgate.results.report.cause import cause_of
from bitgate.results.report.text import counted, legal

if TYPE_CHECKING:
    from bitgate.lab.history.triage import Triage
    from bitgate.results.report.failure_conditions import FailureCondition
    from bitgate.results.report.ledger import MergedNight
    from bitgate.results.report.summary import FailureGroup
    from bitgate.suite.known_bug_entry import Excuse

app = typer.Typer(add_completion=False)

MOST = 3000
"""Characters of a line."""


@app.command()
def triage(
    record: Annotated[list[Path], typer.Argument(metavar="RECORD...", help="Read results files, or folders of them.")],
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="RECORD", help="Compare with this run's results; repeatable [the history]."),
    ] = None,
    url: Url = "",
    last: Last = 20,
    cause: Annotated[
        str, typer.Option(metavar="ID", help="Choose the failures of this cause [the only new one].")
    ] = "",
    issue: Annotated[bool, typer.Option("--issue", help="Print the text of an issue about a cause.")] = False,
    ledger: Annotated[Path | None, typer.Option(metavar="FILE", help="Add a cause to a ledger of known bugs.")] = None,
    owner: Annotated[str, typer.Option(help="Name who fixes it, for --ledger.")] = "",
    ticket: Annotated[str, typer.Option(help="Name where it is written down, for --ledger.")] = "",
    expires: Annotated[str, typer.Option(metavar="DATE", help="Excuse it through this day, for --ledger.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Report which failures are new, known or fixed.

    A failure is known if the last answer of its case, on its target, was red in the same way. Green cases whose digest
    changed are listed too. Ends with 1 if one is
    new or something is wrong with the run itself, 0 if not, 3 if nothing was compared. With --issue or --ledger it
    ends with 0 once that is written.
    """
    from bitgate.lab.history.triage import of_record, runs_of
    from bitgate.lab.history.triage import triage as sort_out
    from bitgate.results.report.ledger import read_night

    night = read_night(record)
    if against:
        found = sort_out(night, of_record(against), ", ".join(map(str, against)))
    else:
        found = against_history(night, url, last, runs_of(night))
    if issue or ledger or cause:
        return _act(night, found, cause, issue, ledger, (owner, ticket, expires), as_json)
    if owner or ticket or expires:
        raise UsageError("--owner, --ticket and --expires are for an entry: give --ledger FILE too")
    if as_json:
        print(json.dumps({"triage": _json(found)}))
    else:
        print("\n".join(lines_of(found)))
    return found.exit_code


def _act(
    night: MergedNight,
    found: Triage,
    cause: str,
    issue: bool,
    ledger: Path | None,
    words: tuple[str, str, str],
    as_json: bool,
) -> int:
    """Print an issue about a cause, or add it to a ledger; return 0."""
    from bitgate.results.report.issue import issue_text

    if as_json:
        raise UsageError("--json: of the triage alone: leave --issue, --ledger and --cause out")
    if not (issue or ledger):
        raise UsageError("--cause: say what to do with it: give --issue, --ledger FILE or both")
    chosen, state = _chosen(found, cause)
    verdicts = [
        entry.verdict
        for one in night.ledgers
        for entry in one.entries
        if not entry.verdict.green and cause_of(entry.verdict).id == chosen
    ]
    if ledger:
        from bitgate.suite.known_bug_entry import add_entries

        count = add_entries(ledger, verdicts, _excuse(*words))
        print(
            f"{ledger}: {counted(len(verdicts), 'failure')} of cause {chosen} in {count} new [[known_bug]]",
            file=sys.stderr,
        )
    if issue:
        shared = [one.line for one in found.conditions if one.covers(cause_of(verdicts[0]))]
        print(issue_text(verdicts, state, shared), end="")
    return 0


def _chosen(found: Triage, cause: str) -> tuple[str, str]:
    """Return the id of the chosen cause, and whether it is new or known. UsageError lists those that there are."""
    states = {one.first.cause.id: "known" for one in found.known}
    states |= {one.first.cause.id: "new" for one in found.new}
    if cause in states:
        return cause, states[cause]
    new = [name for name, state in states.items() if state == "new"]
    if not cause and len(new) == 1:
        return new[0], "new"
    known = ", ".join(f"{name} ({state})" for name, state in states.items()) or "none: nothing failed"
    raise UsageError(
        f"--cause {cause}: name one of the causes: {known}" if cause else f"give --cause ID, one of {known}"
    )


def _excuse(owner: str, ticket: str, expires: str) -> Excuse:
    from bitgate.suite.known_bug_entry import Excuse

    stated = {"--owner": owner, "--ticket": ticket, "--expires": expires}
    if missing := [name for name, value in stated.items() if not value.strip()]:
        raise UsageError(f"--ledger: give {', '.join(missing)} too: who fixes it, where it is written down, until when")
    try:
        day = date.fromisoformat(expires)
    except ValueError:
        raise UsageError(f"--expires {expires}: no date such as 2030-01-31") from None
    if day < datetime.now(timezone.utc).date():
        raise UsageError(f"--expires {expires}: is past: such an entry excuses nothing")
    return Excuse(owner, ticket, day)


def lines_of(found: Triage) -> list[str]:
    """Format a triage; the last line has the numbers."""
    lines = []
    for what, causes in (("new", found.new), ("known", found.known)):
        lines += _lines(what, causes, found.conditions)
    for verdict, was in found.fixed[:20]:
        lines.append(f"fixed  {verdict.key.case}  {verdict.key.name} on {verdict.key.target}: was {was.outcome}")
    if len(found.fixed) > 20:
        lines.append(f"       ... and {len(found.fixed) - 20} more")
    for verdict, was in found.changed[:20]:
        key = verdict.key
        lines.append(f"other  {key.case}  {key.name} on {key.target}: digest {verdict.digest}, was {was.digest}")
    if len(found.changed) > 20:
        lines.append(f"       ... and {len(found.changed) - 20} more")
    for finding in found.findings:
        lines.append(f"run    {finding}")
    counts = {"new": _count(found.new), "known": _count(found.known), "fixed": len(found.fixed)}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    unseen = f" ({found.unseen} of cases never seen before)" if found.unseen else ""
    other = f", {len(found.changed)} green with other digests" if found.changed else ""
    lines.append(f"{said}{unseen}{other}; against {found.against}")
    return [printable(" ".join(legal(line[:MOST]).splitlines())) for line in lines]


def against_history(night: Any, url: str, last: int, skipped: set[str], *, may_be_empty: bool = False) -> Triage:
    from bitgate.lab.history.query import last_runs
    from bitgate.lab.history.store import opened
    from bitgate.lab.history.triage import of_history
    from bitgate.lab.history.triage import triage as sort_out

    with opened(url, must_exist=True) as store, store.reading() as connection:
        # The run itself may be among them, once for each of its ids.
        chosen = last_runs(connection, last + len(skipped), may_be_empty=may_be_empty)
        before = of_history(connection, chosen, skipped)
        return sort_out(night, before, f"{len(chosen)} runs of {store.name}")


def _lines(what: str, causes: Sequence[FailureGroup], conditions: Sequence[FailureCondition]) -> list[str]:
    lines = []
    for cause in causes:
        red = cause.first
        kind = f" {red.kinds[0]}" if red.kinds else ""
        options = f" {red.options}" if red.options else ""
        lines.append(f"{what:<5}  {cause.count} x {red.outcome}{kind} on {red.target}: {red.sentence}")
        lines.append(f"       cause {red.cause.id}")
        shared = (one.sentence for one in conditions if one.target == red.target and one.covers(red.cause))
        lines += [f"       {sentence}" for sentence in shared]
        lines.append(f"       {red.case}  {red.kernel}{options}")
        if red.repro:
            lines.append(f"       again: {red.repro}")
    return lines


def _json(found: Triage) -> dict[str, Any]:
    def causes(group: Sequence[FailureGroup]) -> list[dict[str, Any]]:
        return [
            {
                "count": one.count,
                "verdict": one.first.outcome.value,
                "cause": one.first.cause.id,
                "kinds": list(one.first.kinds),
                "target": one.first.target,
                "kernel": one.first.kernel,
                "case": one.first.case,
                "sentence": one.first.sentence,
                "repro": one.first.repro,
            }
            for one in group
        ]

    return {
        "new": causes(found.new),
        "known": causes(found.known),
        "fixed": [{**verdict.key.fields(), "was": was.outcome.value, "run": was.run} for verdict, was in found.fixed],
        "changed": [
            {**verdict.key.fields(), "digest": verdict.digest, "was": was.digest, "run": was.run}
            for verdict, was in found.changed
        ],
        "conditions": [one.as_json() for one in found.conditions],
        "findings": list(found.findings),
        "unseen": found.unseen,
        "against": found.against,
    }


def _count(causes: Sequence[FailureGroup]) -> int:
    return sum(cause.count for cause in causes)
