"""Steps after a merge: its results in the history, its failures compared with those before, and one notification."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import Request, urlopen

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole

if TYPE_CHECKING:
    from bitgate.lab.history.triage import Triage
    from bitgate.results.report.summary import Summary

TRIAGE = "triage.md"
NOTIFY_SECONDS = 20
RUNS = 20
"""Runs of the history that failures are compared with."""


def after_merge(paths: Sequence[Path], out: Path, summary: Summary, history: str, notify: str) -> int:
    """Remember results, write ``triage.md`` and a part of the summary, and notify. Return 0, or 2 if one failed.

    Without a history, or without a place to notify, that step is left out.
    """
    counts, code = "", 0
    if history:
        counts = _triaged(paths, out, summary, history)
        from bitgate.cli.history import remember

        code = remember(paths, history)
    if notify:
        code = code or _notified(notify, "; ".join(filter(None, (summary.headline, counts))))
    return code


def _triaged(paths: Sequence[Path], out: Path, summary: Summary, history: str) -> str:
    """Compare failures with the runs before; return the numbers of new, known and fixed ones."""
    from bitgate.cli.triage import lines_of
    from bitgate.lab.history.store import opened

    try:
        with opened(history):  # the first night finds an empty one
            pass
        lines = lines_of(show_past(paths, out, summary, history))
    except UsageError as error:
        print(f"bitgate: no triage: {error}", file=sys.stderr)
        return ""
    print("\n".join(lines), file=sys.stderr)
    return lines[-1]


def show_past(paths: Sequence[Path], out: Path, summary: Summary, history: str) -> Triage:
    """Compare failures with a history, and write ``triage.md`` and the summary with what it says of them."""
    from bitgate.cli.triage import against_history, lines_of
    from bitgate.lab.history.triage import runs_of
    from bitgate.results.report.ledger import read_night
    from bitgate.results.report.markdown import markdown
    from bitgate.results.report.text import one_line

    night = read_night(paths, may_be_empty=True)
    found = against_history(night, history, RUNS, runs_of(night), may_be_empty=True)
    lines = lines_of(found)
    shown = "\n".join(f"    {one_line(line, 2000)}" for line in lines)
    write_whole(out / TRIAGE, f"\n## New, known and fixed failures\n\n{shown}\n")
    write_whole(out / "summary.md", markdown(summary, found.since(lines[-1])))
    return found


def _notified(url: str, text: str) -> int:
    """Post the text as chat systems take it. Return 0, or 2 with a line if that fails."""
    try:
        if not url.startswith(("https://", "http://")):
            raise ValueError("write an http or https URL")
        asked = Request(url, json.dumps({"text": f"bitgate: {text}"}).encode(), {"Content-Type": "application/json"})
        with urlopen(asked, timeout=NOTIFY_SECONDS):
            return 0
    except (URLError, OSError, ValueError) as error:
        print(f"bitgate: --notify: not notified: {error}", file=sys.stderr)
        return 2
