"""JUnit documents of ledgers: a testcase for each verdict, and properties about machine and build for each suite."""

from __future__ import annotations

import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import Attr, FinalResult, FloatAttr

from bitgate.core.files import write_whole
from bitgate.results.record import UNKNOWN, Outcome, Verdict
from bitgate.results.report.findings import KINDS, MissingTarget, RunFinding
from bitgate.results.report.junit_dialect import STRICT, JUnitDialect, facts_of
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.names import TestName, test_names
from bitgate.results.report.report import Report, ReportedRun
from bitgate.results.report.result import JUnitResult, cell_lines, extent_line, place_of, result_of
from bitgate.results.report.text import capped, legal, one_line

ELEMENTS: dict[str, type[FinalResult]] = {"failure": Failure, "error": Error, "skipped": Skipped}

BUDGET = 8 * 1024 * 1024
"""Bytes of explanations and output in one document: dashboards take 30 MB a file, and names alone are 200 bytes a test.
Beyond it a red case keeps its message and place; the rest is in the record."""
NAME = 400
MESSAGE = 300
EXPLANATION = 8 * 1024

# From a verdict's fingerprint to the names that dashboards know; any other appears as fingerprint.<name>.
FINGERPRINT_PROPERTIES: dict[str, str] = {
    "gpu": "gpu.name",
    "driver": "driver.version",
    "runtime": "runtime.version",
    "commit": "vcs.commit",
    "compiler": "build.compiler",
    "build": "build.digest",
    "host": "host.name",
    "os": "host.os",
    "emulator": "emulator",
}
VERSIONS = {"rocm.version": r"ROCm (\S+)", "hip.version": r"HIP (\S+)", "cuda.version": r"CUDA (\S+)"}
"""Patterns of the versions that a runtime's name may state."""

# Facts in the environment of a CI job: GitHub's names, then GitLab's and Jenkins'.
ENVIRONMENT_PROPERTIES: dict[str, tuple[str, ...]] = {
    "vcs.commit": ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"),
    "vcs.branch": ("GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH"),
    "run.id": ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_NUMBER"),
    "run.attempt": ("GITHUB_RUN_ATTEMPT",),
    "run.trigger": ("GITHUB_EVENT_NAME", "CI_PIPELINE_SOURCE"),
}


class _Seconds(FloatAttr):
    """An attribute in fixed point with three decimals.

    A reader that knows no exponents takes 1e-05 for a day, and Jenkins refuses a fourth decimal.
    """

    def __set__(self, instance: Any, value: Any) -> None:
        Attr.__set__(self, instance, f"{value if isfinite(value) and value > 0 else 0:.3f}")


class JUnitCase(TestCase):
    time = _Seconds()


class JUnitSuite(TestSuite):
    time = _Seconds()
    testcase = JUnitCase


class JUnitDocument(JUnitXml):
    """A ``testsuites`` element; the schema knows no ``skipped`` on it."""

    time = _Seconds()
    testsuite = JUnitSuite

    def update_statistics(self) -> None:
        super().update_statistics()  # type: ignore[no-untyped-call]
        self._elem.attrib.pop("skipped", None)


class SizeBudget:
    """The bytes of text that a document can still take."""

    def __init__(self, left: int) -> None:
        self.left = left

    def takes(self, text: str) -> bool:
        self.left -= len(text.encode())
        return self.left >= 0


class JUnitReport(Report):
    """The report of a run in JUnit's XML. Those of a merged run were written as its parts came (``MergedJUnit``)."""

    file = "junit.xml"

    def text(self, run: ReportedRun) -> str:
        return _as_text(document(run.ledgers[0], dialect=run.junit))

    def write(self, run: ReportedRun, folder: Path, echo: Callable[[str], None] = print) -> None:
        if not run.is_merged:
            super().write(run, folder, echo)


def document(ledger: Ledger, budget: int = BUDGET, dialect: JUnitDialect = STRICT) -> JUnitDocument:
    """Return the document of a ledger: a testsuite for each suite.

    A ledger that compared nothing gets a testcase with an error, since it must be red.
    """
    xml = JUnitDocument("bitgate")
    for suite in (
        *suites_of(ledger, budget, dialect),
        *about_target(ledger, is_empty=not any(e.verdict.compared for e in ledger.entries)),
    ):
        xml.add_testsuite(suite)
    xml.update_statistics()
    return xml


