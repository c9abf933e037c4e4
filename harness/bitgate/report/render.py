"""Results in, reports out: the two ways in which a run becomes junit.xml and summary.md."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bitgate import rooms
from bitgate.report import junit
from bitgate.report.ledger import PLAN, RESULTS, Ledger, read_ledgers
from bitgate.report.summary import Summary, summarise

JUNIT = "junit.xml"
SUMMARY = "summary.md"

REDS_SHOWN = 50
"""Red verdicts spelled out in summary.md; a whole tier of them would bury the first."""


def render(out_dir: Path, *, tier: str, target: str, interrupted: bool = False) -> Summary:
    """Write junit.xml and summary.md of one target's run beside its results.jsonl and plan.json."""
    recorded = any((out_dir / name).is_file() for name in (RESULTS, PLAN))
    ledgers = read_ledgers([out_dir / RESULTS], interrupted=interrupted) if recorded else ()
    empty = Ledger(target, tier, (), started=_now())
    own = next((ledger for ledger in ledgers if ledger.target == target), empty)
    ledger = replace(own, tier=own.tier or tier)
    summary = summarise([ledger], interrupted=interrupted)
    junit.write(junit.document(ledger, _commit()), out_dir / JUNIT)
    _write_summary(summary, out_dir)
    return summary


def merge(paths: Sequence[Path], out_dir: Path, *, expected_targets: Sequence[str] = ()) -> Summary:
    """Merge results of several targets and shards: ``<target>/junit.xml`` each, one junit.xml and one summary.md.

    A target of ``expected_targets`` without any result gets an empty ledger, which is red.
    """
    ledgers_found = read_ledgers(paths, may_be_empty=bool(expected_targets))
    found = {ledger.target: ledger for ledger in ledgers_found}
    absent = {target: Ledger(target, "", (), started=_now()) for target in expected_targets if target not in found}
    ledgers = [*found.values(), *absent.values()]
    files = [out_dir / ledger.target / JUNIT for ledger in ledgers]
    for ledger, file in zip(ledgers, files, strict=True):
        junit.write(junit.document(ledger), file)
    junit.write(junit.merged(files), out_dir / JUNIT)
    summary = summarise(ledgers)
    _write_summary(summary, out_dir)
    return summary


def markdown(summary: Summary) -> str:
    """summary.md as text."""
    templates = Environment(
        loader=FileSystemLoader(rooms.room("reports") / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown, not HTML; cells are escaped by the filter below
    )
    templates.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return templates.get_template("summary.md.j2").render(summary=summary, shown=REDS_SHOWN)


def _write_summary(summary: Summary, out_dir: Path) -> None:
    out_dir.mkdir(parents=True, exist_ok=True)
    (out_dir / SUMMARY).write_text(markdown(summary))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _commit() -> str:
    """The commit of the checkout that has just run; empty if it is none, or if there is no git to ask."""
    try:
        command = ["git", "-C", str(rooms.root()), "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
