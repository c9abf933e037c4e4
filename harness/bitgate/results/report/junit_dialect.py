"""Dialects of JUnit: what a dashboard shows beyond the strict schema, and how large a file it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from bitgate.core.choices import JUNIT_DIALECTS
from bitgate.core.errors import UsageError, near
from bitgate.results.record import Verdict
from bitgate.results.report.cause import cause_of
from bitgate.results.report.text import one_line

MIB = 1 << 20


@dataclass(frozen=True)
class JUnitDialect:
    """One reader's way to write JUnit. Tests that passed look alike in all of them."""

    name: str = "strict"
    has_file: bool = False
    """A test states the table of its row."""
    has_line: bool = False
    properties: str = ""
    """The name of a property of a test, with ``{}`` for ours; empty if tests have none."""
    suite_properties: str = "{}"
    """The names of a suite's properties."""
    limit: int = 20 * MIB
    """Bytes of a file before it is indented: GitLab takes 30 MB, and some set 25."""
    tests: int = 1 << 30
    """Tests of a file."""

    def place(self, element: Element, file: str, line: str) -> None:
        """State on a test where it is written, as far as the dialect does."""
        if file and self.has_file:
            element.set("file", one_line(file))
        if self.has_line and line.isascii() and line.isdecimal() and len(line) < 10:
            element.set("line", line)

    def add_properties(self, element: Element, pairs: Mapping[str, str]) -> None:
        """Add properties to a test, as far as the dialect does."""
        if not self.properties or not any(pairs.values()):
            return
        properties = Element("properties")
        for name, value in pairs.items():
            if value:
                SubElement(properties, "property", {"name": self.properties.format(name), "value": value})
        element.insert(0, properties)


STRICT = JUnitDialect()
"""The dialect of Jenkins' schema, which every reader takes."""
_DIALECTS = (
    STRICT,
    JUnitDialect("github", has_file=True, has_line=True),
    JUnitDialect("gitlab", has_file=True, tests=10_000),  # it counts the objects in a file: 250,000 at most
    JUnitDialect("jenkins", properties="{}"),
    JUnitDialect("datadog", has_file=True, properties="dd_tags[{}]", suite_properties="dd_tags[{}]"),
)
DIALECTS = {one.name: one for one in _DIALECTS}
assert tuple(DIALECTS) == JUNIT_DIALECTS


def dialect_named(name: str) -> JUnitDialect:
    """Return the dialect that ``--junit`` names. UsageError, with the nearest name, for an unknown one."""
    if name not in DIALECTS:
        raise UsageError(f"--junit {name}: {near(name, DIALECTS)}")
    return DIALECTS[name]


def facts_of(verdict: Verdict) -> dict[str, str]:
    """Return what a dashboard searches by, each on a line: a failure's cause, and where it ran; empty if unknown."""
    key, gpu, where = verdict.key, verdict.device_id, verdict.where
    cause = cause_of(verdict)
    facts = dict(_stated(verdict)) | {
        "gpu.target": key.target,
        "kernel": key.kernel,
        "instance": key.instance,
        "options": " ".join(f"{name}={value}" for name, value in key.options),
        "path": cause.path,
        "kind": cause.kind,
        "cause": cause.id,
        "node": where.get("node", "") or verdict.fingerprint.get("host", ""),
        "gpu.uuid": gpu.get("uuid", ""),
        "gpu.pci": gpu.get("pci", ""),
        "job": where.get("job", ""),
        "log": where.get("log", ""),
        "row": verdict.row,
    }
    return {name: one_line(value) for name, value in facts.items()}


def _stated(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "verdict", verdict.outcome.value
    yield from ((f"known_bug.{name}", verdict.known_bug.get(name, "")) for name in ("ticket", "expires"))
