"""The harness' own kernels, on the host's device: the same bits and sums as numpy's definitions give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bitgate.kernel.build import Builder
from bitgate.model import DTYPES, Tensor, parse_case_id
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.numerics import native
from bitgate.numerics.checksum import WeightPlan, weighted_sum
from bitgate.numerics.digest import digest, finish
from bitgate.numerics.fill import TensorFill, make_tensor
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.tools import ANSWERS, ROUNDS, DeviceTools, differences_at, least, sums_at
from bitgate.runtime.tools_abi import SMALL_TENSOR, cells_of, family

INTEGER_TYPES = tuple(DTYPES.values())
REAL_TYPES = tuple(DTYPES[name] for name in ("f64", "f32", "f16", "bf16"))


@pytest.fixture(scope="module")
def tools(opened: Device, builder: Builder) -> DeviceTools:
    return DeviceTools(opened, builder.family(family()))


@st.composite
def tensors(draw) -> Tensor:
    """Tensors of real problems: every layout, with gaps and without, and d0 that is broadcast."""
    layout = draw(st.sampled_from(["nhwgc", "gnhwc", "ngchw", "nwgc", "ndhwgc"]))
    spatial = {"nwgc": "y2_h5_p1", "ndhwgc": "y1x2x2_h2x3x4"}.get(layout, "y2x3_h3x4_p1")
    sizes = "".join(f"{letter}{draw(st.integers(1, 3))}" for letter in "gnkc")
    gap = draw(st.sampled_from(["", "_gap", "_gapinw3_gapoutw5_gapd0k2", "_gapinc2_gapinw1_gapweik4_gapoutk7"]))
    problem = parse_case_id(f"fwd_f32_{layout}_{sizes}_{spatial}_bias{gap}")
    return draw(st.sampled_from(list(problem.tensors.values())))


class OnDevice:
    """A tensor in device memory."""

    def __init__(self, device: Device, tensor: Tensor) -> None:
        self.tensor = tensor
        self.buffer: Buffer = device.alloc(tensor.bytes, name=tensor.name)

    def __enter__(self) -> OnDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.buffer.free()

    def upload(self, host: HostTensor) -> int:
        self.buffer.upload(host.storage)
        return self.buffer.pointer

    def download(self) -> HostTensor:
        storage = np.empty(self.tensor.space, self.tensor.dtype.numpy)
        self.buffer.download(storage)
        return HostTensor(self.tensor, storage)


LAW = settings(max_examples=40, deadline=None)
WITH_GAPS = parse_case_id("fwd_f32_nhwgc_n1k2c3_y2_h5_p1_gap").tensors["in"]


@LAW
@given(tensors(), st.sampled_from(INTEGER_TYPES), st.integers(1, 4), st.sampled_from([2**32, 2**30]))
def test_integers_are_those_of_the_host(opened, tools, tensor, dtype, range_, keep):
    tensor = replace(tensor, dtype=dtype)
    fill = TensorFill("integer", range_, keep)
    with OnDevice(opened, tensor) as there:
        tools.fill(there.buffer.pointer, tensor, fill, 7)
        tools.read()
        assert there.download().storage.tobytes() == make_tensor(tensor, fill, 7).storage.tobytes()


@LAW
@given(tensors(), st.sampled_from(REAL_TYPES))
def test_reals_are_those_of_the_host(opened, tools, tensor, dtype):
    tensor = replace(tensor, dtype=dtype)
    with OnDevice(opened, tensor) as there:
        tools.fill(there.buffer.pointer, tensor, TensorFill("real"), 1)
        tools.read()
        assert there.download().storage.tobytes() == make_tensor(tensor, TensorFill("real"), 1).storage.tobytes()


def test_reals_of_one_byte_types_are_left_to_the_host(opened, tools):
    tensor = replace(parse_case_id("fwd_f32_nhwgc_n1k1c1_y1_h1").tensors["in"], dtype=DTYPES["f8ocp"])
    assert not tools.can_fill(tensor, TensorFill("real"))
    with pytest.raises(ValueError, match="real data of f8ocp are not made on a device"):
        tools.fill(0, tensor, TensorFill("real"), 0)


@LAW
@given(tensors(), st.sampled_from(INTEGER_TYPES))
def test_the_digest_is_that_of_the_host(opened, tools, tensor, dtype):
    host = make_tensor(replace(tensor, dtype=dtype), TensorFill("integer", 3), 2)
    assume(0 not in host.tensor.strides)  # results are never broadcast
    with OnDevice(opened, host.tensor) as there:
        tools.clear()
        ticket = tools.digest(there.upload(host), host.tensor)
        assert finish(sums_at(tools.read(), ticket), host.tensor) == digest(host)


@pytest.mark.parametrize("dtype", ["i8", "f64"])
def test_a_block_across_pages_is_digested_as_on_the_host(opened, tools, dtype):
    tensor = replace(parse_case_id("fwd_f32_nhwgc_n1k2c3_y2_h5").tensors["in"], dtype=DTYPES[dtype])
    host = make_tensor(tensor, TensorFill("integer", 3), 2)
    first = 2**32 // max(1, tensor.dtype.bytes // 4) - 20
    with OnDevice(opened, tensor) as there:
        tools.clear()
        ticket = tools.digest(there.upload(host), tensor, first)
        assert sums_at(tools.read(), ticket) == native.digest_sums(host, first)


@LAW
@given(tensors(), st.sampled_from(INTEGER_TYPES), st.integers(0, 10**6), st.integers(0, 7))
def test_any_changed_bit_of_memory_shows(opened, tools, tensor, dtype, byte, bit):
    host = make_tensor(replace(tensor, dtype=dtype), TensorFill("integer", 3), 2)
    with OnDevice(opened, host.tensor) as there:
        tools.clear()
        data = there.upload(host)
        before = tools.memory(data, host.tensor)
        changed = host.storage.view(np.uint8)
        changed[byte % changed.size] ^= 1 << bit
        there.upload(host)
        after = tools.memory(data, host.tensor)
        answers = tools.read()
        assert sums_at(answers, before)[0] != sums_at(answers, after)[0]


@LAW
@given(
    tensors(),
    st.sampled_from(INTEGER_TYPES),
    st.sets(st.integers(0, 10**6), max_size=5),
    st.integers(0, 40),
    st.sampled_from([0, 1, -1]),
)
@example(WITH_GAPS, DTYPES["f32"], {*range(30)}, 0, -1)  # zeros of both signs
@example(WITH_GAPS, DTYPES["f32"], {7, 8}, 7, 0)  # the first place that counts
def test_differences_are_counted_and_the_first_one_is_found(opened, tools, tensor, dtype, places, begin, bit):
    """A lowest bit differs, the next one, or the sign alone: -0 is not 0."""
    assume(0 not in tensor.strides)
    tensor = replace(tensor, dtype=dtype)
    ours, theirs = (make_tensor(tensor, TensorFill("integer", 3, 2**30), 2) for _ in range(2))  # mostly zeros
    wrong = sorted({place % tensor.elements for place in places})
    for place in wrong:
        ours.bits[np.unravel_index(place, tensor.lengths)] ^= ours.bits.dtype.type(1 << bit % (8 * dtype.bytes))
    wrong = [place for place in wrong if place >= begin]
    with OnDevice(opened, tensor) as left, OnDevice(opened, tensor) as right:
        tools.clear()
        ticket = tools.differences(left.upload(ours), right.upload(theirs), tensor, begin)
        found = differences_at(tools.read(), ticket)
    assert (found.count, found.first) == (len(wrong), wrong[0] if wrong else -1)
    gap = np.abs(ours.logical.astype(np.float64) - theirs.logical.astype(np.float64)).reshape(-1)
    expected = float(gap[wrong].max(initial=0.0))
    assert found.largest == (np.inf if np.isnan(expected) else expected)


@LAW
@given(tensors(), st.sampled_from(INTEGER_TYPES), st.integers(0, 10**6), st.sampled_from([None, 0, 7]))
@example(WITH_GAPS, DTYPES["f32"], 0, None)  # a gap that holds zero
def test_a_written_gap_is_found_and_a_written_cell_is_none(opened, tools, tensor, dtype, place, bit):
    """The gap holds zero, or one bit less than its poison."""
    tensor = replace(tensor, dtype=dtype)
    host = make_tensor(tensor, TensorFill("integer", 3), 0)
    memory = host.storage.view(dtype.bits)
    cells = HostTensor.empty(tensor)
    cells.storage[...] = 0
    cells.logical[...] = 1
    gaps = np.flatnonzero(cells.storage == 0)
    assert bool(gaps.size) == has_gaps(tensor)
    with OnDevice(opened, tensor) as there:
        tools.clear()
        data = there.upload(host)
        untouched = tools.gaps(data, tensor)
        if gaps.size:
            at = gaps[place % gaps.size]
            memory[at] = 0 if bit is None else memory[at] ^ (1 << bit)
            there.upload(host)
        damaged = tools.gaps(data, tensor)
        answers = tools.read()
    assert answers[untouched] == 0
    assert answers[damaged] == min(1, gaps.size)
    assert least(answers[damaged + 1]) == (gaps[place % gaps.size] if gaps.size else -1)


@LAW
@given(tensors(), st.sampled_from(INTEGER_TYPES))
def test_the_checksum_is_that_of_the_definition(opened, tools, tensor, dtype):
    assume(0 not in tensor.strides)
    host = make_tensor(replace(tensor, dtype=dtype), TensorFill("integer", 3), 2)
    weights = WeightPlan.of(host.tensor, 11)
    with OnDevice(opened, host.tensor) as there:
        tools.clear()
        ticket = tools.weighted_sum(there.upload(host), host.tensor, weights)
        assert sums_at(tools.read(), ticket) == weighted_sum(host, weights)


@pytest.mark.parametrize("fraction", [0.5, -7.25, np.nan, np.inf, 2.0**62])
def test_cells_that_are_no_whole_numbers_are_counted(opened, tools, fraction):
    host = make_tensor(parse_case_id("fwd_f64_nhwgc_n1k2c3_y2_h5").tensors["in"], TensorFill("integer", 3), 2)
    host.logical[0, 0, 1, 2, 3] = fraction
    with OnDevice(opened, host.tensor) as there:
        tools.clear()
        ticket = tools.weighted_sum(there.upload(host), host.tensor, WeightPlan.of(host.tensor, 11))
        assert sums_at(tools.read(), ticket)[1] == 1


def test_poison_fills_cells_and_leaves_gaps(opened, tools):
    tensor = parse_case_id("fwd_f16_nhwgc_n1k2c3_y2_h4_gap").tensors["out"]
    with OnDevice(opened, tensor) as there:
        tools.fill_bits(there.buffer.pointer, tensor, 0x7D5A)
        tools.read()
        found = there.download()
    assert (found.bits == 0x7D5A).all()
    found.bits[...] = 0xFFFF
    assert (found.storage.view(np.uint16) == 0xFFFF).all()


def test_indices_go_beyond_2_to_the_32() -> None:
    """The walk over a tensor of 2^33 elements, without its memory."""
    tensor = parse_case_id("fwd_i8_nhwgc_g2n4096k8c16_y1x1_h512x128").tensors["in"]
    assert tensor.elements > 2**32
    cells = cells_of(tensor)
    axes = [(axis.length, axis.stride, axis.logical) for axis in cells.axis[: cells.rank]]
    # c, then g, then h and w as one, then n.
    space = 512 * 128
    assert axes == [(16, 1, space), (2, 16, 4096 * 16 * space), (space, 32, 1), (4096, 32 * space, 16 * space)]
    assert cells.count == tensor.elements


def test_cells_on_each_other_are_refused() -> None:
    tensor = Tensor("in", DTYPES["f32"], "nhwgc", (1, 1, 3, 4, 4), (16, 16, 1, 4, 2))
    with pytest.raises(ValueError, match="has overlapping cells"):
        cells_of(tensor)


def test_only_sums_of_an_operand_filled_alike_are_known(opened, tools):
    tensor = parse_case_id("fwd_f16_nhwgc_n1k2c3_y2_h4_gap").tensors["in"]
    fill, other = TensorFill("integer", 3), make_tensor(tensor, TensorFill("integer", 2), 0)

    def sums_of(there: OnDevice, seed: int, untouched: bool) -> tuple[int, int]:
        tools.clear()
        tools.fill(there.buffer.pointer, tensor, fill, seed)
        ticket = tools.memory(there.buffer.pointer, tensor, untouched=untouched)
        return sums_at(tools.read(), ticket)

    with OnDevice(opened, tensor) as there:
        first, second = sums_of(there, 5, untouched=False), sums_of(there, 6, untouched=False)
        assert first != second
        for _ in range(2):
            assert sums_of(there, 5, untouched=True) == first
            assert sums_of(there, 6, untouched=True) == second
        tools.clear()
        tickets = tools.memory(there.upload(other), tensor, untouched=True), tools.memory(there.buffer.pointer, tensor)
        answers = tools.read()
        assert sums_at(answers, tickets[0]) == sums_at(answers, tickets[1]) not in (first, second)


@pytest.mark.parametrize("placement", ["right", "left"])
def test_guards_of_several_buffers_are_made_at_once(device, tools, poke, placement):
    gpu = Device(device.target, device.hip, None)  # the host as a GPU is treated
    own = DeviceTools(gpu, Builder("host").family(family()))
    sizes = {"small": 40, "odd": 4100, "large": (1 << 20) + 8}
    buffers = [gpu.alloc(size, name=name, placement=placement, guarded=False) for name, size in sizes.items()]
    try:
        own.clear()
        own.guard(buffers)
        ticket = own.guards(buffers)
        assert own.read()[ticket] == 0
        assert [buffer.check_guards() for buffer in buffers] == [None] * 3
        for number, buffer in enumerate(buffers, 1):
            assert poke(buffer.pointer, -1) == 0
            device.synchronize()  # it is on the null stream, with which the tools' stream has no order
            own.clear()
            ticket = own.guards(buffers)
            assert own.read()[ticket] == 4 * number
    finally:
        for buffer in buffers:
            buffer.free()
        gpu.pool.empty()


def as_a_gpu(device: Device, builder: Builder) -> tuple[Device, DeviceTools]:
    gpu = Device(device.target, device.hip, None)
    return gpu, DeviceTools(gpu, builder.family(family()))


SMALL_CASE, LARGE_CASE = "fwd_f16_nhwgc_n2k3c5_y2_h5_bias_gap", "fwd_f32_nhwgc_n2k1c64_y1_h80x80"


@pytest.mark.parametrize("case", [SMALL_CASE, LARGE_CASE])
@pytest.mark.parametrize("copies", [1, 5])
def test_what_is_asked_together_is_what_is_asked_one_by_one(device, builder, case, copies):
    """With more fills and digests than one launch takes, and with tensors that have a separate launch."""
    gpu, tools = as_a_gpu(device, builder)
    tensors = [one for one in parse_case_id(case).tensors.values() if 0 not in one.strides] * copies
    assert any(one.space > SMALL_TENSOR for one in tensors) == (case == LARGE_CASE)
    buffers = [gpu.alloc(one.bytes, name=one.name, guarded=False) for one in tensors[:16]]
    several = list(zip(buffers, tensors, strict=False))

    def fill() -> list[int]:
        for seed, (buffer, tensor) in enumerate(several):
            kind = ("integer", "real")[seed % 2]
            if seed % 3:
                tools.fill(buffer.pointer, tensor, TensorFill(kind, 3), seed)
            else:
                tools.fill_bits(buffer.pointer, tensor, 0x1234)
        tools.guard(buffers)
        return [tools.memory(buffer.pointer, tensor) for buffer, tensor in several]

    def ask() -> list[int]:
        asked = [tools.digest(buffer.pointer, tensor) for buffer, tensor in several]
        asked += [tools.gaps(buffer.pointer, tensor) for buffer, tensor in several]
        return [*asked, tools.guards(buffers)]

    def answered(*questions) -> list[int]:
        return [word for asked in questions for ticket in asked for word in answers[ticket : ticket + 2]]

    try:
        tools.clear()
        with tools.together():
            filled = fill()
        with tools.together():
            seen = ask()
        answers = tools.read()
        together = answered(filled, seen)
        assert [buffer.check_guards() for buffer in buffers] == [None] * len(buffers)
        tools.clear()
        filled, seen = fill(), ask()
        answers = tools.read()
        assert together == answered(filled, seen)
    finally:
        for buffer in buffers:
            buffer.free()
        gpu.pool.empty()


def test_what_breaks_off_is_not_begun_and_not_kept(device, builder):
    gpu, tools = as_a_gpu(device, builder)
    tensor = parse_case_id(LARGE_CASE).tensors["wei"]
    with gpu.alloc(tensor.bytes, name="wei") as buffer:

        def break_off() -> None:
            with tools.together():
                tools.fill_bits(buffer.pointer, tensor, 2)
                raise KeyError

        tools.clear()
        tools.fill_bits(buffer.pointer, tensor, 1)
        before = tools.memory(buffer.pointer, tensor)
        with pytest.raises(KeyError):
            break_off()
        with tools.together():
            after = tools.memory(buffer.pointer, tensor)
        answers = tools.read()
        assert sums_at(answers, before) == sums_at(answers, after)
    gpu.pool.empty()


def test_no_word_is_answered_into_twice(opened, tools):
    """More rounds than the words are cleared for at once."""
    tensor = parse_case_id(SMALL_CASE).tensors["in"]
    host = make_tensor(tensor, TensorFill("integer", 3), 2)
    with OnDevice(opened, tensor) as there:
        at, expected = there.upload(host), set()
        for _ in range(ROUNDS + 2):
            tools.clear()
            tickets = [tools.memory(at, tensor) for _ in range(ANSWERS // 2)]
            answers = tools.read()
            expected |= {sums_at(answers, ticket) for ticket in tickets}
    assert len(expected) == 1
