"""JUnit files of other harnesses, such as gtest's and CTest's, and what in them makes a run red."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from bitgate.core.errors import UsageError
from bitgate.core.files import folders_below
from bitgate.results.report.findings import RunFinding, some
from bitgate.results.report.names import fresh, part_of
from bitgate.results.report.text import one_line

LARGEST = 256 << 20
"""Bytes of a file that is read."""


@dataclass(frozen=True)
class ForeignTest:
    """A test of another harness; ``result`` is failure, error or skipped, and empty if it passed."""

    suite: str
    classname: str
    name: str
    seconds: float
    result: str = ""
    message: str = ""
    text: str = ""
    output: str = ""
    file: str = ""
    line: str = ""


@dataclass(frozen=True)
class ForeignJUnit:
    """A JUnit file of another harness. ``flaw`` says why it could not be read whole."""

    file: str
    name: str
    """The part of the names of its suites that tells it from other files."""
    tests: tuple[ForeignTest, ...] = ()
    flaw: str = ""
    started: str = ""
    host: str = ""

    @property
    def red(self) -> tuple[ForeignTest, ...]:
        return tuple(test for test in self.tests if test.result in ("failure", "error"))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of tests that passed, failed and were skipped."""
        found = Counter(test.result or "passed" for test in self.tests)
        return {"passed": found["passed"], "red": found["failure"] + found["error"], "skipped": found["skipped"]}

    @property
    def findings(self) -> list[RunFinding]:
        """Return what makes the run red: failed tests, a damaged file, or one in which nothing ran."""
        if self.flaw:
            return [RunFinding("Unreadable", f"{self.file}: {self.flaw}")]
        if red := self.red:
            names = some(f"{test.suite}.{test.name}" for test in red)
            return [RunFinding("ForeignTests", f"{self.file}: {len(red)} of {len(self.tests)} tests failed: {names}")]
        if not self.counts["passed"]:
            return [RunFinding("ForeignTests", f"{self.file}: none of its {len(self.tests)} tests ran")]
        return []


def read_foreign(paths: Sequence[Path]) -> tuple[ForeignJUnit, ...]:
    """Read JUnit files, or those in folders. UsageError for a path that is neither, or holds none."""
    files: dict[Path, None] = {}
    for path in paths:
        found = _documents_in(path) if path.is_dir() else [path] if path.is_file() else []
        if not found:
            what = "holds no .xml file" if path.is_dir() else "does not exist"
            raise UsageError(
                f"--foreign-junit {path}: {what}: name what gtest --gtest_output or ctest --output-junit wrote"
            )
        files |= dict.fromkeys(found)
    names: set[str] = set()
    return tuple(_read(file, fresh(part_of(file.stem), names)) for file in files)


def _documents_in(folder: Path) -> list[Path]:
    return sorted(place / name for place, names in folders_below(folder) for name in names if name.endswith(".xml"))


def _read(file: Path, name: str) -> ForeignJUnit:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    try:
        if file.stat().st_size > LARGEST:
            raise ValueError(f"larger than {LARGEST >> 20} MiB")
        data = file.read_bytes()
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data:
            raise ValueError("it declares entities or is no UTF-8: a JUnit file has neither")
        root = ElementTree.fromstring(data)
        if root.tag not in ("testsuite", "testsuites"):
            raise ValueError(f"no JUnit: it begins with <{root.tag[:40]}>")
        suites = list(root.iter("testsuite"))
        tests = tuple(_test(suite, case) for suite in suites for case in suite.findall("testcase"))
        whole = tuple(
            _whole(suite, tag) for suite in suites for tag in ("failure", "error") if suite.find(tag) is not None
        )
    except (OSError, ValueError, ElementTree.ParseError) as error:
        return ForeignJUnit(str(file), name, flaw=str(error)[:300], started=now)
    host = next((text for one in suites if (text := one.get("hostname", ""))), "unknown")
    found = ForeignJUnit(str(file), name, (*tests, *whole), "", _zoned(suites) or now, one_line(host))
    return replace(found, flaw=_flaw(root, len(tests), bool(found.red)))


def _flaw(root: Element, tests: int, is_red: bool) -> str:
    """Return how a file contradicts itself: it states more tests than it has, or a failure that none of them has."""
    if (missing := _stated(root, "tests") - tests) > 0:
        return f"{missing} of its {tests + missing} tests are missing"
    if apart := len(list(root.iter("testcase"))) - tests:
        return f"{apart} of its tests are in no suite"
    failed = max(_stated(one, "failures") + _stated(one, "errors") for one in root.iter() if one.tag in _COUNTED)
    return f"it states {failed} failed tests, and names none" if failed and not is_red else ""


_COUNTED = ("testsuite", "testsuites")


def _stated(element: Element, name: str) -> int:
    """Return a number that an element states, else the sum of what the suites in it state; 0 if none does."""
    stated = element.get(name, "")
    if stated.isdecimal() and len(stated) < 9:
        return int(stated)
    return sum(_stated(one, name) for one in element.findall("testsuite"))


def _whole(suite: Element, tag: str) -> ForeignTest:
    """Return the failure of a suite as such, such as one that could not be set up, as a test's."""
    said = suite.findall(tag)
    name = suite.get("name", "") or "tests"
    message = "; ".join(filter(None, (one.get("message", "").strip() for one in said)))
    return ForeignTest(name, "", name, 0.0, tag, message, "\n".join(one.text or "" for one in said))


def _zoned(suites: Sequence[Element]) -> str:
    """Return the first time stamp; one without a zone is taken for UTC."""
    for suite in suites:
        try:
            stamp = datetime.fromisoformat(suite.get("timestamp", "").replace("Z", "+00:00"))
            return (stamp if stamp.tzinfo else stamp.replace(tzinfo=timezone.utc)).isoformat(timespec="seconds")
        except ValueError:
            continue
    return ""


def _test(suite: Element, case: Element) -> ForeignTest:
    found = {name: case.findall(name) for name in ("failure", "error", "skipped")}
    result = next((name for name, elements in found.items() if elements), "")
    status = case.get("status", "").lower()
    said = [element for element in found.get(result, ()) if element is not None]
    message = "; ".join(filter(None, (one.get("message", "").strip() for one in said)))
    if result == "skipped" and status == "notrun" and not case.get("result") and not message.startswith("SKIP_"):
        result = "error"  # CTest: the program is missing, or a fixture failed, which makes CTest itself end red
    elif not result and (
        status in ("notrun", "disabled", "skipped") or case.get("result") in ("suppressed", "skipped")
    ):
        result, message = "skipped", message or "disabled"
    elif not result and (status in ("fail", "failed", "error") or any(_is_failure(one.tag) for one in case)):
        result = "failure"
    output = "\n".join(one.text or "" for name in ("system-out", "system-err") for one in case.findall(name))
    name, classname = case.get("name", ""), case.get("classname", "")
    return ForeignTest(
        suite.get("name", "") or "tests",
        "" if classname == name else classname,
        name,
        _seconds(case.get("time", "")),
        result,
        message,
        "\n".join(one.text or "" for one in said),
        output if result in ("failure", "error") else "",
        case.get("file", ""),
        case.get("line", "") if case.get("line", "").isdecimal() else "",
    )


def _is_failure(tag: str) -> bool:
    """Return whether an element states a failure in another spelling; a flakyFailure is of a test that passed."""
    name = tag.rpartition("}")[2].lower()
    return name.endswith(("failure", "error")) and not name.startswith("flaky")


def _seconds(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
