"""Which shapes of a sweep are counted together."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.model import ProblemError, parse_case_id
from bitgate.tools.bench.compare import ShapeResult

OTHERS = "others"


def grouped(shapes: Sequence[ShapeResult]) -> dict[str, list[ShapeResult]]:
    """By what sets them apart of what their operations name: ``bwd_data, stride > 1`` of a sweep of one type. Sorted;
    what belongs to no operation that is loaded stands under ``others``."""
    named = [(_words(one.case), one) for one in shapes]
    known = [words for words, _ in named if words]
    depth = max(map(len, known), default=0)
    apart = [place for place in range(depth) if len({words[place : place + 1] for words in known}) > 1] or [depth - 1]
    groups: dict[str, list[ShapeResult]] = {}
    for words, one in named:
        name = ", ".join(words[place] for place in apart if place < len(words)) if words else OTHERS
        groups.setdefault(name, []).append(one)
    return dict(sorted(groups.items()))


def _words(case: str) -> tuple[str, ...]:
    try:
        return (problem := parse_case_id(case)).operation.diagnostics.groups(problem)
    except ProblemError:  # of an operation that is not loaded here
        return ()
