"""Rendering of runs: the table of report formats, and the two ways in which records become reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from bitgate.core.errors import UsageError, near
from bitgate.core.files import write_whole
from bitgate.results.build_manifest import BuildManifest
from bitgate.results.report.annotations import GitHubReport, GitLabReport
from bitgate.results.report.completeness import not_built
from bitgate.results.report.findings import MissingTarget, RunFinding
from bitgate.results.report.foreign_junit import ForeignJUnit
from bitgate.results.report.junit import JUnitReport
from bitgate.results.report.junit_dialect import STRICT, JUnitDialect
from bitgate.results.report.junit_parts import MergedJUnit
from bitgate.results.report.ledger import PLAN, RESULTS, Ledger, MergedNight, Unmanned, read_night
from bitgate.results.report.markdown import MarkdownReport
from bitgate.results.report.night_reader import NightReader, joined
from bitgate.results.report.page.builder import PageBuilder
from bitgate.results.report.page.html import page
from bitgate.results.report.page.past import RunPast
from bitgate.results.report.report import Report, ReportedRun
from bitgate.results.report.summary import Summary, SummaryBuilder, summarise
from bitgate.results.run_plan import RunPlan

REPORTS: tuple[Report, ...] = (JUnitReport(), MarkdownReport(), GitHubReport(), GitLabReport())
"""Every format that bitgate writes. A new one is a module with a subclass of Report, and a row here."""


PAGE = "index.html"
"""The page of one target's run; that of a merged one is written where it is asked for."""


def report_files(folder: Path) -> list[Path]:
    """Return the files that every run leaves in its folder."""
    return [folder / report.file for report in REPORTS if not report.forge]


def check_forge(name: str) -> None:
    """Raise UsageError with the nearest name if no report is for this forge."""
    if name not in (forges := [report.forge for report in REPORTS if report.forge]):
        raise UsageError(f"--annotate {name}: {near(name, forges)}")


def annotate(summary: Summary, folder: Path, forge: str, echo: Callable[[str], None] = print) -> None:
    """Report a merged run as a forge shows it: a file in ``folder``, or lines that ``echo`` prints."""
    run = ReportedRun((), summary, is_merged=True)
    for report in REPORTS:
        if report.forge == forge:
            report.write(run, folder, echo)


def read_run(out_dir: Path, *, interrupted: bool = False) -> MergedNight:
    """Read the folder of one target's run; the night is empty if the folder has no record and no plan."""
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
    junit: JUnitDialect = STRICT,
) -> Summary:
    """Write the reports of one target's run next to its results.jsonl and plan.json.

    ``notes`` of the run are added for the reader. A caller that has read the folder with ``read_run`` passes ``night``.
    """
    night = night or read_run(out_dir, interrupted=interrupted)
    ledger = ledger_of_run(night, tier, target, notes)
    summary = summarise([ledger], interrupted=interrupted)
    _write_reports(ReportedRun((ledger,), summary, junit=junit), out_dir)
    builder = PageBuilder()
    builder.add(ledger)
    write_whole(out_dir / PAGE, page(builder, summary, RunPast()))
    return summary


def ledger_of_run(night: MergedNight, tier: str, target: str, notes: Sequence[str] = ()) -> Ledger:
    """Return the ledger of one target's run, or of one shard of it."""
    empty = Ledger(target, tier, (), started=_now())
    own = next((ledger for ledger in night.ledgers if ledger.target == target), empty)
    # A shard that runs alone cannot have lost the other shards.
    apart = [finding for finding in own.findings if finding.kind != "LostShard"]
    return replace(own, tier=own.tier or tier, notes=(*own.notes, *notes), findings=(*apart, *night.findings))


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
    unmanned: Unmanned | None = None,
    also: Callable[[Ledger], None] | None = None,
    junit: JUnitDialect = STRICT,
    foreign: Sequence[ForeignJUnit] = (),
    watched: bool = False,
) -> Summary:
    """Merge results of several targets and shards: ``<target>/junit.xml`` each, one junit.xml and one summary.md.

    It takes the memory of the largest shard: files that share no case are read one after the other.

    Parameters
    ----------
    paths
        Results files, or folders that hold some at any depth.
    out_dir
        The folder of the reports.
    expected_targets
        Targets of which one without any result gets an empty ledger, which is red.
    plan
        The plan of the run: each of its cases ends with exactly one verdict, and each verdict must be in it.
    built
        What was built for targets: the verdicts of such a target must be of these libraries.
    absent
        Targets that had no machine: they are reported as skipped.
    unmanned
        Why shards of the plan had no machine: their cases are NOT_RUN.
    findings, notes
        Further findings about the run, and notes for the reader.
    also
        Called with each part that is read, as a page of the run collects its verdicts.
    junit
        The dialect of junit.xml.
    foreign
        JUnit files of other harnesses, which become a part of junit.xml; a failure in them makes the run red.
    watched
        Show a bar on a terminal.
    """
    if plan and (strangers := sorted(set(expected_targets) - set(plan.targets))):
        raise UsageError(
            f"the matrix has {', '.join(strangers)}, which the plan does not have: both must be of one run"
        )
    documents, counting = MergedJUnit(out_dir, junit), SummaryBuilder()
    heads: dict[str, Ledger] = {}
    gone = {one.target for one in absent}
    reader = NightReader(paths, plan, may_be_empty=bool(expected_targets), unmanned=unmanned or {})
    for part in reader.parts(watched):
        if part.target not in gone or part.target in reader.recorded:
            heads[part.target] = joined(heads.get(part.target), part)
            documents.add(part)
            counting.add(part)
            if also:
                also(part)
    for target in (*expected_targets, *(t for t in reader.targets if t not in gone)):
        heads.setdefault(target, Ledger(target, "", (), started=_now()))
    ledgers = tuple(
        replace(head, findings=(*head.findings, *reader.findings_of(head), *not_built(target, head.builds, built)))
        for target, head in sorted(heads.items())
    )
    findings = (*findings, *reader.findings, *(finding for one in foreign for finding in one.findings))
    summary = counting.summary(ledgers, findings, absent=absent, notes=notes, foreign=foreign)
    documents.close(ledgers, [row.target for row in summary.targets if row.compared], findings, absent, foreign)
    _write_reports(ReportedRun(ledgers, summary, True, findings, tuple(absent)), out_dir)
    return summary


def _write_reports(run: ReportedRun, folder: Path) -> None:
    for report in REPORTS:
        if not report.forge:
            report.write(run, folder)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
