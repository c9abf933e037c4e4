"""Right kernels pass, and those with a transcription error do not, on sizes that are drawn around the task's own."""

from __future__ import annotations

import pytest

TASKS = {
    "softmax": "softmax.py",
    "matmul": "matmul_f16.py",
    "norm": "layer_norm.py",
    "causal": "causal.py",
    "sums": "sums.py",
    "update": "update.py",
    "loss": "loss.py",
    "places": "places.py",
    "positive": "positive.py",
}
RIGHT = (
    "softmax_right",
    "softmax_online",
    "softmax_in_f64",
    "softmax_by_powers_of_two",
    "matmul_right",
    "matmul_in_slices",
    "matmul_of_columns",
    "matmul_in_f64",
    "norm_right",
    "norm_of_blocks",
    "norm_in_f64",
    "causal_right",
    "causal_in_blocks",
    "sums_right",
    "sums_in_halves",
    "sums_one_by_one",
    "update_right",
    "update_in_columns",
    "loss_right",
    "loss_by_powers",
    "places_right",
    "places_in_buffer",
    "positive_right",
)
WRONG = (
    "softmax_without_maximum",
    "softmax_without_tail_mask",
    "softmax_of_packed_rows",
    "softmax_f16_sum",
    "softmax_narrow_on_integers",
    "matmul_f16_sums",
    "matmul_without_last_slice",
    "norm_eps_outside_root",
    "norm_divides_by_less",
    "causal_one_too_many",
    "causal_unscaled",
    "update_in_rows",
    "update_of_zeros",
    "update_without_mask",
    "update_beyond_32_bits",
    "update_and_more",
    "places_last",
)


def report_on(judged, name: str, **more):
    operation = name.partition("_")[0]
    entry = "ModelNew" if operation in ("norm", "causal") else "custom_kernel"
    return judged("mistakes.py", name, TASKS[operation], entry=entry, **more)


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_pass(judged, name: str) -> None:
    report = report_on(judged, name, problems=8, dtypes=("f64",) if name == "sums_right" else ())
    assert (report["verdict"], report["exit"]) == ("right", 0), report["diagnosis"]
    assert report["summary"]["compared"] == report["summary"]["cases"] > 8


@pytest.mark.parametrize("name", WRONG)
def test_transcription_errors_do_not(judged, name: str) -> None:
    report = report_on(judged, name)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert set(report["summary"]["outcomes"]) & {"MISMATCH", "NONDETERMINISTIC", "CORRUPTED", "CRASHED"}


def test_a_truth_value_of_two_is_wrong(judged) -> None:
    report = report_on(judged, "positive_by_counts", problems=1, own=True)
    assert report["verdict"] == "wrong"
    assert "bytes that are neither 0 nor 1" in report["diagnosis"]


@pytest.mark.parametrize("problems", [1, 2])
def test_a_grid_that_is_rounded_down_is_found_on_the_fewest_problems(judged, problems: int) -> None:
    report = report_on(judged, "softmax_of_whole_blocks", problems=problems)
    assert report["verdict"] == "wrong"
    assert "only of problems that are drawn" in report["diagnosis"]


@pytest.mark.parametrize(("name", "columns"), [("matmul_short_of_a_block", 256), ("matmul_on_a_square_grid", 32)])
def test_a_grid_that_is_short_in_its_second_dimension_is_found_on_the_fewest_problems(
    judged, name: str, columns: int
) -> None:
    """Other problems are drawn around (32, 32, 32), which is less than a block of columns."""
    report = report_on(judged, name, problems=1, arguments={"m": 32, "n": columns, "k": 64})
    assert report["verdict"] == "wrong"
    assert {one["group"] for one in report["checks"] if not one["green"]} == {"drawn"}


def test_a_term_that_a_long_sum_leaves_out_is_found(judged) -> None:
    """Its result is one number, without axes: there is nothing to draw of it."""
    report = report_on(judged, "loss_without_last", problems=1, own=True)
    assert report["verdict"] == "wrong"
    assert {one["fill"] for one in report["checks"] if not one["green"]} == {"sparse"}
    assert report["diagnosis"].startswith("1 of 1 cells of y0 are wrong")
    assert "broke off" not in report["diagnosis"]


def test_terms_of_fewer_bits_are_found_where_few_are_summed(judged) -> None:
    report = report_on(judged, "loss_of_narrow_squares", problems=1, own=True)
    assert report["verdict"] == "wrong"
    assert {one["fill"] for one in report["checks"] if not one["green"]} == {"few"}


def test_each_call_of_a_case_is_compared(judged) -> None:
    """Cases have four calls each, the first of a process five: the next to last was once compared with nothing."""
    report = report_on(judged, "softmax_wrong_at(4)")
    assert report["verdict"] == "wrong"
