"""The table of many submissions: per task and kind of time, the right ones by their time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bitgate.core.untrusted import shown

EXIT_OF_NONE = 3


def table_of(reports: Iterable[Mapping[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    """Return the table as data: right submissions have places, by time where there is one; times of different kinds are
    never ranked together."""
    every = list(reports)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in every:
        groups.setdefault((one["task"], (one["time"] or {}).get("kind", "no")), []).append(one)
    tasks = [{"task": task, "time": kind, "rows": _rows(found)} for (task, kind), found in sorted(groups.items())]
    verdicts = Counter(one["verdict"] for one in every)
    if not every:
        code = EXIT_OF_NONE
    else:
        code = 1 if verdicts["wrong"] else 0 if verdicts["right"] == len(every) and not notes else EXIT_OF_NONE
    return {"exit": code, "verdicts": dict(verdicts.most_common()), "notes": list(notes), "tasks": tasks}


def as_lines(table: Mapping[str, Any]) -> list[str]:
    """Return the table as lines of a terminal."""
    lines = []
    for one in table["tasks"]:
        lines.append(f"{one['task']} ({one['time']} times)")
        for row in one["rows"]:
            time = "" if row["ms"] is None else f"{row['ms']:.4g} ms"
            why = f"  {shown(row['diagnosis'])}" if row["diagnosis"] else ""
            lines.append(f"{row['place'] or '':>4}  {row['verdict']:7} {time:>12}  {row['submission']}{why}")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in table["verdicts"].items()) or "nothing was judged"
    return [*lines, *(f"note: {note}" for note in table["notes"]), counts]


def _rows(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = [
        {
            "submission": one["submission"],
            "verdict": one["verdict"],
            "ms": (one["time"] or {}).get("ms") if one["verdict"] == "right" else None,
            "diagnosis": one["diagnosis"],
        }
        for one in reports
    ]
    rows.sort(key=lambda row: (row["verdict"] != "right", row["ms"] is None, row["ms"] or 0.0, row["submission"]))
    for place, row in enumerate(rows, 1):
        row["place"] = place if row["verdict"] == "right" and row["ms"] is not None else None
    return rows
