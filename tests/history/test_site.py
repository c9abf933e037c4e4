"""``bitgate history --html``: what the site of a history shows, what is rendered again, and that its text is inert."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.history.nights import Lab, Planted, key_of, write
from tests.report.browser import PHONE, dom, looked_at
from tests.report.pages import Node, Page
from tests.report.test_page import HOSTILE

from bitgate.cli.main import run
from bitgate.lab.history.ingest import ingest
from bitgate.lab.history.store import opened
from bitgate.results.record import Verdict

PLANTED = Planted(
    flakes={(3, "gfx942"): 0.4}, bad_machine=("gfx90a-n2", 0.3), broken=((5,), 18), losing=("gfx1201-n1", 0.1)
)
SLOWER, CHANGED = key_of(9, "").case, key_of(4, "").case


def night(number: int, lab: Lab) -> list[Verdict]:
    """A night of the laboratory, in which a case takes longer from night 12 on, and another one has other bits."""
    found = []
    for one in lab.night(number):
        if one.key.case == SLOWER and number >= 12:
            one = replace(one, seconds={"total": 2 * one.seconds["total"]})
        if one.key.case == CHANGED and number >= 10:
            one = replace(one, digest="bg1:other")
        found.append(one)
    return found


def remember(url: str, folder: Path, *nights: list[Verdict]) -> None:
    with opened(url) as store:
        for verdicts in nights:
            for _ in ingest(store, [write(folder / "night" / "results.jsonl", verdicts)]):
                pass


def site(url: str, folder: Path, *more: str) -> Any:
    """Write a site, and return what the command says of it."""
    arguments = ["history", "--html", str(folder), "--history", url, "--json", *more]
    assert run(arguments) == 0
    return folder


def rendered(url: str, folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, int]:
    """Write a site, and return how many bundles of cases it has, and how many were rendered."""
    capsys.readouterr()
    site(url, folder, *more)
    said = json.loads(capsys.readouterr().out)["site"]
    return said["bundles"], said["rendered"]


def pages(folder: Path) -> Iterator[tuple[Path, Page]]:
    for file in sorted(folder.rglob("*.html")):
        yield file, Page.of(file)


def case(folder: Path, name: str, target: str) -> Node:
    """The part of a case on a target, found as a reader finds it: by the list of all cases."""
    (row,) = [row for row in Page.of(folder / "cases.html").rows if (row["case"], row["target"]) == (name, target)]
    file, _, anchor = row["page"].partition("#")
    return Page.of(folder / file).root.one("article", id=anchor)


@pytest.fixture(scope="module")
def lab_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a laboratory of 24 nights."""
    folder = tmp_path_factory.mktemp("lab")
    lab = Lab(cases=30, nights=24, planted=PLANTED)
    remember(str(folder / "h.sqlite"), folder, *(night(number, lab) for number in range(24)))
    return site(str(folder / "h.sqlite"), folder / "site")


def test_the_overview_of_nights(lab_site: Path) -> None:
    found = Page.of(lab_site / "index.html").root
    assert found.one("h1").text.startswith("night-23 ")
    nights = found.one("section", id="nights").one("tbody").all("tr")
    assert [one.one("th").text for one in nights[:2]] == ["night-23", "night-22"]
    broken = found.one("section", id="first-bad").all("article")[0].text
    assert broken.startswith("3 cases since night-18 last good run night-17; git log 000000000000..000000000000")
    flaky = found.one("section", id="flaky").one("tbody").one("tr")
    assert flaky.one("a").text == key_of(3, "").case
    slower = found.one("section", id="times").one("tbody").all("tr")
    assert [one.one("a").text for one in slower[:3]] == [SLOWER] * 3
    unreliable = {row.one("a").text: row.one("b").text for row in machines(found) if row.all("b")}
    assert unreliable == {"gfx90a-n2": "spoils answers", "gfx1201-n1": "loses answers"}


def machines(found: Node) -> list[Node]:
    return found.one("section", id="machines").one("tbody").all("tr")


