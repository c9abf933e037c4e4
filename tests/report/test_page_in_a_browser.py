"""The page in a browser: its script filters, sorts and links, and hostile text runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report.browser import PHONE, dom, looked_at
from tests.report.pages import Node, Page
from tests.report.test_page import HOSTILE, made
from tests.report.views import founding, view

from bitgate.results.record import Outcome, Verdict

pytestmark = pytest.mark.needs("chromium")
Make = Callable[..., Verdict]


def opened(page: Page, folder: Path, address: str = "") -> Node:
    """What a page consists of once its script has run."""
    file = folder / "page.html"
    file.write_text(page.text)
    return dom(file, folder, address)


def listed(found: Node) -> list[str]:
    """The cases in the table, in order."""
    return [row.one("td", "case").children[0] for row in found.one("tbody", id="body").all("tr")]  # type: ignore[misc]


def test_filters_are_in_the_address(verdict: Make, dropped: Verdict, tmp_path: Path) -> None:
    page = made(
        *(verdict(case=f"c{n}", target=target) for n in range(300) for target in ("gfx942", "gfx90a")),
        verdict(Outcome.CRASHED, case="c7", kernel="two_stage", reason="SIGSEGV"),
        dropped,
    )
    found = opened(page, tmp_path)
    assert len(listed(found)) == 200
    assert found.one("p", id="count").text == "602 of 602 cases; 200 are listed."
    assert "hidden" not in found.one("form", id="filters").attributes
    found = opened(page, tmp_path, "#?q=C29%20gfx942&sort=-case")
    assert listed(found) == [f"c{n}" for n in (299, 298, 297, 296, 295, 294, 293, 292, 291, 290, 29)]
    assert listed(opened(page, tmp_path, "#?verdict=not+PASS&kernel=nothing")) == ["c7", dropped.key.case]
    assert listed(opened(page, tmp_path, "#?cause=2")) == [dropped.key.case]
    assert listed(opened(page, tmp_path, "#?target=__proto__&sort=constructor")) == []


def test_hostile_text_runs_nothing(verdict: Make, tmp_path: Path) -> None:
    texts = [f"{text[:500]}<img src=x onerror=\"document.title='run'\">" for text in HOSTILE]
    page = made(*(verdict(Outcome.HUNG, case=f"c{n}", human=t, reason=t, test=t) for n, t in enumerate(texts)))
    found = opened(page, tmp_path)
    assert len(listed(found)) == len(texts)
    assert not found.all("img")
    assert len(found.all("script")) == 2
    assert found.one("title").text.startswith("bitgate: RED")


def test_a_policy_blocks_what_is_written_into_a_page(dropped: Verdict, tmp_path: Path) -> None:
    page = made(replace(dropped, view={}))
    changed = page.text.replace("<main>", "<main><script>document.title = 'run'</script>")
    assert opened(Page(changed), tmp_path).one("title").text.startswith("bitgate: RED")


def test_a_page_reads_on_a_phone_and_by_a_screen_reader(verdict: Make, dropped: Verdict, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    wide = view(founding(set(range(1, 9))), "gnchw", (64, 64, 32))
    file.write_text(made(*(verdict(case=f"c{n}") for n in range(30)), replace(dropped, view=wide)).text)
    found = looked_at(file, tmp_path)
    assert found.checks > 10
    assert (found.width, found.findings) == (PHONE, [])
