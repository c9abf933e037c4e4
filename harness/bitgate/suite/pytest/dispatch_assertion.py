"""A kernel's dispatch record, asserted to be what a row and its test state."""

from __future__ import annotations

from typing import Any

from bitgate.results.record import Verdict
from bitgate.suite.row import CaseRow


class _Some:
    """Equal to every number above 0."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, float)) and other > 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "SOME"


SOME = _Some()


def assert_dispatch(verdict: Verdict, row: CaseRow, stated: dict[str, Any]) -> None:
    """AssertionError if the record says otherwise than the row's ``dispatch`` and what the test states."""
    __tracebackhide__ = True
    if not row.dispatch and not stated:
        raise AssertionError(f"{row.origin}: states no dispatch, and the test nothing else: nothing is held")
    for wanted in (dict(row.dispatch), stated):
        ran = {name: verdict.dispatch.get(name) for name in wanted}
        if ran != wanted:
            raise AssertionError(f"the dispatch record says {ran}; stated is {wanted}")
