"""The digest: of logical bits only, in any order, and different after any change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numerics.small_convolutions import EVERY, convolutions, inputs_of

from bitgate.model import DTYPES, Tensor, parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import counter, native
from bitgate.numerics.digest import digest, finish
from bitgate.ops.convolution import ConvProblem


def packed(values: np.ndarray, dtype: str, lengths: tuple[int, ...]) -> HostTensor:
    strides = tuple(int(np.prod(lengths[axis + 1 :])) for axis in range(len(lengths)))
    return HostTensor(Tensor("out", DTYPES[dtype], "", lengths, strides), values.astype(DTYPES[dtype].numpy).ravel())


@given(convolutions(EVERY), st.integers(0, 2**34))
@settings(max_examples=60, deadline=None)
def test_native_sums_equal_the_definition(problem: ConvProblem, first: int) -> None:
    for host in inputs_of(problem).values():
        assert native.digest_sums(host, first) == counter.digest_sums(host.bits, first)


def test_long_rows_and_threads() -> None:
    for layout in ("nhwgc", "ngchw"):
        host = inputs_of(parse_case_id(f"fwd_f16_{layout}_g2n3k4c40_y1x1_h50x60"))["in"]
        sums = counter.digest_sums(host.bits, 0)
        assert {native.digest_sums(host, threads=threads) for threads in (1, 2, 5)} == {sums}


def test_positions_beyond_32_bits() -> None:
    """A block whose positions cross 2^32, as in a tensor of more than four billion elements."""
    for dtype in ("f16", "f64"):
        host = packed(np.arange(100), dtype, (1, 1, 100))
        for first in (2**32 - 50, 2**31 - 50, 2**40):
            assert native.digest_sums(host, first) == counter.digest_sums(host.bits, first)


@given(convolutions(EVERY))
@settings(max_examples=30, deadline=None)
def test_layout_and_gaps_do_not_matter(problem: ConvProblem) -> None:
    other = problem.changed(layout={1: "gnwc", 2: "gnhwc", 3: "gndhwc"}[problem.ndim], gap=not problem.gap)
    mine, theirs = inputs_of(problem), inputs_of(other)
    assert {n: digest(h) for n, h in mine.items()} == {n: digest(h) for n, h in theirs.items()}


@given(st.integers(1, 500), st.lists(st.integers(0, 500), max_size=5), st.randoms())
@settings(max_examples=50, deadline=None)
def test_blocks_combine_in_any_order(length: int, cuts: list[int], random) -> None:
    whole = packed(np.arange(length) % 50, "bf16", (length,))
    edges = sorted({0, length, *(cut for cut in cuts if cut < length)})
    sums = [counter.digest_sums(whole.bits[a:b], a) for a, b in pairwise(edges)]
    random.shuffle(sums)
    of_blocks = tuple(sum(part) % 2**64 for part in zip(*sums, strict=True))
    assert finish(of_blocks, whole.tensor) == digest(whole)


@given(convolutions(EVERY), st.data())
@settings(max_examples=60, deadline=None)
def test_any_flipped_bit_shows(problem: ConvProblem, data: st.DataObject) -> None:
    host = next(iter(inputs_of(problem).values()))
    before = digest(host)
    at = tuple(data.draw(st.integers(0, length - 1)) for length in host.tensor.lengths)
    host.bits[at] ^= host.bits.dtype.type(1 << data.draw(st.integers(0, 8 * host.tensor.dtype.bytes - 1)))
    assert digest(host) != before


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=40), st.data())
@settings(max_examples=60, deadline=None)
def test_any_two_swapped_values_show(values: list[int], data: st.DataObject) -> None:
    swapped = list(values)
    i, j = (data.draw(st.integers(0, len(values) - 1)) for _ in range(2))
    swapped[i], swapped[j] = values[j], values[i]
    lengths = (len(values),)
    same = digest(packed(np.array(values), "f16", lengths)) == digest(packed(np.array(swapped), "f16", lengths))
    assert same == (values == swapped)


def test_type_and_shape_enter() -> None:
    zeros = np.zeros(12)
    shapes = [("f16", (3, 4)), ("bf16", (3, 4)), ("f16", (4, 3)), ("f16", (12,)), ("f16", (1, 3, 4)), ("f32", (3, 4))]
    assert len({digest(packed(zeros, dtype, lengths)) for dtype, lengths in shapes}) == len(shapes)


def test_the_digest_is_pinned() -> None:
    """The algorithm is fixed for ever: stored digests are compared with those of later versions."""
    assert digest(packed(np.arange(6), "f16", (2, 3))) == "bg1:5f3b8c4c45d7ea351dead827cd883eca"
    assert digest(packed(np.arange(6), "f64", (2, 3))) == "bg1:bb387c511742763f5b7d493154a1c846"


@pytest.mark.parametrize("dtype", ["i8", "f16", "f32", "f64"])
def test_differences_are_counted_and_placed(dtype: str) -> None:
    """Between tensors of different layouts; the place is a logical index."""
    a = inputs_of(parse_case_id(f"fwd_{dtype}_nhwgc_g2n2k3c40_y1x1_h20x30"))["in"]
    b = inputs_of(parse_case_id(f"fwd_{dtype}_ngchw_g2n2k3c40_y1x1_h20x30_gap"))["in"]
    assert native.differences(a, b) == native.Differences(0, -1)
    for at in ((1, 1, 39, 19, 29), (1, 0, 3, 4, 5), (0, 1, 2, 0, 29)):
        b.bits[at] ^= 1
    first = int(np.flatnonzero(a.bits != b.bits)[0])
    assert native.differences(a, b, threads=3) == native.Differences(3, first)
    assert native.count_differences(b, a) == 3
