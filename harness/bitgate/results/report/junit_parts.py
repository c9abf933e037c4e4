"""JUnit documents of a merged night, written in files below what dashboards take, as its parts come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from bitgate.results.report.findings import MissingTarget, RunFinding
from bitgate.results.report.foreign_junit import ForeignJUnit
from bitgate.results.report.foreign_suites import foreign_suites
from bitgate.results.report.junit import (
    JUnitDocument,
    JUnitSuite,
    about_missing,
    about_night,
    about_target,
    suites_of,
    write,
)
from bitgate.results.report.junit_dialect import STRICT, JUnitDialect
from bitgate.results.report.ledger import Ledger


class JUnitParts:
    """The files ``junit.xml`` and, once that is full, ``junit-2.xml`` ... of one folder.

    Suites of one name become one in each file. ``whole`` gets all that is written here, too.
    """

    def __init__(self, folder: Path, whole: JUnitParts | None = None, dialect: JUnitDialect = STRICT) -> None:
        self._folder, self._whole, self._dialect = folder, whole, dialect
        self._suites: dict[str, JUnitSuite] = {}
        self._size = self._tests = 0
        self._number = 1
        for old in folder.glob("junit-*.xml"):
            old.unlink()

    def add(self, suite: JUnitSuite) -> None:
        """Add a suite, or cases to the one of its name."""
        cases = list(suite)
        for case in cases:
            suite._elem.remove(case._elem)
        known = self._suites.get(suite.name)
        if known is None:
            known = self._suites[suite.name] = suite
            self._size += _size(suite._elem)
        else:
            _add_properties(known, suite)
        for case in cases:
            size = _size(case._elem)
            if self._is_full(size, 1):
                self._write()
                known = self._suites[suite.name] = _like(suite)
                self._size = _size(known._elem)
            known._elem.append(case._elem)
            self._size += size
            self._tests += 1

    def add_suites(self, suites: Sequence[JUnitSuite], size: int) -> None:
        """Add suites of another document, none of which is of a name that is here."""
        tests = sum(len(list(suite)) for suite in suites)
        if self._is_full(size, tests):
            self._write()
        self._suites |= {f"{number} {suite.name}": suite for number, suite in enumerate(suites, len(self._suites))}
        self._size += size
        self._tests += tests

    def _is_full(self, size: int, tests: int) -> bool:
        """Return whether a file that holds something has no room for more."""
        too_large = self._size + size > self._dialect.limit or self._tests + tests > self._dialect.tests
        return self._size > 0 and too_large

    def close(self) -> None:
        """Write what is left. There is a first file, also without any suite."""
        if self._suites or self._number == 1:
            self._write()

    def _write(self) -> None:
        xml = JUnitDocument("bitgate")
        for suite in self._suites.values():
            if "tests" not in suite._elem.attrib:  # what comes from a target's document is counted
                suite.update_statistics()  # type: ignore[no-untyped-call]
            xml.add_testsuite(suite)
        xml.update_statistics()
        name = "junit.xml" if self._number == 1 else f"junit-{self._number}.xml"
        if self._whole is not None:
            self._whole.add_suites(list(self._suites.values()), self._size)
        write(xml, self._folder / name)
        self._suites, self._size, self._tests, self._number = {}, 0, 0, self._number + 1


class MergedJUnit:
    """The documents of a merged night: one a target, and one of all."""

    def __init__(self, folder: Path, dialect: JUnitDialect = STRICT) -> None:
        self._folder, self._dialect = folder, dialect
        self._whole = JUnitParts(folder, dialect=dialect)
        self._targets: dict[str, JUnitParts] = {}

    def add(self, ledger: Ledger) -> None:
        """Add the entries of a target's ledger, or of a part of it."""
        for suite in suites_of(ledger, dialect=self._dialect):
            self._of(ledger.target).add(suite)

    def close(
        self,
        ledgers: Sequence[Ledger],
        compared: Sequence[str],
        findings: Sequence[RunFinding],
        absent: Sequence[MissingTarget],
        foreign: Sequence[ForeignJUnit] = (),
    ) -> None:
        """Add what is known at the end, and write the rest; ``compared`` are targets that compared something."""
        for ledger in ledgers:
            for suite in about_target(ledger, is_empty=ledger.target not in compared):
                self._of(ledger.target).add(suite)
            self._of(ledger.target).close()
        for one in foreign:
            for suite in foreign_suites(one, self._dialect):
                self._whole.add(suite)
        self._whole.add_suites(list(self._ends(findings, absent)), 0)
        self._whole.close()

    def _ends(self, findings: Sequence[RunFinding], absent: Sequence[MissingTarget]) -> Iterator[JUnitSuite]:
        if findings:
            yield about_night(findings)
        yield from map(about_missing, absent)

    def _of(self, target: str) -> JUnitParts:
        if target not in self._targets:
            self._targets[target] = JUnitParts(self._folder / target, self._whole, self._dialect)
        return self._targets[target]


TAG_BYTES = 24
"""Bytes of a tag and of what stands around an attribute or text."""


def _size(element: Element) -> int:
    """Return about how many bytes an element takes; escaped characters and others than ASCII count more."""
    texts = [element.text or "", *element.attrib.values(), *element.attrib]
    return 2 * TAG_BYTES + sum(map(_bytes, texts)) + 4 * len(element.attrib) + sum(map(_size, element))


def _bytes(text: str) -> int:
    return len(text if text.isascii() else text.encode()) + 5 * sum(map(text.count, '<>&"\n'))


def _like(suite: JUnitSuite) -> JUnitSuite:
    """Return a suite of the same name and properties without cases."""
    new = JUnitSuite(suite.name)
    for name, value in suite._elem.attrib.items():
        new._elem.set(name, value)
    for properties in suite._elem.findall("properties"):
        new._elem.append(properties)
    return new


def _add_properties(known: JUnitSuite, suite: JUnitSuite) -> None:
    """Join values of a property in which the suites differ."""
    own = {one.name: one for one in known.properties()}  # type: ignore[no-untyped-call]
    for other in suite.properties():  # type: ignore[no-untyped-call]
        mine = own.get(other.name)
        if mine is None:
            known.add_property(other.name, other.value)
        elif other.value not in mine.value.split(", "):
            mine.value = f"{mine.value}, {other.value}"