def suites_of(ledger: Ledger, budget: int = BUDGET, dialect: JUnitDialect = STRICT) -> list[JUnitSuite]:
    """Return a testsuite for each suite of a ledger."""
    names = test_names([entry.verdict for entry in ledger.entries])
    groups: dict[str, list[tuple[TestName, AttemptEntry]]] = {}
    for name, entry in zip(names, ledger.entries, strict=True):
        groups.setdefault(name.suite, []).append((name, entry))
    room = SizeBudget(budget)
    return [_suite(name, ledger, members, room, dialect) for name, members in groups.items()]


def about_target(ledger: Ledger, is_empty: bool) -> Iterator[JUnitSuite]:
    """Yield suites of what is wrong with a target's run: it compared nothing, or has findings."""
    if is_empty:
        yield _nothing_compared(ledger)
    if ledger.findings:
        yield _about_the_run(ledger.target, ledger.started, ledger.findings)


def about_night(findings: Sequence[RunFinding]) -> JUnitSuite:
    """Return a suite of the findings about a whole night."""
    return _about_the_run("night", "", findings)


def about_missing(absent: MissingTarget) -> JUnitSuite:
    """Return the skipped suite of a target without a machine."""
    return _did_not_run(absent)


def write(xml: JUnitDocument, path: Path) -> None:
    """Write a document in one move, so that no reader meets half of it."""
    write_whole(path, _as_text(xml))


def _as_text(xml: JUnitDocument) -> str:
    ElementTree.indent(xml._elem)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(xml._elem, encoding='unicode')}"


def _suite(
    name: str,
    ledger: Ledger,
    members: list[tuple[TestName, AttemptEntry]],
    room: SizeBudget,
    dialect: JUnitDialect,
) -> JUnitSuite:
    suite = JUnitSuite(name)
    suite.timestamp = ledger.started
    verdicts = [entry.verdict for _, entry in members]
    properties = _properties(ledger, verdicts)
    suite.hostname = one_line(properties.get("host.name", UNKNOWN))
    for key, value in properties.items():
        suite.add_property(dialect.suite_properties.format(one_line(key)), one_line(value))
    if tables := Counter(table for verdict in verdicts if (table := verdict.row.rpartition(":")[0])):
        # Jenkins' schema has a file for suites only. Readers that locate a failure take the file from here, and the
        # line from the failure's text.
        suite._elem.set("file", one_line(tables.most_common(1)[0][0]))
    suite.add_testcases([_case(test_name, entry, room, dialect) for test_name, entry in members])
    return suite


