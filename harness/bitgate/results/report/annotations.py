"""What a merged run says in the place where its forge shows it: lines for GitHub, a code quality report for GitLab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from bitgate.results.report.summary import Summary

SHOWN = 10
"""GitHub shows as many errors of a step."""
QUALITY = "codequality.json"
ANNOTATED = ("github", "gitlab")


class Remark(NamedTuple):
    """``file`` and ``line`` of a table's row; empty and 1 where there is none."""

    title: str
    text: str
    file: str = ""
    line: int = 1


def remarks(summary: Summary) -> list[Remark]:
    """Each cause once, the run's own faults first."""
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
        title = f"{red.outcome} on {red.target}, {red.kernel}"
        yield Remark(title, f"{red.sentence}{more}{again}", file, int(line) if line.isdigit() else 1)


def github_lines(summary: Summary) -> list[str]:
    """Workflow commands: an error each for the first of the remarks, a warning each for targets without a machine."""
    found = remarks(summary)
    lines = [command("error", remark) for remark in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"... and {len(found) - SHOWN} more, in the summary")
    return [*lines, *(command("warning", Remark(f"{one.target} did not run", one.reason)) for one in summary.absent)]


def command(kind: str, remark: Remark) -> str:
    """A workflow command of GitHub's: ``kind`` is error, warning or notice."""
    place = f"file={_property(remark.file)},line={remark.line}," if remark.file else ""
    return f"::{kind} {place}title={_property(remark.title)}::{_data(remark.text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_quality(summary: Summary, folder: Path) -> Path:
    """GitLab's code quality report: a list of issues, each with a fingerprint that the next run gives it again."""
    issues = [
        {
            "description": f"{remark.title}: {remark.text}",
            "check_name": remark.title,
            "fingerprint": sha256(f"{remark.title}\0{remark.file}\0{remark.line}".encode()).hexdigest(),
            "severity": "critical",
            "location": {"path": remark.file or "ci/targets.toml", "lines": {"begin": remark.line}},
        }
        for remark in remarks(summary)
    ]
    path = folder / QUALITY
    path.write_text(json.dumps(issues, indent=1) + "\n")
    return path
