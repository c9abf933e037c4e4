"""The first wrong cells of a red verdict, as people read them: coordinates, what stands there, and what should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bitgate.results.record import Verdict

CELLS_SHOWN = 10


def cell_lines(verdict: Verdict) -> list[str]:
    """``g 0, n 0, c 17, h 3, w 1: 0 instead of 12``, at most ten; empty where none is known."""
    evidence = verdict.diagnosis.evidence if verdict.diagnosis else {}
    rows = evidence.get("first_wrong_cells") if isinstance(evidence, Mapping) else None
    axes = verdict.view.get("axes", ()) if isinstance(verdict.view, Mapping) else ()
    return [_format_cell(row, axes) for row in (rows if isinstance(rows, list) else [])[:CELLS_SHOWN] if isinstance(row, Mapping)]


def _format_cell(row: Mapping[str, Any], axes: Any) -> str:
    at = row.get("at")
    places = list(at) if isinstance(at, (list, tuple)) else [at]
    letters = list(axes) if isinstance(axes, (list, tuple)) and len(axes) == len(places) else [""] * len(places)
    where = ", ".join(f"{letter} {place}".strip() for letter, place in zip(letters, places, strict=True))
    return f"{where}: {row.get('result')} instead of {row.get('reference')}"
