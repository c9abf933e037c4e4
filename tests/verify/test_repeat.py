"""Which cases are launched once more on other data."""

from bitgate.model import parse_case_id
from bitgate.verify.repeat import is_affordable


def test_a_case_of_few_flops_and_gigabytes_is_not_repeated() -> None:
    # A stride as long as an image: 10 million FLOPs, 2.3 GiB of x, which a GPU's case never brings to the host.
    large = parse_case_id("fwd_f16_nhwgc_g1n128k4c192_y2x2_h224x224_s224x224")
    assert large.flops < 100_000_000
    assert large.bytes > 2 << 30
    assert not is_affordable(large)


def test_a_case_of_a_few_kilobytes_is() -> None:
    assert is_affordable(parse_case_id("fwd_f16_nhwgc_n2k8c8_y3x3_h8x8_p1x1"))