def test_a_case_over_time(lab_site: Path) -> None:
    red = case(lab_site, key_of(5, "").case, "gfx942")
    assert red.one("svg", "strip").attributes["aria-label"] == "24 runs from night-00 to night-23: 18 PASS, 6 MISMATCH"
    assert "red since night-18; last good run night-17; git log" in red.text
    assert red.one("p", "sentence").text == "the last channel is missing"
    assert red.one("div", "repro").text == f"bitgate verify {key_of(5, '').case} --target gfx942"
    other = case(lab_site, CHANGED, "gfx942")
    assert [row.text for row in other.one("tbody").all("tr")] == [
        "night-10 to night-23 (14) PASS bg1:other changed 000000000000..000000000000",
        f"night-00 to night-09 (10) PASS bg1:{4:032x} 000000000000..000000000000",
    ]
    assert "1 change of digest, the last in night-10" in other.text
    slower = case(lab_site, SLOWER, "gfx942")
    assert re.search(r"slower by \d+ %, the last step in night-12", slower.text)
    assert slower.one("svg", "times").one("path", "level").attributes["d"].count("M") == 2
    assert {one.text for one in slower.all("a") if "machines" in one.attributes["href"]} <= {
        f"gfx942-n{number}" for number in (1, 2, 3)
    }


def test_a_machine(lab_site: Path) -> None:
    (link,) = [row.one("a") for row in machines(Page.of(lab_site / "index.html").root) if "gfx90a-n2" in row.text]
    found = Page.of(lab_site / link.attributes["href"]).root
    assert found.one("h1").text == "gfx90a-n2"
    assert found.one("p", "sentence").text.startswith("spoils answers : ")
    assert found.one("section", id="environments").one("tbody").all("td")[0].text == "GFX90A"
    assert all(row.all("b")[0].text == "MISMATCH" for row in found.one("section", id="red").one("tbody").all("tr"))


def test_a_gpu_has_a_page_and_so_has_its_host(tmp_path: Path) -> None:
    verdicts = [replace(one, device_id={"pci": "0000:c1:00.0"}) for one in Lab(cases=2).night(0)]
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, verdicts)
    found = Page.of(site(url, tmp_path / "site") / "index.html").root
    (gpu, *_) = [row.one("a") for row in machines(found) if "GPU" in row.text]
    page = tmp_path / "site" / gpu.attributes["href"]
    host = Page.of(page).root.one("main").one("a")
    assert gpu.text == f"{host.text} GPU 0000:c1:00.0"
    assert gpu.text in Page.of(page.parent / host.attributes["href"]).root.one("main").text


def test_a_case_that_takes_no_time(tmp_path: Path) -> None:
    verdicts = [[replace(one, seconds={}) for one in Lab(cases=1).night(number)] for number in range(9)]
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, *verdicts)
    found = case(site(url, tmp_path / "site"), key_of(0, "").case, "gfx942")
    assert "0 to 0 ms on GFX942, median 0 ms" in found.text


def test_all_links_lead_somewhere(lab_site: Path) -> None:
    found = dict(pages(lab_site))
    names = {
        file: {one.attributes["id"] for one in page.root.all() if "id" in one.attributes}
        for file, page in found.items()
    }
    for file, page in found.items():
        rows = [row["page"] for row in page.rows] if file.name == "cases.html" else []
        for link in [*(one.attributes["href"] for one in page.root.all("a")), *rows]:
            if link.startswith("#?") or link == "#":
                continue
            path, _, anchor = link.partition("#")
            place = (file.parent / path).resolve() if path else file
            assert place in names, link
            assert not anchor or unquote(anchor) in names[place], link


def test_it_is_the_same_on_each_database(url: str, tmp_path: Path) -> None:
    lab = Lab(cases=4, planted=Planted(broken=((1,), 1)))
    remember(url, tmp_path, lab.night(0), lab.night(1))
    found = site(url, tmp_path / "site")
    assert len(Page.of(found / "cases.html").rows) == 12
    assert "red since night-01" in case(found, key_of(1, "").case, "gfx90a").text


