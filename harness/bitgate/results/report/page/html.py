"""The page itself: template, style and script in one file, under a policy that allows nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.project import templates
from bitgate.results.record.view import PARTS
from bitgate.results.report.page.builder import MOST_CAUSES, PageBuilder, targets_of
from bitgate.results.report.page.past import RunPast
from bitgate.results.report.page.rows import table
from bitgate.results.report.page.shown import SENTENCE, clean
from bitgate.results.report.summary import Summary

SHOWN = {"causes": MOST_CAUSES, "lines": 200, "others": 500, "side": 40}
"""Causes, lines of a list, rows of the table that is read without JavaScript, and rows and columns of the matrix."""


def write_page(file: Path, builder: PageBuilder, summary: Summary, past: RunPast | None = None) -> None:
    """Write the page of a run; ``past`` is what a history says about it. UsageError if it cannot be written."""
    text = page(builder, summary, past or RunPast())
    try:
        write_whole(file, text)
    except OSError as error:
        raise UsageError(f"--html {file}: cannot be written: {error.strerror or error}") from None


def page(builder: PageBuilder, summary: Summary, past: RunPast) -> str:
    """Return the HTML of a page."""
    folder = templates()
    style, script = ((folder / name).read_text() for name in ("page.css", "page.js"))
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"clean": clean, "sentence": lambda text: clean(text, SENTENCE)}
    rows, left_out = table(builder.rows(past))
    others = list(builder.others(past))
    return environment.get_template("page.html.j2").render(
        summary=summary,
        builder=builder,
        past=past,
        targets=targets_of(builder, [row.target for row in summary.targets]),
        suites=builder.suites[: SHOWN["side"]],
        others=others[: SHOWN["others"]],
        others_count=len(others),
        left_out=left_out,
        shown=SHOWN,
        parts=PARTS,
        rows=Markup(rows),
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page: its own style and script, and nothing from anywhere else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
