"""summary.md: the report of a run that forges show on a job's page."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bitgate.core.project import templates
from bitgate.results.report.report import Report, ReportedRun
from bitgate.results.report.since import SinceLast
from bitgate.results.report.summary import Summary
from bitgate.results.report.text import code, legal, literal, one_line

LIMIT = 900 * 1024
"""Bytes of summary.md: GitHub shows 1 MiB a step, and nothing at all of a longer file."""
SHOWN = {"causes": 50, "lines": 200, "glance": 10, "targets": 12, "facts": 60}
"""Causes spelled out, lines of any other list (a whole tier of them would bury the first), lines of what is seen at a
glance, columns of the matrix, and facts of a target's environment."""


class MarkdownReport(Report):
    """The report of a run in Markdown, rendered from ``summary.md.j2``."""

    file = "summary.md"

    def text(self, run: ReportedRun) -> str:
        return markdown(run.summary)


def markdown(summary: Summary, since: SinceLast | None = None) -> str:
    """Return the text of summary.md; ``since`` is what a history says of the failures."""
    environment = Environment(
        loader=FileSystemLoader(templates()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown, not HTML: all text of a record passes these filters
    )
    environment.filters |= {"md": literal, "code": code, "line": one_line}
    return _cut(legal(environment.get_template("summary.md.j2").render(summary=summary, since=since, shown=SHOWN)))


def _cut(text: str) -> str:
    """Return whole lines of at most LIMIT bytes, with a note that there was more."""
    data = text.encode()
    if len(data) <= LIMIT:
        return text
    note = "\n\n... cut here: the rest is in junit.xml and results.jsonl.\n"
    return data[: LIMIT - len(note)].decode(errors="ignore").rpartition("\n")[0] + note
