"""Both kinds of tools on a tensor whose wide gaps have no memory: 24 GiB of addresses, and a few pages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bitgate.kernel.build import Builder
from bitgate.model import DTYPES, Tensor
from bitgate.model.host_tensor import GAP_PATTERN
from bitgate.model.memory_runs import memory_runs
from bitgate.numerics.digest import digest, finish
from bitgate.numerics.fill import TensorFill, make_tensor
from bitgate.runtime.buffers import PAGE, Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.host_tools import HostTools
from bitgate.runtime.tools import DeviceTools, Tools, differences_at, least, sums_at
from bitgate.runtime.tools_abi import family

ROW = 2**32 + 16
TENSOR = Tensor("out", DTYPES["f16"], "x", (4, 5, 3), (ROW, 40, 2))
"""Four rows of which each has 15 cells, with small gaps between them."""
PACKED = Tensor("out", DTYPES["f16"], "x", (4, 5, 3), (15, 3, 1))
INTEGERS = TensorFill("integer", 3)


@pytest.fixture(params=["host", "device"])
def tools(request: pytest.FixtureRequest, opened: Device, builder: Builder) -> Tools:
    return HostTools(opened.runs) if request.param == "host" else DeviceTools(opened, builder.family(family()))


@pytest.fixture(params=["right", "left"])
def buffer(request: pytest.FixtureRequest, opened: Device) -> Iterator[Buffer]:
    assert TENSOR.bytes > 24 << 30
    with opened.alloc(TENSOR.bytes, name="out", placement=request.param, runs=memory_runs(TENSOR)) as buffer:
        yield buffer
    assert not opened.runs


def test_pages_with_cells_are_memory(opened: Device, buffer: Buffer) -> None:
    runs = opened.runs_at(buffer.pointer, buffer.bytes)
    assert len(runs) == 4
    assert all(end - begin <= 2 * PAGE for begin, end in runs)
    assert opened.runs_at(buffer.pointer + 1, 7) == ((0, 7),), "of any other buffer all is memory"


def test_data_and_digest_are_those_without_gaps(opened: Device, tools: Tools, buffer: Buffer) -> None:
    tools.clear()
    tools.fill(buffer.pointer, TENSOR, INTEGERS, 1)
    ticket = tools.digest(buffer.pointer, TENSOR)
    assert finish(sums_at(tools.read(), ticket), PACKED) == digest(make_tensor(PACKED, INTEGERS, 1))


def test_what_is_written_between_cells_is_found(opened: Device, tools: Tools, buffer: Buffer) -> None:
    tools.clear()
    tools.fill(buffer.pointer, TENSOR, INTEGERS, 1)
    before, clean = tools.memory(buffer.pointer, TENSOR), tools.gaps(buffer.pointer, TENSOR)
    opened.fill(buffer.pointer + 2 * (3 * ROW + 1), 7, 2)
    opened.wait()
    after, damaged = tools.memory(buffer.pointer, TENSOR), tools.gaps(buffer.pointer, TENSOR)
    answers = tools.read()
    assert sums_at(answers, before) != sums_at(answers, after)
    assert answers[clean] == 0
    assert (answers[damaged], least(answers[damaged + 1])) == (1, 3 * ROW + 1)


def test_a_changed_cell_is_no_written_gap(opened: Device, tools: Tools, buffer: Buffer) -> None:
    tools.clear()
    tools.fill_bits(buffer.pointer, TENSOR, 0x7D5A)
    with opened.alloc(TENSOR.bytes, name="reference", runs=memory_runs(TENSOR)) as other:
        tools.fill_bits(other.pointer, TENSOR, 0x7D5A)
        opened.fill(buffer.pointer + 2 * (2 * ROW + 40), GAP_PATTERN, 2)
        opened.wait()
        ticket, gaps = (
            tools.differences(buffer.pointer, other.pointer, TENSOR),
            tools.gaps(buffer.pointer, TENSOR),
        )
        answers = tools.read()
    found = differences_at(answers, ticket)
    assert (found.count, found.first) == (1, int(np.ravel_multi_index((2, 1, 0), TENSOR.lengths)))
    assert answers[gaps] == 0
