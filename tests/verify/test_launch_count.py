"""Launches are counted: what a record states of launches, blocks and fills is held to what the runtime saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bitgate.kernel.abi import EventKind
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.runtime.seen_work import FILL, KERNEL, SeenWork
from bitgate.verify.launch_count import miscounts

GEMM, ADDRESS, SIZE = 0x1000, 0x9000, 256
RECORD = DispatchRecord("flat", 1, False, 0, "x", {}, (), (), ())


def event(name: str, function: int = GEMM, blocks: int = 4) -> LaunchEvent:
    grid, block = (blocks, 1, 1), (64, 1, 1)
    return LaunchEvent(EventKind.KERNEL, name, grid, block, 0, 0, (), b"", 0, 0, 0, function)


def memset(size: int = SIZE) -> LaunchEvent:
    zeros = (0, 0, 0)
    return LaunchEvent(EventKind.MEMSET, "zero_fill", zeros, zeros, 0, 0, (), b"", ADDRESS, 0, size)


def launch(name: str = "gemm", function: int = GEMM, blocks: int = 4) -> SeenWork:
    return SeenWork(KERNEL, name, (blocks, 1, 1), (64, 1, 1), function, 0, 0)


def fill(size: int = SIZE) -> SeenWork:
    return SeenWork(FILL, "hipMemsetAsync", (0, 0, 0), (0, 0, 0), 0, ADDRESS, size)


private = replace(fill(4), is_private=True)

RIGHT = {
    "one launch": (1, False, [event("gemm")], [launch()]),
    "a launch without a log": (1, False, [], [launch()]),
    "a fill by memset": (1, True, [memset(), event("gemm")], [fill(), launch()]),
    "a fill by a kernel": (1, True, [event("zero_fill", 1), event("gemm")], [launch("zero_fill", 1), launch()]),
    "a fill by a kernel of another name": (1, True, [event("clear", 1), event("gemm")], [launch("", 1), launch()]),
    "a fill by a kernel without a log": (1, True, [], [launch("clear"), launch()]),
    "cells that nothing owns": (1, False, [event("fill_unowned"), event("gemm")], [launch(), launch()]),
    "a cleared workspace": (1, False, [memset(), event("gemm")], [fill(), launch()]),
    "a transpose": (1, False, [event("transpose_in", 1), event("gemm")], [launch("", 1), launch()]),
    "a fill of the library's own memory": (1, False, [event("gemm")], [private, launch()]),
    "one without a log": (1, False, [], [private, launch()]),
    "one beside the result's": (1, True, [memset(), event("gemm")], [private, fill(), launch()]),
    "nothing is seen": (1, False, [event("gemm")], None),
    "nothing to do": (0, False, [], []),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_agrees_is_left_alone(case: str) -> None:
    launches, zero_fill, events, seen = RIGHT[case]
    assert miscounts(replace(RECORD, launches=launches, zero_fill=zero_fill, events=events), seen) == []


WRONG = {
    "launches is 1, its log lists 2 launches (gemm, gemm)": (1, False, [event("gemm")] * 2, [launch()] * 2),
    "launches is 2, its log lists 1 launch (gemm)": (2, False, [event("gemm")], None),
    "the runtime saw 2 launches (gemm, gemm)": (1, False, [event("gemm")], [launch()] * 2),
    "launches is 1, the runtime saw 0 launches": (1, False, [], []),
    "launches is 1, the runtime saw 2 launches": (1, False, [], [launch()] * 2),
    "launch 0 (gemm) had (3, 1, 1) blocks": (1, False, [event("gemm")], [launch(blocks=3)]),
    "launch 0 was of another kernel than gemm": (1, False, [event("gemm")], [launch(function=2)]),
    "the runtime saw a fill of 256 bytes": (1, False, [event("gemm")], [fill(), launch()]),
    "the record lists 1 fills": (1, True, [memset(), event("gemm")], [fill(8), launch()]),
    "the runtime saw neither a fill nor a further launch": (1, True, [event("gemm")], [launch()]),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_differs_is_said(sentence: str) -> None:
    launches, zero_fill, events, seen = WRONG[sentence]
    found = miscounts(replace(RECORD, launches=launches, zero_fill=zero_fill, events=events), seen)
    assert any(sentence in one for one in found), found


def test_a_log_that_claims_too_much_is_not_believed() -> None:
    """Where events were lost the runtime's count remains."""
    record = replace(RECORD, events=[event("gemm")], lost_events=1000)
    assert miscounts(record, [launch()]) == []
    assert miscounts(record, [launch()] * 3) != []
