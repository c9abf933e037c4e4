"""Launches are counted, not believed: what a dispatch record states is held to what the runtime saw."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.kernel.abi import EventKind
from bitgate.kernel.dispatch import TRANSPOSES, DispatchRecord, LaunchOutline, outlines_of
from bitgate.runtime.seen_work import FILL, KERNEL, SeenWork

FILLS = frozenset({"zero_fill", "fill", "fill_unowned"})
"""Names of launches that clear the result, which a record's ``launches`` leaves out, as it does transposes."""


def miscounts(record: DispatchRecord, seen: Sequence[SeenWork] | None) -> list[str]:
    """Return sentences on how a record's launches, blocks and fills differ from those that the runtime saw.

    ``seen`` is None where the runtime reports none; then the record is only held to its own log.
    """
    logged = [] if record.lost_events else outlines_of(record.events)
    kernels = [event for event in logged if event.kind is EventKind.KERNEL]
    fills = [event for event in logged if event.kind is EventKind.MEMSET]
    found = _against_log(record, kernels, fills) if logged else []
    if seen is None:
        return found
    launched = [work for work in seen if work.kind == KERNEL]
    filled = [work for work in seen if work.kind == FILL]
    if kernels:
        found += _launches_differ(kernels, launched)
    elif len(launched) not in (record.launches, record.launches + record.zero_fill):
        found.append(f"launches is {record.launches}, the runtime saw {_listed(work.name for work in launched)}")
    cleared = [work for work in filled if not work.is_private]
    if fills:
        found += _fills_differ(fills, cleared) and _fills_differ(fills, filled)
    elif cleared and not record.zero_fill:
        found.append(f"the runtime saw a fill of {cleared[0].bytes} bytes ({cleared[0].name}), the record states none")
    if record.zero_fill and not cleared and len(launched) <= record.launches and not FILLS & {k.name for k in kernels}:
        found.append("zero_fill is True, and the runtime saw neither a fill nor a further launch")
    return found


def _against_log(record: DispatchRecord, kernels: list[LaunchOutline], fills: list[LaunchOutline]) -> list[str]:
    """Hold ``launches`` to the record's own log. A kernel of another name may be what clears the result."""
    counted = [kernel.name for kernel in kernels if kernel.name not in TRANSPOSES | FILLS]
    clears = bool(record.zero_fill and not fills and len(counted) == len(kernels))
    if len(counted) in (record.launches, record.launches + clears):
        return []
    return [f"launches is {record.launches}, its log lists {_listed(counted)}"]


def _launches_differ(logged: list[LaunchOutline], seen: list[SeenWork]) -> list[str]:
    if len(logged) != len(seen):
        names = [work.name or "a kernel" for work in seen]
        return [f"the record lists {_listed(event.name for event in logged)}, the runtime saw {_listed(names)}"]
    for number, (event, work) in enumerate(zip(logged, seen, strict=True)):
        if (event.grid, event.block) != (work.grid, work.block):
            blocks = f"{work.grid} blocks of {work.block} threads"
            return [f"launch {number} ({event.name}) had {blocks}, the record lists {event.grid} of {event.block}"]
        if event.function != work.function:
            return [f"launch {number} was of another kernel than {event.name}, which the record lists"]
    return []


def _fills_differ(logged: list[LaunchOutline], seen: list[SeenWork]) -> list[str]:
    ours = [(event.address, event.bytes) for event in logged]
    theirs = [(work.address, work.bytes) for work in seen]
    if ours == theirs:
        return []
    sizes = [f"{size} bytes" for _, size in theirs]
    return [f"the record lists {len(ours)} fills, the runtime saw {len(theirs)} others ({', '.join(sizes)})"]


def _listed(names: object) -> str:
    listed = list(names)  # type: ignore[call-overload]
    shown = ", ".join(listed[:4]) + (", ..." if len(listed) > 4 else "")
    return f"{len(listed)} launch{'es' if len(listed) != 1 else ''}{f' ({shown})' if listed else ''}"