def _properties(ledger: Ledger, verdicts: list[Verdict], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    first = verdicts[0]
    shards = [shard.split("of") for shard in ledger.shards] or [["1", "1"]]
    properties = {
        "schema": "1",
        "gpu.target": ledger.target,
        "gpu.name": first.device_name,
        "device.kind": first.device_kind,
        "platform": first.platform,
        "run.tier": ledger.tier,
        "shard.index": ",".join(index for index, _ in shards),
        "shard.count": shards[0][1],
        "shard.plan": ledger.plan,
        "rocm.version": "none",
        "vcs.commit": UNKNOWN,
    }
    for name, variables in ENVIRONMENT_PROPERTIES.items():
        properties[name] = next((v for v in map(environment.get, variables) if v), properties.get(name, ""))
    for name, value in _fingerprint(verdicts).items():
        if (name, value) == ("gpu", "none"):
            continue  # the host has a device name too, that of its CPU
        properties[FINGERPRINT_PROPERTIES.get(name, f"fingerprint.{name}")] = value
    for name, pattern in VERSIONS.items():
        if match := re.search(pattern, properties.get("runtime.version", "")):
            properties[name] = match[1].rstrip(",;")
    return {name: value for name, value in properties.items() if value}


def _fingerprint(verdicts: list[Verdict]) -> dict[str, str]:
    """Return the fingerprint of all verdicts, several values of one name joined.

    UNKNOWN is left out, so that it does not override what the CI system states.
    """
    seen: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        for name, value in verdict.fingerprint.items():
            if value and value != UNKNOWN:
                seen.setdefault(name, {})[value] = None
    return {name: ", ".join(values) for name, values in seen.items()}


def _case(name: TestName, entry: AttemptEntry, room: SizeBudget, dialect: JUnitDialect) -> JUnitCase:
    verdict = entry.verdict
    seconds = verdict.seconds.get("total", sum(verdict.seconds.values()))
    case = JUnitCase(capped_name(name.name), capped_name(name.classname), seconds)
    result = result_of(verdict)
    if result is None:
        return case  # passed: the record has the rest
    element = ELEMENTS[result.element](one_line(result.message, MESSAGE), one_line(result.type, NAME))
    case.result = element
    dialect.place(case._elem, *verdict.row.rpartition(":")[::2])
    if dialect.properties and verdict.outcome is not Outcome.NOT_RUN:
        facts = facts_of(verdict)
        if room.takes("".join(facts.values())):
            dialect.add_properties(case._elem, facts)
    if result.element == "skipped":
        return case
    element.text = f" at {one_line(verdict.row)}" if verdict.row else ""
    explanation = capped("\n".join(_explanation(verdict, result)), EXPLANATION)
    if room.takes(explanation):
        element.text = explanation
    output = capped(legal(_system_out(entry)))
    if room.takes(output):
        case.system_out = output
    return case


def capped_name(text: str) -> str:
    """Shorten a long name to its beginning, a checksum that keeps it unique, and its end, which has kernel and fill."""
    clean = legal(text)
    if len(clean) <= NAME:
        return clean
    return f"{clean[: NAME // 2]}_{zlib.crc32(text.encode(errors='replace')):08x}_{clean[-NAME // 4 :]}"


def _explanation(verdict: Verdict, result: JUnitResult) -> Iterator[str]:
    for line in (*result.lines, verdict.human, verdict.foreign):
        if line:
            yield one_line(line, 2000)
    if extent := extent_line(verdict):
        yield one_line(extent)
    yield from (one_line(line) for line in cell_lines(verdict))
    if place := place_of(verdict):
        yield f"ran on {one_line(place, 2000)}"
    if verdict.repro:
        yield f"repeat: {one_line(verdict.repro, 2000)}"
    if verdict.row:
        yield f" at {one_line(verdict.row)}"


def _system_out(entry: AttemptEntry) -> str:
    """Format ``key=value`` lines, for the search of a dashboard and for a person who needs more than the outcome."""
    verdict = entry.verdict
    key, certificate = verdict.key, verdict.certificate
    pairs: dict[str, object] = {
        "verdict": verdict.outcome,
        "case": key.case,
        "human": verdict.human,
        "kernel": key.name,
        "options": " ".join(f"{name}={value}" for name, value in key.options),
        "fill": key.fill,
        "seed": key.seed,
        "schedule": key.schedule,
        "reason": verdict.reason,
        "reference": verdict.reference,
        "digest": verdict.digest,
        "certificate": f"bound {certificate.bound} of {certificate.exact_range}, density {certificate.density:.3g},"
        f" sensitivity {'not measured' if certificate.sensitivity is None else f'{certificate.sensitivity:.3g}'}"
        if certificate
        else "",
        **{f"error.{name}": f"{value:.3g}" for name, value in verdict.error.items()},
        **{f"dispatch.{name}": value for name, value in verdict.dispatch.items()},
        **{f"seconds.{name}": f"{value:.6f}" for name, value in verdict.seconds.items()},
        "attempts": " ".join(map(str, (*entry.earlier, verdict.outcome))) if entry.earlier else "",
        "repro": verdict.repro,
        "foreign": verdict.foreign,
    }
    return "\n".join(f"{name}={one_line(value, 4000)}" for name, value in pairs.items() if value not in ("", None))


def _suite_of_run(name: str, target: str, started: str = "") -> JUnitSuite:
    suite = JUnitSuite(f"bitgate.run.{name}")
    suite.timestamp = started or datetime.now(timezone.utc).isoformat(timespec="seconds")
    suite.hostname = UNKNOWN
    suite.add_property("gpu.target", one_line(target))
    return suite


def _did_not_run(absent: MissingTarget) -> JUnitSuite:
    suite = _suite_of_run(absent.target, absent.target)
    case = JUnitCase("test_a_machine_was_there", f"bitgate.{absent.target}.run", 0.0)
    case.result = Skipped(one_line(f"not run: {absent.reason}", MESSAGE), "no_machine")
    suite.add_testcases([case])
    return suite


def _nothing_compared(ledger: Ledger) -> JUnitSuite:
    suite = _suite_of_run(ledger.target, ledger.target, ledger.started)
    case = JUnitCase("test_something_was_compared", f"bitgate.{ledger.target}.run", 0.0)
    case.result = Error(
        f"nothing was compared on {ledger.target}: a run that compares nothing proves nothing", "NothingCompared"
    )
    suite.add_testcases([case])
    return suite


def _about_the_run(where: str, started: str, findings: Sequence[RunFinding]) -> JUnitSuite:
    suite = _suite_of_run(f"{where}.whole", where, started)
    for number, finding in enumerate(findings, 1):
        case = JUnitCase(f"test_run_is_whole[{finding.kind.lower()}_{number}]", f"bitgate.{where}.run", 0.0)
        result = Error(one_line(finding.sentence, 4096), finding.kind)
        result.text = KINDS[finding.kind]
        case.result = result
        suite.add_testcases([case])
    return suite
