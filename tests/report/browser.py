"""Pages in a real browser: what they consist of once their script has run, how wide they are, what axe-core finds."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from tests.report.pages import Node, Page

PHONE = 390
"""Pixels of a narrow screen; the browser's own windows are wider, so that pages are looked at in a frame."""
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")

LOOKS = """
addEventListener("load", async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  const findings = serious.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
  const width = document.documentElement.scrollWidth;
  parent.postMessage(JSON.stringify({ findings, width, checks: found.passes.length }), "*");
});
"""
FRAME = """<!DOCTYPE html><iframe width="{width}" height="800" src="{page}"></iframe><pre></pre>
<script>addEventListener("message", (event) => (document.querySelector("pre").textContent = event.data));</script>"""


class Looked(NamedTuple):
    """A page on a narrow screen: its width in pixels, serious findings of axe-core, and the checks that it passed."""

    width: int
    findings: list[Any]
    checks: int


def dom(page: Path, folder: Path, address: str = "") -> Node:
    """What a page consists of once its script has run; the browser keeps its files in a folder."""
    command = ["chromium", *OPTIONS, "--virtual-time-budget=3000", f"--user-data-dir={folder / 'browser'}"]
    done = subprocess.run(
        [*command, "--dump-dom", f"file://{page.absolute()}{address}"], capture_output=True, timeout=120, check=True
    )
    return Page(done.stdout.decode()).root


def looked_at(page: Path, folder: Path, width: int = PHONE) -> Looked:
    """Look at a copy of a page without its policy, which would keep axe-core from running in it."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    axe = (files("axe_core_python") / "axe.min.js").read_text()
    copy = folder / "copy.html"
    copy.write_text(text.replace("</body>", f"<script>{axe}</script><script>{LOOKS}</script></body>"))
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width, page=copy.name))
    return Looked(**json.loads(dom(frame, folder).one("pre").text))
