"""JUnit files of gtest and CTest become a part of a run's, and their failures make it red."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.results.record import Verdict
from bitgate.results.report.foreign_junit import read_foreign
from bitgate.results.report.foreign_suites import foreign_suites
from bitgate.results.report.junit import JUnitDocument, write
from bitgate.results.report.junit_dialect import DIALECTS, STRICT
from bitgate.results.report.text import legal

Make = Callable[..., Verdict]
Folder = Callable[..., Path]

GTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" time="0.5" timestamp="2026-01-02T03:04:05.678">
  <testsuite name="Conv/Bwd" tests="4" failures="1" disabled="1" skipped="1" errors="0" time="0.5">
    <testcase name="Runs/0" value_param="3x3" file="t.cpp" line="7" status="run" result="completed" time="0.12345"
        classname="Conv.Bwd" />
    <testcase name="Fails" file="t.cpp" line="9" status="run" result="completed" time="0.1" classname="Conv.Bwd">
      <failure message="t.cpp:9&#x0A;Expected: a" type=""><![CDATA[t.cpp:9
Expected: a <b>]]></failure>
      <failure message="t.cpp:10&#x0A;Expected: c" type=""><![CDATA[second]]></failure>
    </testcase>
    <testcase name="Skips" file="t.cpp" line="12" status="run" result="skipped" time="0." classname="Conv.Bwd">
      <skipped message="t.cpp:12&#x0A;no GPU"><![CDATA[t.cpp:12]]></skipped>
    </testcase>
    <testcase name="DISABLED_Off" file="t.cpp" line="14" status="notrun" result="suppressed" time="0."
        classname="Conv.Bwd" />
  </testsuite>
</testsuites>
"""

CTEST = """cmake_minimum_required(VERSION 3.21)
project(demo NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME bad COMMAND sh -c "echo 'x <b> ]]> y'; exit 3")
add_test(NAME missing COMMAND /nonexistent/program)
add_test(NAME off COMMAND true)
set_tests_properties(off PROPERTIES DISABLED TRUE)
add_test(NAME skips COMMAND sh -c "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
"""


def _report(night: Path, out: Path, *foreign: Path, dialect: str = "strict") -> int:
    arguments = [word for file in foreign for word in ("--foreign-junit", str(file))]
    return run(["report", str(night), "--out", str(out), "--junit", dialect, *arguments])


def _results(file: Path) -> dict[str, str]:
    """Return the result of each foreign test by its name."""
    suites = [suite for suite in JUnitXml.fromfile(str(file)) if suite.name.startswith("bitgate.foreign.")]
    return {case.name: case.result[0]._elem.tag if case.result else "passed" for suite in suites for case in suite}


