"""JUnit from a ledger: which element and type a verdict becomes, and what the suites say about the machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import Attr, FinalResult, FloatAttr

from bitgate.record import MEANING, Outcome, Verdict
from bitgate.report.ledger import Entry, Ledger
from bitgate.report.names import TestName, test_names
from bitgate.report.text import capped, legal

# What a red verdict becomes. A failure says that the kernel is wrong, an error that it could not be told.
RED: dict[Outcome, tuple[type[FinalResult], str]] = {
    Outcome.PASS: (Failure, "ExpectedOtherwise"),
    Outcome.MISMATCH: (Failure, "Mismatch"),
    Outcome.NONDETERMINISTIC: (Failure, "Nondeterministic"),
    Outcome.CORRUPTED: (Failure, "Corrupted"),
    Outcome.BUILD_FAILED: (Failure, "CompileError"),
    Outcome.REFUSED: (Failure, "Refused"),
    Outcome.CRASHED: (Error, "Crash"),
    Outcome.HUNG: (Error, "Timeout"),
    Outcome.LOST: (Error, "Lost"),
    Outcome.NOT_RUN: (Error, "NotRun"),
    Outcome.INFRA: (Error, "DeviceLost"),
}

# A green verdict that compared nothing and is not an expected refusal: shown as skipped, never as passed.
SKIPPED: dict[Outcome, str] = {Outcome.NOT_RUN: "unsupported", Outcome.KNOWN_BUG: "quarantined"}

# The more telling type, where the reason names it.
REASON_TYPES: tuple[tuple[Outcome, str, str], ...] = (
    (Outcome.CRASHED, r"\b(SIG[A-Z]{3,})\b", r"WorkerCrash.\1"),
    (Outcome.INFRA, r"(?i)\bout of memory\b", "HostOom"),
    (Outcome.INFRA, r"(?i)\bdisk\b", "HostDisk"),
    (Outcome.INFRA, r"\bstored digest\b", "StoredDigest"),
    (Outcome.NOT_RUN, r"(?i)\binterrupted\b", "Interrupted"),
)

# From a verdict's fingerprint to the names that dashboards know; what is not listed appears as fingerprint.<name>.
FINGERPRINT_PROPERTIES: dict[str, str] = {
    "rocm": "rocm.version",
    "hip": "hip.version",
    "driver": "driver.amdgpu",
    "commit": "vcs.commit",
    "compiler": "build.compiler",
    "build": "build.digest",
    "machine": "host.name",
}

# What continuous integration tells by its environment: GitHub's names, then GitLab's and Jenkins'.
ENVIRONMENT_PROPERTIES: dict[str, tuple[str, ...]] = {
    "vcs.commit": ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"),
    "vcs.branch": ("GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH"),
    "run.id": ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_NUMBER"),
    "run.attempt": ("GITHUB_RUN_ATTEMPT",),
    "run.trigger": ("GITHUB_EVENT_NAME", "CI_PIPELINE_SOURCE"),
}


class _Seconds(FloatAttr):
    """Fixed point: a reader that knows no exponents takes 1e-05 for a day."""

    def __set__(self, instance: Any, value: Any) -> None:
        Attr.__set__(self, instance, f"{value:.6f}")


class Case(TestCase):
    time = _Seconds()


class Suite(TestSuite):
    time = _Seconds()
    testcase = Case


class Document(JUnitXml):
    """A ``testsuites`` element; the schema knows no ``skipped`` on it."""

    time = _Seconds()
    testsuite = Suite

    def update_statistics(self) -> None:
        super().update_statistics()  # type: ignore[no-untyped-call]
        self._elem.attrib.pop("skipped", None)


def document(ledger: Ledger, commit: str = "") -> Document:
    """One testsuite a suite of the ledger. A ledger that compared nothing gets an error of its own: it must be red.

    ``commit`` is the one that ran, where neither the record nor the CI system says.
    """
    names = test_names([entry.verdict for entry in ledger.entries])
    groups: dict[str, list[tuple[TestName, Entry]]] = {}
    for name, entry in zip(names, ledger.entries, strict=True):
        groups.setdefault(name.suite, []).append((name, entry))
    xml = Document("bitgate")
    for suite_name, members in groups.items():
        xml.add_testsuite(_suite(suite_name, ledger, members, commit))
    if not any(entry.verdict.compared for entry in ledger.entries):
        xml.add_testsuite(_nothing_compared(ledger))
    xml.update_statistics()
    return xml


def merged(files: Iterable[Path]) -> Document:
    """The suites of several JUnit files in one document, in order."""
    xml = Document("bitgate")
    for file in files:
        for suite in Document.fromfile(str(file)):
            xml.add_testsuite(suite)
    xml.update_statistics()
    return xml


def write(xml: Document, path: Path) -> None:
    """Write in one move, so that a reader never meets half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    ElementTree.indent(xml._elem)
    xml.write(str(part))
    part.replace(path)


