"""Steps after a merge: its results in the history, its failures compared with those before, and one notification."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from bitgate.core.errors import UsageError

TRIAGE = "triage.md"
NOTIFY_SECONDS = 20
RUNS = 20
"""Runs of the history that failures are compared with."""


def after_merge(paths: Sequence[Path], out: Path, headline: str, history: str, notify: str) -> int:
    """Remember results, write ``triage.md`` and a part of the summary, and notify. Return 0, or 2 if one failed.

    Without a history, or without a place to notify, that step is left out.
    """
    counts, code = "", 0
    if history:
        counts = _triaged(paths, out, history)
        from bitgate.cli.history import remember

        code = remember(paths, history)
    if notify:
        code = code or _notified(notify, "; ".join(filter(None, (headline, counts))))
    return code


def _triaged(paths: Sequence[Path], out: Path, history: str) -> str:
    """Compare failures with the runs before; return the numbers of new, known and fixed ones."""
    from bitgate.cli.triage import against_history, lines_of
    from bitgate.lab.history.store import opened
    from bitgate.lab.history.triage import runs_of
    from bitgate.results.report.ledger import read_night

    try:
        with opened(history):  # the first night finds an empty one
            pass
        night = read_night(paths, may_be_empty=True)
        lines = lines_of(against_history(night, history, RUNS, runs_of(night), may_be_empty=True))
    except UsageError as error:
        print(f"bitgate: no triage: {error}", file=sys.stderr)
        return ""
    text = "\n".join(["", "## New, known and fixed failures", "", "```", *lines, "```", ""])
    (out / TRIAGE).write_text(text)
    with (out / "summary.md").open("a") as summary:
        summary.write(text)
    print("\n".join(lines), file=sys.stderr)
    return lines[-1]


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
