"""``reports/sample``: the pages are what its record gives, and the record is what the suite gives."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from tests.report.pages import Page

from bitgate.core import paths

SCRIPT = paths.home() / "reports" / "make_sample.py"
SAMPLE = SCRIPT.with_name("sample")
MOST_BYTES = 1_500_000


def rendered(folder: Path) -> dict[str, str]:
    """The files that are rendered, by their path in the folder."""
    files = [file for file in folder.rglob("*") if file.suffix in (".html", ".md", ".xml")]
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def test_the_pages_are_what_the_record_gives(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, "--render", "--out", tmp_path], check=True, capture_output=True)
    expected, found = rendered(SAMPLE), rendered(tmp_path)
    assert sorted(found) == sorted(expected)
    changed = [name for name, text in found.items() if text != expected[name]]
    assert not changed, "python reports/make_sample.py --render"


def test_the_record_is_what_the_suite_gives() -> None:
    spec = spec_from_file_location("make_sample", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    expected = [json.loads(line) for line in (SAMPLE / module.RECORDED).read_text().splitlines()]
    assert module.record() == expected


def test_it_shows_what_there_is_to_see() -> None:
    night = Page.of(SAMPLE / "night.html").root
    assert night.one("article", "cause").one("p", "sentence").text.startswith("sub-GEMMs 1 to 8 of 9 are missing")
    devices = {row.one("th").text for row in night.one("table", "matrix").one("tbody").all("tr")}
    assert devices == {"host host", "gfx942 demonstration", "gfx1201 demonstration"}
    assert "ROCm/rocm-libraries#7732" in night.one("section", id="failures").text
    nights = Page.of(SAMPLE / "history" / "index.html").root
    assert len(nights.one("section", id="flaky").one("tbody").all("tr")) == 1
    assert len(nights.one("section", id="times").one("tbody").all("tr")) == 1
    (unreliable,) = [row for row in nights.one("section", id="machines").all("tr") if row.all("b")]
    assert unreliable.text.startswith("node-a GPU 0000:c2:00.0")


def test_it_is_small_and_has_its_pictures() -> None:
    files = [file for file in SAMPLE.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    assert {"bug.png", "night.png", "nights.png"} <= {file.name for file in files}