def _suite(name: str, ledger: Ledger, members: list[tuple[TestName, Entry]], commit: str) -> Suite:
    suite = Suite(name)
    suite.timestamp = ledger.started
    properties = _properties(ledger, members[0][1].verdict, commit)
    suite.hostname = properties.get("host.name", "unknown")
    for key, value in properties.items():
        suite.add_property(key, legal(value))
    suite.add_testcases([_case(test_name, entry) for test_name, entry in members])
    return suite


def _properties(
    ledger: Ledger, verdict: Verdict, commit: str, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    shards = [shard.split("of") for shard in ledger.shards] or [["1", "1"]]
    properties = {
        "schema": "1",
        "gpu.target": ledger.target,
        "gpu.name": verdict.device_name,
        "device.kind": verdict.device_kind,
        "platform": verdict.platform,
        "run.tier": ledger.tier,
        "shard.index": ",".join(index for index, _ in shards),
        "shard.count": shards[0][1],
        "shard.plan": ledger.plan,
        "rocm.version": "none",
        "vcs.commit": commit or "unknown",
    }
    for name, variables in ENVIRONMENT_PROPERTIES.items():
        properties[name] = next((v for v in map(environment.get, variables) if v), properties.get(name, ""))
    for name, value in verdict.fingerprint.items():
        properties[FINGERPRINT_PROPERTIES.get(name, f"fingerprint.{name}")] = value
    return {name: value for name, value in properties.items() if value}


def _case(name: TestName, entry: Entry) -> Case:
    verdict = entry.verdict
    case = Case(name.name, name.classname, verdict.seconds.get("total", sum(verdict.seconds.values())))
    result = _result(verdict)
    if result is not None:
        case.result = result
    case.system_out = capped(legal(_system_out(entry)))
    return case


def _result(verdict: Verdict) -> FinalResult | None:
    if not verdict.green:
        element, kind = RED[verdict.outcome]
        sentence = verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason or MEANING[verdict.outcome]
        result = element(legal(sentence), _telling_type(verdict) or kind)
        result.text = legal("\n".join(line for line in _explanation(verdict) if line))
        return result
    kind = SKIPPED.get(verdict.outcome, "")
    return Skipped(legal(verdict.reason or MEANING[verdict.outcome]), kind) if kind else None


def _telling_type(verdict: Verdict) -> str:
    for outcome, pattern, kind in REASON_TYPES:
        if verdict.outcome is outcome and (match := re.search(pattern, verdict.reason)):
            return match.expand(kind)
    return ""


def _explanation(verdict: Verdict) -> Iterable[str]:
    yield f"{verdict.outcome}: {MEANING[verdict.outcome]}"
    yield verdict.reason
    if verdict.diagnosis:
        yield f"{', '.join(verdict.diagnosis.kinds)}: {verdict.diagnosis.sentence}"
    yield verdict.human
    yield verdict.foreign
    yield f"repeat: {verdict.repro}" if verdict.repro else ""


def _system_out(entry: Entry) -> str:
    """``key=value`` lines: what a dashboard's search finds, and what a person needs to know beside the outcome."""
    verdict = entry.verdict
    key, certificate = verdict.key, verdict.certificate
    pairs: dict[str, object] = {
        "verdict": verdict.outcome,
        "case": key.case,
        "human": verdict.human,
        "kernel": f"{key.kernel}.{key.instance}",
        "options": " ".join(f"{name}={value}" for name, value in key.options),
        "fill": key.fill,
        "seed": key.seed,
        "schedule": key.schedule,
        "reason": verdict.reason,
        "reference": verdict.reference,
        "digest": verdict.digest,
        "certificate": f"bound {certificate.bound} of {certificate.exact_range}, density {certificate.density:.3g},"
        f" sensitivity {certificate.sensitivity:.3g}"
        if certificate
        else "",
        **{f"error.{name}": f"{value:.3g}" for name, value in verdict.error.items()},
        **{f"dispatch.{name}": value for name, value in verdict.dispatch.items()},
        **{f"seconds.{name}": f"{value:.6f}" for name, value in verdict.seconds.items()},
        "attempts": " ".join(map(str, (*entry.earlier, verdict.outcome))) if entry.earlier else "",
        "repro": verdict.repro,
        "foreign": verdict.foreign,
    }
    return "\n".join(f"{name}={value}" for name, value in pairs.items() if value not in ("", None))


def _nothing_compared(ledger: Ledger) -> Suite:
    suite = Suite(f"bitgate.run.{ledger.target}")
    suite.timestamp = ledger.started
    suite.hostname = "unknown"
    suite.add_property("gpu.target", ledger.target)
    case = Case("test_something_was_compared", f"bitgate.{ledger.target}.run", 0.0)
    case.result = Error(
        f"nothing was compared on {ledger.target}: a run that compares nothing proves nothing", "NothingCompared"
    )
    suite.add_testcases([case])
    return suite
