"""The result of a verdict as reports show it: JUnit's element, type and message, and the first wrong cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bitgate.results.record import Outcome, Verdict


@dataclass(frozen=True)
class JUnitResult:
    """The JUnit element of a verdict: failure, error or skipped, its type and message, and longer ``lines``."""

    element: str
    type: str
    message: str
    lines: tuple[str, ...] = ()


# The more specific type, where the reason names it.
REASON_TYPES: tuple[tuple[Outcome, str, str], ...] = (
    (Outcome.CRASHED, r"\b(SIG[A-Z]{3,})\b", r"WorkerCrash.\1"),
    (Outcome.INFRA, r"(?i)\bout of memory\b", "HostOom"),
    (Outcome.INFRA, r"(?i)\bdisk\b", "HostDisk"),
    (Outcome.INFRA, r"\bstored digest\b", "StoredDigest"),
    (Outcome.NOT_RUN, r"(?i)\binterrupted\b", "Interrupted"),
)


def result_of(verdict: Verdict) -> JUnitResult | None:
    """Return the JUnit element of a verdict, None if it passed."""
    if not verdict.green:
        facts = verdict.outcome.facts
        return JUnitResult(
            facts.element, _telling_type(verdict) or facts.type, sentence_of(verdict), tuple(_format_lines(verdict))
        )
    kind = verdict.outcome.facts.skipped
    return JUnitResult("skipped", kind, sentence_of(verdict)) if kind else None


def sentence_of(verdict: Verdict) -> str:
    """Return what is wrong in one sentence. With a known bug the reason says more than the diagnosis."""
    diagnosed = verdict.diagnosis.sentence if verdict.diagnosis else ""
    said = (verdict.reason, diagnosed) if verdict.known_bug else (diagnosed, verdict.reason)
    return next((text for text in said if text.strip()), verdict.outcome.meaning)


def _telling_type(verdict: Verdict) -> str:
    if verdict.known_bug and verdict.outcome is not Outcome.KNOWN_BUG:
        return "KnownBug"
    for outcome, pattern, kind in REASON_TYPES:
        if verdict.outcome is outcome and (match := re.search(pattern, verdict.reason)):
            return match.expand(kind)
    return ""


def _format_lines(verdict: Verdict) -> list[str]:
    sentences = [f"{verdict.outcome}: {verdict.outcome.meaning}", verdict.reason]
    if verdict.diagnosis:
        sentences.append(f"{', '.join(map(str, verdict.diagnosis.kinds))}: {verdict.diagnosis.sentence}")
    return sentences


def place_of(verdict: Verdict) -> str:
    """Format where a verdict was made: ``node-17, GPU 0000:c1:00.0 (GPU-8f3c...), job 4711, log ...``."""
    gpu = verdict.device_id
    named = gpu.get("pci") or gpu.get("index", "")
    parts = [
        verdict.where.get("node", ""),
        f"GPU {named}" + (f" ({gpu['uuid']})" if "uuid" in gpu else "") if gpu else "",
        f"job {verdict.where['job']}" if "job" in verdict.where else "",
        f"log {verdict.where['log']}" if "log" in verdict.where else "",
    ]
    return ", ".join(filter(None, parts))


CELLS_SHOWN = 10


def cell_lines(verdict: Verdict) -> list[str]:
    """Format at most ten wrong cells: ``g 0, n 0, c 17, h 3, w 1: 0 instead of 12``; none if none is known."""
    evidence = verdict.diagnosis.evidence if verdict.diagnosis else {}
    rows = evidence.get("first_wrong_cells") if isinstance(evidence, Mapping) else None
    axes = verdict.view.get("axes", ()) if isinstance(verdict.view, Mapping) else ()
    return [
        _format_cell(row, axes)
        for row in (rows if isinstance(rows, list) else [])[:CELLS_SHOWN]
        if isinstance(row, Mapping)
    ]


MOST_ULPS = 1_000_000
"""A number of units in the last place beyond this one says no more than the difference itself."""


def extent_line(verdict: Verdict) -> str:
    """Format how many cells are wrong and by how much at most; empty where that is not known."""
    extent = verdict.diagnosis.evidence.get("extent") if verdict.diagnosis else None
    if not isinstance(extent, Mapping) or not extent.get("wrong"):
        return ""
    difference = str(extent.get("difference")).removesuffix(".0")
    most = {"inf": "some by NaN or an infinity", "0": "by the sign of zero"}.get(difference, f"by {difference} at most")
    ulps = extent.get("ulps")
    if isinstance(ulps, int) and 0 < ulps <= MOST_ULPS:
        most += f", {ulps} unit{'s' if ulps != 1 else ''} in the last place"
    bound = verdict.error.get("of_bound")
    if bound:
        most += f", {bound:.3g} times its bound"
    return f"{extent['wrong']} of {extent.get('of')} cells are wrong, {most}"


def _format_cell(row: Mapping[str, Any], axes: Any) -> str:
    at = row.get("at")
    places = list(at) if isinstance(at, (list, tuple)) else [at]
    letters = list(axes) if isinstance(axes, (list, tuple)) and len(axes) == len(places) else [""] * len(places)
    where = ", ".join(f"{letter} {place}".strip() for letter, place in zip(letters, places, strict=True))
    return f"{where}: {row.get('result')} instead of {row.get('reference')}"
