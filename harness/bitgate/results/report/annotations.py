"""Annotations of a merged run for the pages of a forge: GitHub's workflow commands, GitLab's code quality report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from bitgate.core.untrusted import printable
from bitgate.results.report.report import Report, ReportedRun
from bitgate.results.report.summary import Summary
from bitgate.results.report.text import capped, legal

SHOWN = 10
"""Errors of a step that GitHub shows."""
TITLE, TEXT = 1000, 4000
"""Bytes of an annotation's file and title, and of its text."""


class Remark(NamedTuple):
    """One finding that a forge shows; ``file`` and ``line`` are a table's row, empty and 1 where there is none."""

    title: str
    text: str
    file: str = ""
    line: int = 1


class GitHubReport(Report):
    """Workflow commands of GitHub: an error for each of the first remarks, a warning for each missing target."""

    forge = "github"

    def text(self, run: ReportedRun) -> str:
        found = remarks(run.summary)
        lines = [command("error", remark) for remark in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(f"... and {len(found) - SHOWN} more, in the summary")
        absent = (Remark(f"{one.target} did not run", one.reason) for one in run.summary.absent)
        return "\n".join([*lines, *(command("warning", remark) for remark in absent)])


class GitLabReport(Report):
    """GitLab's code quality report: a list of issues, each with a fingerprint that stays the same from run to run."""

    forge = "gitlab"
    file = "codequality.json"

    def text(self, run: ReportedRun) -> str:
        issues = [
            {
                "description": f"{remark.title}: {remark.text}",
                "check_name": remark.title,
                "fingerprint": sha256(f"{remark.title}\0{remark.file}\0{remark.line}".encode()).hexdigest(),
                "severity": "critical",
                "location": {"path": remark.file or "ci/targets.toml", "lines": {"begin": remark.line}},
            }
            for remark in remarks(run.summary)
        ]
        return json.dumps(issues, indent=1) + "\n"


def remarks(summary: Summary) -> list[Remark]:
    """Return a remark for each cause, the run's own faults first."""
    return [*_of_run(summary), *_of_causes(summary)]


def _of_run(summary: Summary) -> Iterator[Remark]:
    for finding in summary.findings:
        yield Remark(finding.kind, finding.sentence)
    for row in summary.targets:
        if not row.compared:
            yield Remark("NothingCompared", f"nothing was compared on {row.target}")


def _of_causes(summary: Summary) -> Iterator[Remark]:
    for cause in summary.causes:
        red = cause.first
        file, _, line = red.row.rpartition(":")
        more = f" ({cause.count} cases, the first is {red.case})" if cause.count > 1 else f" ({red.case})"
        again = f"\n{red.repro}" if red.repro else ""
        shared = "".join(f"\n{one.sentence}" for one in summary.conditions_of(red.cause, red.target))
        title = f"{red.outcome} on {red.target}, {red.kernel}"
        yield Remark(title, f"{red.sentence}{more}{shared}{again}", file, int(line) if line.isdigit() else 1)


def command(kind: str, remark: Remark) -> str:
    """Return a workflow command of GitHub's; ``kind`` is error, warning or notice."""
    place = f"file={_property(remark.file)},line={remark.line}," if remark.file else ""
    return f"::{kind} {place}title={_property(remark.title)}::{_data(remark.text)}"


def on_github(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process is a step of GitHub Actions, which reads commands in its output."""
    return environment.get("GITHUB_ACTIONS") == "true"


def _data(text: str, limit: int = TEXT) -> str:
    return capped(printable(legal(text.replace("\r", "\n"))), limit).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text, TITLE).replace(":", "%3A").replace(",", "%2C")
