"""The style that all pages share: their templates, and a policy that allows a page's own style and script alone."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.project import templates
from bitgate.results.report.page.shown import SENTENCE, clean


class House(NamedTuple):
    """The parts of a page that ``house.html.j2`` writes: style, script (empty for none), and the policy for both."""

    style: Markup
    script: Markup
    policy: str


def render(template: str, *, styles: Sequence[str] = (), script: str = "", **values: object) -> str:
    """Return a page. ``styles`` are files of style after the one that all pages share, ``script`` names a script."""
    return environment().get_template(template).render(house=_house(tuple(styles), script), **values)


def write_page(file: Path, text: str) -> None:
    """Write a page as a whole. UsageError if it cannot be written."""
    try:
        write_whole(file, text)
    except OSError as error:
        raise UsageError(f"--html {file}: cannot be written: {error.strerror or error}") from None


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page: its own style and script, and nothing from anywhere else."""
    allowed = f"script-src {_hash(script)}; " if script else ""
    return f"default-src 'none'; style-src {_hash(style)}; {allowed}base-uri 'none'; form-action 'none'"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates, whose values are escaped; the filters ``clean`` and ``sentence`` bound a record's text."""
    made = Environment(
        loader=FileSystemLoader(templates()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"clean": clean, "sentence": lambda text: clean(text, SENTENCE)}
    return made


@lru_cache(maxsize=8)
def _house(styles: tuple[str, ...], script: str) -> House:
    folder = templates()
    style = "".join((folder / name).read_text() for name in ("page.css", *styles))
    code = (folder / script).read_text() if script else ""
    return House(Markup(style), Markup(code), policy(style, code))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
