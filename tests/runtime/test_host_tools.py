"""The host's tools keep an operand that they have filled, and a kernel that writes into it reaches no other launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.model import DTYPES, Tensor
from bitgate.numerics.fill import TensorFill, make_tensor
from bitgate.runtime import host_tools
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.host_tools import HostTools
from bitgate.runtime.tools import sums_at

INTEGERS = TensorFill("integer", 3)


def packed(elements: int, dtype: str = "f16", stride: int = 1) -> Tensor:
    return Tensor("in", DTYPES[dtype], "x", (elements,), (stride,))


@pytest.fixture
def tools() -> HostTools:
    return HostTools()


@pytest.fixture
def at(opened: Device) -> Iterator[Buffer]:
    buffer = opened.alloc(1 << 12, name="in")
    yield buffer
    buffer.free()


def held(buffer: Buffer, size: int) -> bytes:
    found = np.empty(buffer.bytes, np.uint8)
    buffer.download(found)
    return found[:size].tobytes()


@given(
    dtype=st.sampled_from(["f64", "f32", "f16", "i8"]),
    elements=st.integers(1, 40),
    stride=st.integers(1, 3),
    seed=st.integers(0, 3),
)
def test_the_second_fill_is_the_first(opened: Device, dtype: str, elements: int, stride: int, seed: int) -> None:
    """Gaps included; and what is said of its memory is what it sums to."""
    tools, tensor = HostTools(), packed(elements, dtype, stride)
    expected = make_tensor(tensor, INTEGERS, seed).storage.tobytes()
    for _ in range(2):
        with opened.alloc(tensor.bytes, name="in") as buffer:
            tools.clear()
            tools.fill(buffer.pointer, tensor, INTEGERS, seed)
            said = sums_at(tools.read(), 0) if tools.memory(buffer.pointer, tensor, untouched=True) == 0 else None
            counted = tools.memory(buffer.pointer, tensor)
            assert said == sums_at(tools.read(), counted)
            assert held(buffer, tensor.bytes) == expected


def test_what_a_kernel_writes_shows_and_stays_with_it(opened: Device, tools: HostTools, at: Buffer) -> None:
    tensor = packed(64)
    tools.fill(at.pointer, tensor, INTEGERS, 0)
    before = tools.memory(at.pointer, tensor, untouched=True)
    first = held(at, tensor.bytes)
    at.fill(0)
    opened.synchronize()
    after = tools.memory(at.pointer, tensor)
    answers = tools.read()
    assert sums_at(answers, before) != sums_at(answers, after)
    tools.fill(at.pointer, tensor, INTEGERS, 0)
    assert held(at, tensor.bytes) == first


def test_sums_are_of_the_last_fill_only(opened: Device, tools: HostTools, at: Buffer) -> None:
    tensor = packed(64)
    tools.fill(at.pointer, tensor, INTEGERS, 0)
    tools.clear()
    at.fill(0)
    opened.synchronize()
    said, counted = (tools.memory(at.pointer, tensor, untouched=untouched) for untouched in (True, False))
    answers = tools.read()
    assert sums_at(answers, said) == sums_at(answers, counted)


def test_only_so_many_bytes_are_kept(tools: HostTools, at: Buffer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_tools, "KEPT_BYTES", 300)
    monkeypatch.setattr(host_tools, "LARGEST_KEPT", 200)
    for elements, kept in ((50, 100), (100, 300), (75, 150), (400, 150)):
        tensor = packed(elements)
        tools.fill(at.pointer, tensor, INTEGERS, 0)
        assert held(at, tensor.bytes) == make_tensor(tensor, INTEGERS, 0).storage.tobytes()
        assert tools.kept_bytes == kept
