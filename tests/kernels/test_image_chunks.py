"""Split-N: the least divisor of N whose chunks stay within a threshold of bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.shared import shared

from bitgate.model import parse_case_id

image_chunks = shared("image_chunks").image_chunks


@given(st.integers(1, 400), st.integers(1, 3), st.integers(1, 4), st.integers(0, 5000))
def test_it_is_the_first_divisor_that_fits(n, stride, k, threshold):
    """f16, one group and packed: an image of x has 9 cells and one of y at most 9 k, both without gaps between."""
    problem = parse_case_id(f"fwd_f16_nhwgc_g1n{n}k{k}c1_y1x1_h3x3_s{stride}x{stride}")
    image = 2 * max(9, k * (1 + 2 // stride) ** 2)
    fitting = [parts for parts in range(1, n + 1) if n % parts == 0 and n // parts * image <= threshold]
    assert image_chunks(problem, threshold) == min(fitting, default=n)


def test_an_image_above_the_threshold_is_a_separate_chunk():
    assert image_chunks(parse_case_id("fwd_f16_nhwgc_g1n6k1c8_y1x1_h3x3"), 1) == 6


def test_a_prime_number_of_images_takes_no_longer_than_its_root():
    prime = 2**31 - 1
    assert image_chunks(parse_case_id(f"bwd_data_f16_nhwgc_g1n{prime}k8c8_y1x1_h1x1"), 2**31) == prime