def test_a_failure_of_gtest_makes_the_run_red(
    verdict: Make, run_folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night = run_folder("night", verdict())
    (tmp_path / "gtest.xml").write_text(GTEST)
    assert _report(night, tmp_path / "m") == 0
    assert _report(night, tmp_path / "m", tmp_path / "gtest.xml") == 1
    assert "gtest.xml: 1 of 4 tests failed: Conv/Bwd.Fails" in capsys.readouterr().out
    assert _results(tmp_path / "m" / "junit.xml") == {
        "Runs/0": "passed",
        "Fails": "failure",
        "Skips": "skipped",
        "DISABLED_Off": "skipped",
    }
    for name in ("junit.xsd", "jenkins.xsd"):
        xmlschema.XMLSchema(paths.data_folder("reports") / name).validate(str(tmp_path / "m" / "junit.xml"))
    assert "gtest.xml | 1 | 1 | 2 |" in (tmp_path / "m" / "summary.md").read_text()


def test_a_failure_keeps_its_place_and_all_messages(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "gtest.xml").write_text(GTEST)
    _report(run_folder("night", verdict()), tmp_path / "m", tmp_path / "gtest.xml", dialect="github")
    suites = JUnitXml.fromfile(str(tmp_path / "m" / "junit.xml"))
    case = next(case for suite in suites for case in suite if case.name == "Fails")
    assert (case._elem.get("file"), case._elem.get("line")) == ("t.cpp", "9")
    assert case.result[0].message == "t.cpp:9 Expected: a; t.cpp:10 Expected: c"
    assert case.result[0].text == "t.cpp:9\nExpected: a <b>\nsecond"
    assert case.classname == "bitgate.foreign.gtest.Conv_Bwd.Conv.Bwd"


@pytest.mark.needs("ctest")
def test_ctest_is_believed_less_than_its_junit(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    """CTest writes a test whose program is missing as skipped, and ends red because of it."""
    (tmp_path / "CMakeLists.txt").write_text(CTEST)
    build, file = tmp_path / "b", tmp_path / "ctest.xml"
    subprocess.run(["cmake", "-B", build, tmp_path], check=True, capture_output=True)
    ended = subprocess.run(["ctest", "--test-dir", build, "--output-junit", file], capture_output=True, check=False)
    assert ended.returncode != 0
    assert _report(run_folder("night", verdict()), tmp_path / "m", file) == 1
    assert _results(tmp_path / "m" / "junit.xml") == {
        "good": "passed",
        "bad": "failure",
        "missing": "error",
        "off": "skipped",
        "skips": "skipped",
    }


ONE = '<testsuite name="s" tests="{}"><testcase name="a" {}>{}</testcase></testsuite>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<testsuite name="s" tests="1"><testc', "Unreadable"),
        ("", "Unreadable"),
        ("<html/>", "no JUnit: it begins with <html>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuites>&a;</testsuites>', "it declares entities"),
        ("<testsuites/>", "none of its 0 tests ran"),
        (ONE.format(1, "", "<skipped/>"), "none of its 1 tests ran"),
        (ONE.format(1, 'status="fail"', ""), "1 of 1 tests failed: s.a"),
        (ONE.format(1, "", "<error/>"), "1 of 1 tests failed: s.a"),
        *[(ONE.format(1, "", f"<{tag}/>"), "1 of 1 tests failed: s.a") for tag in ("Failure", "rerunFailure")],
        (ONE.format(3, "", ""), "2 of its 3 tests are missing"),
    ],
)
def test_what_shows_no_green_test_makes_the_run_red(
    verdict: Make, run_folder: Folder, tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.xml").write_text(text)
    assert _report(run_folder("night", verdict()), tmp_path / "m", tmp_path / "f.xml") == 1
    assert said in (tmp_path / "m" / "summary.md").read_text().replace("\\", "").replace("&lt;", "<").replace(
        "&gt;", ">"
    )
    capsys.readouterr()


PASSED = '<testsuite name="a" tests="1"><testcase name="x"/></testsuite>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '<testsuite tests="1" failures="1"><testcase name="x"/></testsuite>',
            "it states 1 failed tests, and names none",
        ),
        (f'<testsuites>{PASSED}<testsuite errors="2"/></testsuites>', "it states 2 failed tests, and names none"),
        (f'<testsuites>{PASSED}<testsuite tests="3"><testcase name="y"/></testsuite></testsuites>', "2 of its 4 tests"),
        (
            f"<testsuites>{PASSED}<testcase name='y'><failure/></testcase></testsuites>",
            "1 of its tests are in no suite",
        ),
        (
            f'<testsuites>{PASSED}<testsuite name="b"><error message="no set-up"/></testsuite></testsuites>',
            "failed: b.b",
        ),
    ],
)
def test_a_failure_of_no_test_is_red_too(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.xml").write_text(text)
    (found,) = read_foreign([tmp_path / "t.xml"])
    (finding,) = found.findings
    assert words in finding.sentence


def test_a_file_that_does_not_exist_ends_with_2(
    verdict: Make, run_folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for name, said in (("none.xml", "does not exist"), ("empty", "holds no .xml file")):
        assert _report(run_folder("night", verdict()), tmp_path / "m", tmp_path / name) == 2
        assert f"{name}: {said}" in capsys.readouterr().err


def test_files_and_tests_of_one_name_stay_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.xml").write_text(
            '<testsuite name="s"><testcase name="x"/><testcase name="x"/><testcase name="x__2"/></testsuite>'
        )
    suites = [suite for one in read_foreign([tmp_path]) for suite in foreign_suites(one, STRICT)]
    assert [suite.name for suite in suites] == ["bitgate.foreign.t.s", "bitgate.foreign.t__2.s"]
    assert [case.name for case in suites[0]] == ["x", "x__2", "x__2__2"]


WORDS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["]]>", "<script>", "x" * 10**6, "::", "&"]
)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS, st.sampled_from(["", "failure", "error", "skipped"])), min_size=1)
)
def test_hostile_texts_give_a_document_of_the_schema(
    tmp_path_factory: pytest.TempPathFactory, tests: list[tuple[str, ...]]
) -> None:
    root = ElementTree.Element("testsuite", name=legal(tests[0][0]), hostname=legal(tests[0][1]), timestamp="never")
    for name, classname, message, file, result in tests:
        made = {"name": legal(name), "classname": legal(classname), "file": legal(file), "time": "1e99", "line": "9"}
        case = ElementTree.SubElement(root, "testcase", made)
        if result:
            ElementTree.SubElement(case, result, message=legal(message)).text = legal(message)
            ElementTree.SubElement(case, "system-out").text = legal(message)
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "f.xml").write_bytes(ElementTree.tostring(root))
    (found,) = read_foreign([folder / "f.xml"])
    for dialect in DIALECTS.values():
        xml = JUnitDocument("bitgate")
        for suite in foreign_suites(found, dialect):
            suite.update_statistics()
            xml.add_testsuite(suite)
        xml.update_statistics()
        write(xml, folder / "junit.xml")
        assert JUnitXml.fromfile(str(folder / "junit.xml")).tests == len(tests)
        if dialect is STRICT:
            xmlschema.XMLSchema(paths.data_folder("reports") / "junit.xsd").validate(str(folder / "junit.xml"))
    assert (folder / "junit.xml").stat().st_size < 200_000 * len(tests)
