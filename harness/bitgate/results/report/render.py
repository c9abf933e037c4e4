"""Results in, reports out: the two ways in which a run becomes junit.xml and summary.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.project import templates
from bitgate.results.build_manifest import BuildManifest
from bitgate.results.report import junit
from bitgate.results.report.completeness import not_built
from bitgate.results.report.ledger import PLAN, RESULTS, Ledger, MergedNight, read_night
from bitgate.results.report.missing_target import MissingTarget
from bitgate.results.report.run_finding import RunFinding
from bitgate.results.report.summary import Summary, summarise
from bitgate.results.report.text import code, legal, literal, one_line
from bitgate.results.run_plan import RunPlan

JUNIT = "junit.xml"
SUMMARY = "summary.md"

LIMIT = 900 * 1024
"""Bytes of summary.md: GitHub shows 1 MiB a step, and nothing at all of what is longer."""
SHOWN = {"causes": 50, "lines": 200}
"""Causes spelled out in summary.md, and lines of any other list; a whole tier of them would bury the first."""


def read_run(out_dir: Path, *, interrupted: bool = False) -> MergedNight:
    """What stands in the folder of one target's run; nothing if it has no record and no plan."""
    recorded = any((out_dir / name).is_file() for name in (RESULTS, PLAN))
    return read_night([out_dir / RESULTS], interrupted=interrupted) if recorded else MergedNight(())


def render(
    out_dir: Path,
    *,
    tier: str,
    target: str,
    interrupted: bool = False,
    notes: Sequence[str] = (),
    night: MergedNight | None = None,
) -> Summary:
    """Write junit.xml and summary.md of one target's run beside its results.jsonl and plan.json. ``notes`` are the
    run's own, for the reader; ``night`` is what ``read_run`` has found there, for who needs it too."""
    night = night or read_run(out_dir, interrupted=interrupted)
    empty = Ledger(target, tier, (), started=_now())
    own = next((ledger for ledger in night.ledgers if ledger.target == target), empty)
    # One shard of many is all of its own run.
    apart = [finding for finding in own.findings if finding.kind != "LostShard"]
    ledger = replace(own, tier=own.tier or tier, notes=(*own.notes, *notes), findings=(*apart, *night.findings))
    summary = summarise([ledger], interrupted=interrupted)
    junit.write(junit.document(ledger), out_dir / JUNIT)
    _write_summary(summary, out_dir)
    return summary


def merge(
    paths: Sequence[Path],
    out_dir: Path,
    *,
    expected_targets: Sequence[str] = (),
    plan: RunPlan | None = None,
    built: Sequence[BuildManifest] = (),
    absent: Sequence[MissingTarget] = (),
    findings: Sequence[RunFinding] = (),
    notes: Sequence[str] = (),
) -> Summary:
    """Merge results of several targets and shards: ``<target>/junit.xml`` each, one junit.xml and one summary.md.

    A target of ``expected_targets`` without any result gets an empty ledger, which is red. With the plan of the run
    each case of it ends with exactly one verdict, and each verdict must be in it. With what was ``built`` for a target
    its verdicts must be of these libraries. A target of ``absent`` had no
    machine: it is told of, as skipped.
    """
    if plan and (strangers := sorted(set(expected_targets) - set(plan.targets))):
        raise UsageError(
            f"the matrix has {', '.join(strangers)}, which the plan does not have: both must be of one run"
        )
    night = read_night(paths, may_be_empty=bool(expected_targets), plan=plan)
    gone = {one.target for one in absent}
    found = {ledger.target: ledger for ledger in night.ledgers if ledger.target not in gone or ledger.has_results}
    silent = {target: Ledger(target, "", (), started=_now()) for target in expected_targets if target not in found}
    ledgers = [*found.values(), *silent.values()]
    strange = (
        finding
        for ledger in ledgers
        for finding in not_built(ledger.target, (entry.verdict for entry in ledger.entries), built)
    )
    findings = (*findings, *night.findings, *strange)
    files = [out_dir / ledger.target / JUNIT for ledger in ledgers]
    for ledger, file in zip(ledgers, files, strict=True):
        junit.write(junit.document(ledger), file)
    junit.write(junit.merged(files, findings, absent), out_dir / JUNIT)
    summary = summarise(ledgers, findings, absent=absent, notes=notes)
    _write_summary(summary, out_dir)
    return summary


def markdown(summary: Summary) -> str:
    """summary.md as text."""
    environment = Environment(
        loader=FileSystemLoader(templates()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown, not HTML: whatever a record says goes through these filters
    )
    environment.filters |= {"md": literal, "code": code, "line": one_line}
    return _cut(legal(environment.get_template("summary.md.j2").render(summary=summary, shown=SHOWN)))


def _cut(text: str) -> str:
    """At most LIMIT bytes, whole lines, saying that there was more."""
    data = text.encode()
    if len(data) <= LIMIT:
        return text
    note = "\n\n... cut here: the rest is in junit.xml and results.jsonl.\n"
    return data[: LIMIT - len(note)].decode(errors="ignore").rpartition("\n")[0] + note


def _write_summary(summary: Summary, out_dir: Path) -> None:
    write_whole(out_dir / SUMMARY, markdown(summary))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