def test_only_what_changed_is_rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url, folder, lab = str(tmp_path / "h.sqlite"), tmp_path / "site", Lab(cases=150)
    remember(url, tmp_path, lab.night(0))
    assert rendered(url, folder, capsys) == (3, 3)
    assert rendered(url, folder, capsys) == (3, 0)
    before = {file: file.stat().st_mtime_ns for file, _ in pages(folder)}
    assert rendered(url, folder, capsys) == (3, 0)
    assert {file: file.stat().st_mtime_ns for file, _ in pages(folder)} == before
    few = [one for one in lab.night(1) if one.key.case == key_of(149, "").case]
    remember(url, tmp_path, few)
    assert rendered(url, folder, capsys) == (3, 1)
    assert "2 runs from night-00 to night-01" in case(folder, few[0].key.case, "gfx942").text
    (folder / "cases" / "0001.json").write_text("{")  # a run that was killed
    assert rendered(url, folder, capsys) == (3, 1)
    assert rendered(url, folder, capsys, "--last", "1") == (1, 1)
    assert sorted(file.name for file in (folder / "cases").iterdir()) == ["0002.html", "0002.json"]
    assert len(list((folder / "machines").iterdir())) <= 3


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert_and_bounded(text: str, tmp_path: Path, lab_site: Path) -> None:
    long = text[:100_000]
    lab = Lab(cases=2, planted=Planted(broken=((1,), 1)))
    nights = []
    for number in range(2):
        changed = [
            replace(
                one,
                test=f"suites/{long}",
                tier=text[:1000],
                device_name=text[:1000],
                device_kind=text[:1000],
                digest=text[:1000] if one.green else "",
                repro=long if not one.green else "",
                diagnosis=replace(one.diagnosis, kinds=(text[:1000],), sentence=long) if one.diagnosis else None,
                fingerprint=dict.fromkeys(one.fingerprint, long) | {"build": f"{number}"},
            )
            for one in lab.night(number)
        ]
        nights.append(changed)
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, *nights)
    plain = {one.tag for _, page in pages(lab_site) for one in page.root.all()}
    for file, found in pages(site(url, tmp_path / "site")):
        assert len(found.text) < 80_000, file
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200e\u200f]", found.text)
        assert {one.tag for one in found.root.all()} <= plain
        assert len(found.root.all("script")) == (2 if file.name == "cases.html" else 0)
        names = {name for one in found.root.all() for name in one.attributes}
        assert not {name for name in names if name.startswith("on") or name in ("style", "src")}
        assert "default-src 'none'" in found.root.all("meta")[1].attributes["content"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--html", "h.sqlite"], "a site takes a folder"),
        (["--html", "mine"], "is of no site of bitgate"),
        (["--html", "h.sqlite/site"], "a site takes a folder|cannot be written"),
        (["--html", "site", "--history", "none.sqlite"], "there is no history yet"),
        (["--html", "site", "runs"], "leave runs out"),
        (["--html", "site", "--diff", "a", "b"], "is a separate command"),
        (["--last", "5", "runs"], "after runs"),
    ],
)
def test_what_cannot_be_written_is_a_usage_error(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BITGATE_HISTORY", str(tmp_path / "h.sqlite"))
    remember(str(tmp_path / "h.sqlite"), tmp_path, Lab(cases=1).night(0))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("<h1>my page</h1>")
    assert run(["history", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert re.search(words, line)
    assert not (tmp_path / "mine" / "cases").exists()


@pytest.mark.needs("chromium")
def test_it_reads_on_a_phone_and_by_a_screen_reader(lab_site: Path, tmp_path: Path) -> None:
    machine = next((lab_site / "machines").iterdir())
    for file in (lab_site / "index.html", lab_site / "cases.html", lab_site / "cases" / "0000.html", machine):
        found = looked_at(file, tmp_path)
        assert (found.width, found.findings) == (PHONE, []), file
    listed = dom(lab_site / "cases.html", tmp_path, "#?history=&state=flaky").one("tbody", id="body").all("tr")
    assert [row.one("a").text for row in listed] == [key_of(3, "").case]


@pytest.mark.parametrize(("column", "value"), [("seconds", "'long'"), ("outcome", "X'00ff'"), ("seconds", "1e999")])
def test_a_damaged_history_is_a_usage_error(
    column: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, Lab(cases=1).night(0))
    with sqlite3.connect(url) as connection:
        connection.execute(f"UPDATE verdicts SET {column} = {value}")
    code = run(["history", "--html", str(tmp_path / "site"), "--history", url])
    said = capsys.readouterr().err
    assert (code, "the history is damaged" in said) == ((0, False) if value == "1e999" else (2, True))
