"""CK's line from the counts of operations and bytes, and the share of what a device can do."""

from __future__ import annotations

from tests.bench.timings import row

from bitgate.model import parse_case_id
from bitgate.results.record.timing import TimingStatus
from bitgate.tools.bench.perf import PEAKS, format_best, format_row, peak_of, roofline, summarize, summary
from bitgate.tools.bench.settings import Significance
from bitgate.verify.trace import format_perf

EXAMPLE_17 = parse_case_id("bwd_data_f16_nhwgc_g1n128k256c128_y3x3_h71x71_s2_p1")
GEMM = parse_case_id("gemm_f16_rcr_b1m4096n4096k4096")
SIGNIFICANCE = Significance()


def test_the_line_of_cks_example_17_to_the_digit() -> None:
    """128 images of 36 x 36 cells, 256 and 128 channels, 9 taps, 2 operations each; 2 bytes a number. CK prints the
    time with six digits: the one that it divided by begins with 1.40031."""
    assert EXAMPLE_17.flops == 2 * 128 * 256 * 128 * 36 * 36 * 3 * 3 == 97_844_723_712
    assert EXAMPLE_17.bytes == 2 * (128 * 128 * 71 * 71 + 256 * 128 * 3 * 3 + 128 * 256 * 36 * 36)
    assert format_perf(EXAMPLE_17, 2, width=10) == "Perf:          2 ms, 48.9224 TFlops, 125.354 GB/s"
    assert format_perf(EXAMPLE_17, 1.400314) == "Perf: 1.40031 ms, 69.8734 TFlops, 179.037 GB/s"


def test_a_row_in_words() -> None:
    one = row("", [2e-3, 1e-3, 3e-3], flops=4 * 10**9, bytes=10**6, includes=("zero_fill",))
    said = list(format_row(one, SIGNIFICANCE))
    assert said[0].startswith("grouped_fwd.x1  2 ms [1, 3], 3 samples")
    assert said[1].startswith("  Perf: 2 ms, ")
    assert said[2] == "  in this time, next to the kernels that compute: zero_fill"


def test_a_row_that_the_launching_thread_bounds_says_so() -> None:
    one = row("", [1e-5] * 5, host_seconds=1.2e-5, settings={"launch_bound": True})
    assert list(format_row(one, SIGNIFICANCE))[-1] == "  bound by the thread that launches: 12 us a launch"


def test_what_has_no_time_says_why() -> None:
    one = row(
        "",
        [],
        status=TimingStatus.NOT_VERIFIED,
        verdict="MISMATCH",
        reason="5 cells are wrong",
        repro="bitgate verify x",
    )
    assert list(format_row(one, SIGNIFICANCE)) == [
        f"not verified (MISMATCH)  {one.case}  grouped_fwd.x1",
        "  5 cells are wrong",
        "  again: bitgate verify x",
    ]


def test_the_best_of_several() -> None:
    rows = [row("", [2e-3], instance="slow"), row("", [1e-3], instance="fast"), row("", [], status=TimingStatus.FAILED)]
    assert format_best(rows, SIGNIFICANCE).startswith("best: grouped_fwd.fast  Perf: 1 ms")
    assert format_best(rows[:1], SIGNIFICANCE) == ""
    told = summary(rows, SIGNIFICANCE)
    assert told["statuses"] == {"timed": 2, "failed": 1}
    assert [one["kernel"] for one in told["best"]] == ["grouped_fwd.fast"]


def test_the_share_of_a_roofline() -> None:
    limit = roofline(GEMM, "NVIDIA H200")
    assert limit is not None
    assert limit.by == "arithmetic"
    assert limit.seconds == GEMM.flops / 989.5e12
    thin = roofline(parse_case_id("gemm_f16_rcr_b1m4096n16k4096"), "NVIDIA H200")
    assert thin is not None
    assert thin.by == "memory"
    timed = row("", [1e-3], case="gemm_f16_rcr_b1m4096n4096k4096", device={"name": "NVIDIA H200"})
    one = summarize(timed, SIGNIFICANCE)
    assert one.share == limit.seconds / 1e-3


def test_nobody_guesses_a_peak() -> None:
    assert peak_of("AMD EPYC 9654") is None
    assert roofline(GEMM, "AMD gfx942") is None  # MI300X, MI300A or MI325X
    assert roofline(parse_case_id("gemm_f64_rcr_b1m64n64k64"), "AMD Radeon RX 7900 XTX") is None
    assert peak_of("AMD Instinct MI300X OAM") == PEAKS["MI300X"]
