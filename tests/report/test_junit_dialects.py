"""Each dialect adds what its reader shows, and nothing else: the rest is the strict document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.results.report.junit import document, write
from bitgate.results.report.junit_dialect import DIALECTS, JUnitDialect
from bitgate.results.report.junit_parts import MergedJUnit
from bitgate.results.report.ledger import AttemptEntry, Ledger

Make = Callable[..., Verdict]
Folder = Callable[..., Path]
ON_A_GPU: dict[str, Any] = {
    "target": "gfx942",
    "device_id": {"uuid": "GPU-8f3c", "pci": "0000:c1:00.0"},
    "where": {"node": "node-17", "job": "4711", "log": "https://ci/4711"},
}


@pytest.fixture
def night(verdict: Make, dropped: Verdict, run_folder: Folder) -> Path:
    """The results of a red case on a GPU, and a green one."""
    red = verdict(Outcome.MISMATCH, case="c2", diagnosis=dropped.diagnosis, **ON_A_GPU)
    return run_folder("a", red, verdict(case="c1", target="gfx942"))


def _written(night: Path, out: Path, *arguments: str) -> ElementTree.Element:
    assert run(["report", str(night), "--out", str(out), *arguments]) == 1
    return ElementTree.parse(out / "junit.xml").getroot()


def _red(root: ElementTree.Element) -> ElementTree.Element:
    return next(case for case in root.iter("testcase") if case.find("failure") is not None)


def _properties(case: ElementTree.Element) -> dict[str, str]:
    return {one.attrib["name"]: one.attrib["value"] for one in case.iterfind("properties/property")}


def _bare(root: ElementTree.Element) -> bytes:
    """Return a document without what dialects add."""
    for case in root.iter("testcase"):
        case.attrib.pop("file", None)
        case.attrib.pop("line", None)
        for properties in case.findall("properties"):
            case.remove(properties)
    text = ElementTree.tostring(root)
    return b"".join(re.sub(rb"dd_tags\[(.*?)\]", rb"\1", text).split())


def test_github_places_a_failure_at_its_row(night: Path, tmp_path: Path) -> None:
    case = _red(_written(night, tmp_path / "m", "--junit", "github"))
    assert (case.get("file"), case.get("line")) == ("suites/conv_bwd_data/cases.toml", "17")


def test_gitlab_gets_the_file_only(night: Path, tmp_path: Path) -> None:
    case = _red(_written(night, tmp_path / "m", "--junit", "gitlab"))
    assert (case.get("file"), case.get("line")) == ("suites/conv_bwd_data/cases.toml", None)


@pytest.mark.parametrize(("dialect", "form"), [("jenkins", "{}"), ("datadog", "dd_tags[{}]")])
def test_properties_state_where_a_failure_ran(night: Path, tmp_path: Path, dialect: str, form: str) -> None:
    root = _written(night, tmp_path / "m", "--junit", dialect)
    found = _properties(_red(root))
    expected = {"gpu.target": "gfx942", "node": "node-17", "gpu.uuid": "GPU-8f3c", "job": "4711"}
    expected |= {"kernel": "grouped_bwd_data", "verdict": "MISMATCH", "row": "suites/conv_bwd_data/cases.toml:17"}
    assert {name: found[form.format(name)] for name in expected} == expected
    assert re.fullmatch("[0-9a-f]{12}", found[form.format("cause")])
    suite = {one.attrib["name"] for one in root.iterfind("testsuite/properties/property")}
    assert form.format("gpu.target") in suite


def test_strict_is_the_default_and_a_project_may_choose(
    night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _red(_written(night, tmp_path / "a")).get("file") is None
    (tmp_path / "bitgate.toml").write_text('[bitgate]\njunit = "gitlab"\n')
    assert _red(_written(night, tmp_path / "b")).get("file") == "suites/conv_bwd_data/cases.toml"
    assert _red(_written(night, tmp_path / "c", "--junit", "strict")).get("file") is None


def test_an_unknown_dialect_names_the_nearest(
    night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", str(night), "--out", "m", "--junit", "gitlub"]) == 2
    assert capsys.readouterr().err == "bitgate: --junit gitlub: did you mean 'gitlab'?\n"
    (tmp_path / "bitgate.toml").write_text('[bitgate]\njunit = "gitlub"\n')
    assert run(["report", str(night), "--out", "m"]) == 2
    assert "'gitlub' is not one of strict, github" in capsys.readouterr().err


@pytest.mark.parametrize("dialect", list(DIALECTS.values()), ids=list(DIALECTS))
@settings(max_examples=25)
@given(
    odd=st.lists(
        st.text(st.characters(), max_size=30) | st.sampled_from(["]]>", "\x00\x1b[31m", "x" * 10**6]),
        min_size=6,
        max_size=6,
    )
)
def test_without_its_additions_a_dialect_is_strict(
    verdict: Make, tmp_path_factory: pytest.TempPathFactory, dialect: JUnitDialect, odd: list[str]
) -> None:
    kernel, kind, row, node, uuid, path = odd
    red = verdict(
        Outcome.MISMATCH,
        kernel=kernel,
        row=row,
        diagnosis=Diagnosis((kind,), kind),
        where={"node": node, "job": node},
        device_id={"uuid": uuid},
        dispatch={"path": path},
    )
    ledger = Ledger("host", "smoke", (AttemptEntry(red), AttemptEntry(verdict())), started="2026-01-02T03:04:05+00:00")
    folder = tmp_path_factory.mktemp("dialects")
    write(document(ledger, dialect=dialect), folder / "junit.xml")
    write(document(ledger), folder / "strict.xml")
    found = JUnitXml.fromfile(str(folder / "junit.xml"))
    assert (found.tests, found.failures) == (2, 1)
    bare = [_bare(ElementTree.parse(folder / name).getroot()) for name in ("junit.xml", "strict.xml")]
    assert bare[0] == bare[1]
    assert (folder / "junit.xml").stat().st_size < 40_000


def test_only_strict_meets_jenkins_schema(night: Path, tmp_path: Path) -> None:
    schema = xmlschema.XMLSchema(paths.data_folder("reports") / "jenkins.xsd")
    valid = []
    for name in DIALECTS:
        _written(night, tmp_path / name, "--junit", name)
        valid += [name] * schema.is_valid(str(tmp_path / name / "junit.xml"))
    assert valid == ["strict"]


def _ledgers(verdict: Make, count: int, reason: str) -> Iterator[Ledger]:
    for first in range(0, count, 500):
        reds = [verdict(Outcome.MISMATCH, case=f"c{n}", reason=reason, **ON_A_GPU) for n in range(first, first + 500)]
        yield Ledger("gfx942", "smoke", tuple(map(AttemptEntry, reds)), started="2026-01-02T03:04:05+00:00")


def test_every_file_is_smaller_than_25_megabytes(verdict: Make, tmp_path: Path) -> None:
    merged = MergedJUnit(tmp_path, DIALECTS["datadog"])
    for ledger in _ledgers(verdict, 1500, '<"&\n' * 4000):
        merged.add(ledger)
    merged.close([Ledger("gfx942", "smoke", ())], ["gfx942"], [], [])
    sizes = [file.stat().st_size for file in tmp_path.glob("junit*.xml")]
    assert len(sizes) > 1
    assert max(sizes) < 25_000_000


def test_gitlab_gets_few_enough_tests_in_a_file(verdict: Make, tmp_path: Path) -> None:
    merged = MergedJUnit(tmp_path, JUnitDialect("small", tests=700))
    for ledger in _ledgers(verdict, 2000, ""):
        merged.add(ledger)
    merged.close([Ledger("gfx942", "smoke", ())], ["gfx942"], [], [])
    counts = [JUnitXml.fromfile(str(file)).tests for file in tmp_path.glob("junit*.xml")]
    assert sum(counts) == 2000
    assert max(counts) <= 700
