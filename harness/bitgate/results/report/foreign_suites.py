"""Suites of other harnesses' JUnit files, written as ours are: our names, our limits, and one result a test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bitgate.results.report.foreign_junit import ForeignJUnit, ForeignTest
from bitgate.results.report.junit import (
    ELEMENTS,
    EXPLANATION,
    MESSAGE,
    NAME,
    JUnitCase,
    JUnitSuite,
    SizeBudget,
    capped_name,
)
from bitgate.results.report.junit_dialect import JUnitDialect
from bitgate.results.report.names import fresh, part_of
from bitgate.results.report.text import capped, legal, one_line

OUTPUTS = 8 << 20
"""Bytes of explanations and output of one file that are kept."""


def foreign_suites(found: ForeignJUnit, dialect: JUnitDialect) -> Iterator[JUnitSuite]:
    """Yield the suites of a file."""
    room = SizeBudget(OUTPUTS)
    names: dict[str, set[str]] = {}
    groups: dict[str, list[ForeignTest]] = {}
    for test in found.tests:
        groups.setdefault(part_of(test.suite), []).append(test)
    for name, tests in groups.items():
        suite = JUnitSuite(f"bitgate.foreign.{found.name}.{name}")
        suite.timestamp = found.started
        suite.hostname = found.host
        suite.add_property(dialect.suite_properties.format("foreign.file"), one_line(found.file))
        suite.add_testcases([_case(test, suite.name, names, room, dialect) for test in tests])
        yield suite


def _case(
    test: ForeignTest, suite: str, names: dict[str, set[str]], room: SizeBudget, dialect: JUnitDialect
) -> JUnitCase:
    classname = ".".join([suite, *(part_of(part) for part in re.split(r"[.:/]+", test.classname)[:8] if part)])
    name = fresh(capped_name(test.name) or "test", names.setdefault(classname, set()))
    case = JUnitCase(name, capped_name(classname), test.seconds)
    if not test.result:
        return case
    message = one_line(test.message or test.text, MESSAGE) or "no message"
    case.result = element = ELEMENTS[test.result](message, "Foreign")
    if test.result != "skipped":
        dialect.place(case._elem, one_line(test.file, NAME), test.line)
        text, output = capped(legal(test.text), EXPLANATION), capped(legal(test.output))
        if text and room.takes(text):
            element.text = text
        if output and room.takes(output):
            case.system_out = output
    return case
