"""What families state of their threads, against instrumented launches: each cell's blocks and threads, each launch."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import Problem, parse_case_id
from bitgate.model.thread_map import CellWrite, ThreadMap
from bitgate.ops.convolution import ConvProblem
from bitgate.suite.solved_list import read_list

Asked = tuple[str, str, dict[str, str]]
"""Case, instance, options."""

ROWS: dict[str, list[Asked]] = {
    "reduction": [
        ("reduction_f32_o3l600i1_sum", "f32_block_w32", {}),
        ("reduction_f32_o3l600i2_sum_sk3", "f32_block_w32", {"most_blocks": "2"}),
        ("reduction_f32_o5l70i3_max", "f32_wave_w32", {"most_blocks": "1"}),
        ("reduction_f32_o5l70i3_argmax_sk2", "f32_wave_w32", {}),
        ("reduction_f32_o2l40i70_sum_gap", "f32_columns_w32", {"most_blocks": "4"}),
        ("reduction_f32_o2l9i70_sum_sk4", "f32_columns_w32", {}),
    ],
    "softmax": [
        ("softmax_f32_r3c600_full", "f32_block_w32", {"most_blocks": "2"}),
        ("softmax_f32_r19c70_padded_gap", "f32_wave_w32", {"most_blocks": "1"}),
    ],
    "norm": [
        ("layernorm_f32_r3c300_affine_stats", "layernorm_f32_block_w32", {}),
        ("rmsnorm_f32_r19c70_gap", "rmsnorm_f32_wave_w32", {"most_blocks": "1"}),
    ],
    "attention": [
        ("attention_f32_b2h2kv1s40t70d40_causal", "f32_32x32x64_w32", {}),
        ("attention_f32_b1h2kv1s40t70d70_full_gap", "f32_32x32x128", {"key_slices": "2"}),
    ],
    "attention_bwd": [
        ("attention_bwd_f32_b2h2kv1s40t70d40_causal", "f32_32x32x64_w32", {}),
        ("attention_bwd_f32_b1h2kv1s40t30d70_full_saved_gap", "f32_16x32x128", {}),
    ],
    "naive_attention": [
        ("attention_f32_b2h2kv1s3t7d40_causal", "f32", {}),
        ("attention_bwd_f32_b2h2kv1s3t7d40_causal", "bwd_f32", {}),
    ],
    "naive_softmax": [("softmax_f32_r70c5_causal", "f32", {})],
    "naive_norm": [("layernorm_f32_r70c5_affine", "layernorm_f32", {})],
    "naive_reduction": [("reduction_f32_o3l6i70_sum", "f32", {}), ("reduction_f32_o3l6i70_argmax", "f32", {})],
}
GEMMS: dict[str, list[Asked]] = {
    "batched_gemm": [
        ("gemm_f32_rcr_b2m70n40k20", "f32_rcr_32x32x16_a1b1c1", {}),
        ("gemm_f32_rcr_b2m70n40k200_sk3", "f32_rcr_32x32x16_a1b1c1", {}),
        ("gemm_f32_ccr_m136n72k40_sk2_gap", "f32_ccr_128x64x32_a4b4c4", {}),
    ],
    "grouped_fwd": [
        ("fwd_f32_nhwgc_g2n3k70c5_y3x3_h7x6_s2x1_p1x1", "f32_32x32x16_a1b1c1_odd_c", {}),
        ("fwd_f32_nhwgc_g1n2k72c8_y3x3_h12x12_p1x1", "f32_128x64x32_a4b4c4", {}),
        ("fwd_f32_nhwgc_g1n4k68c8_y3x3_h9x9_p1x1_bias", "f32_64x64x16_a4b4c2_d2", {"split_n_bytes": "1"}),
        ("fwd_f32_ngchw_g2n2k40c4_y1x1_h9x9", "f32_64x64x32_a4b4c4_1x1s1p0", {}),
    ],
    "grouped_bwd_data": [
        ("bwd_data_f32_nhwgc_g2n3k5c36_y3x3_h9x8_s3x2_p1x1", "f32_32x32x16_a1b1c1_w32", {"bucket_size": "2"}),
        ("bwd_data_f32_nhwgc_g1n4k8c36_y2x2_h9x9_s3x3_p1x1_bilinear", "f32_32x32x16_a1b1c1_w32", {}),
        ("bwd_data_f32_nhwgc_g1n4k8c36_y2x2_h9x9_s3x3_p1x1_inplace", "f32_32x32x16_a1b1c1_w32", {}),
        ("bwd_data_f32_nhwgc_g1n4k40c36_y3x3_h9x9_s2x2_p1x1_sk3", "f32_32x32x16_a1b1c1_w32", {"split_n_bytes": "1"}),
        ("bwd_data_f32_nhwgc_g1n2k8c36_y3x3_h9x9_s2x2_p1x1", "f32_32x32x16_a1b1c1_w32", {"flat_path_gate": "off"}),
        ("bwd_data_f32_nhwgc_g1n2k8c36_y3x3_h9x9_s2x2", "f32_32x32x16_a1b1c1_w32", {"flat_path_gate": "launch_each"}),
        ("bwd_data_f32_nhwgc_g1n2k8c40_y1x1_h9x9", "f32_64x64x16_a4b4c4_w32", {}),
        ("bwd_data_f32_ngchw_g2n2k8c40_y3x3_h9x9_s2x2_p1x1", "f32_64x64x16_a4b4c4_w32", {}),
    ],
    "grouped_bwd_weight": [
        ("bwd_weight_f32_nhwgc_g2n3k40c5_y3x3_h9x8_s2x1_p1x1", "f32_32x32x16_a1b1c1", {}),
        ("bwd_weight_f32_nhwgc_g2n3k40c5_y3x3_h9x8_s2x1_p1x1_sk3", "f32_32x32x16_a1b1c1", {}),
        ("bwd_weight_f32_nhwgc_g1n2k136c16_y3x3_h8x8_p1x1", "f32_128x64x16_a4b4c4_d2", {}),
        ("bwd_weight_f32_nhwgc_g16n2k1c1_y3x3_h8x8_p1x1", "f32_16x16x16_a1b1c1_m8", {}),
    ],
    "bwd_weight_two_stage": [
        ("bwd_weight_f32_nhwgc_g2n2k40c5_y3x3_h9x8_p1x1_sk2", "f32_32x32x16_a1b1c1", {}),
        ("bwd_weight_f32_nhwgc_g1n2k136c16_y3x3_h8x8_p1x1", "f32_128x64x16_a4b4c4_d2", {}),
    ],
    "bwd_weight_explicit": [
        ("bwd_weight_f32_nhwgc_g1n2k136c72_y1x1_h8x8", "f32_128x64x16_a4b4c4_1x1s1p0", {}),
        ("bwd_weight_f32_nhwgc_g1n2k136c72_y1x1_h8x8_sk4", "f32_128x64x16_a4b4c4_1x1s1p0", {}),
    ],
    "bwd_weight_wavelet": [
        ("bwd_weight_f16_nhwgc_g1n1k136c72_y3x3_h6x6_p1x1", "f16_128x128x32_a8b8c8_l256m256_w32", {}),
        ("bwd_weight_f16_nhwgc_g2n1k65c9_y3x3_h6x6_p1x1", "f16_64x64x32_a1b1c1_l256m256_w32", {}),
    ],
    "nongrouped_bwd_data": [
        ("bwd_data_f32_nhwgc_g1n2k8c36_y3x3_h9x9_s2x2_p1x1", "f32_32x32x16_a1b1c1", {}),
        ("bwd_data_f32_nhwgc_g1n2k8c136_y2x2_h12x9_s3x2", "f32_128x64x16_a4b4c4", {}),
    ],
}
SUITES = Path(__file__).parents[2] / "suites"
MOST_SLICES = 100
COPY, SUMS = "its copy with channels last", "the workspace"


@pytest.mark.parametrize("family", ROWS)
def test_rows_write_as_mapped(family: str) -> None:
    _check(family, ROWS[family])


@pytest.mark.parametrize("family", GEMMS)
def test_gemms_write_as_mapped(family: str) -> None:
    _check(family, GEMMS[family])


@pytest.mark.parametrize(
    "suite", ["attention", "conv_bwd_data", "conv_bwd_weight", "conv_fwd", "gemm", "norm", "reduction", "softmax"]
)
def test_maps_agree_with_the_predictions(suite: str) -> None:
    """Every fortieth solved case: as many launches as the declaration predicts, and no block or thread outside them.

    Of a short list they are more.
    """
    looked_at = 0
    every = read_list(SUITES / suite / "solved.txt")
    for solved in every[:: min(40, len(every) // 25)]:
        family, _, instance = solved.kernel.partition(".")
        problem, kernel = parse_case_id(solved.case), kernel_called(families(), family, instance, solved.options)
        prediction, stated = kernel.prediction(problem), kernel.thread_map(problem)
        if solved.refused or prediction is None or stated is None:
            continue
        if max(size for one in stated.launches for size in one.grid[1:]) > MOST_SLICES:
            continue
        names = [one.name for one in stated.launches]
        counted = [name for name in names if not name.startswith(("transpose", "zero_fill", "fill", "clear"))]
        transposes = sum(name.startswith("transpose") for name in names)
        zero_fill = any(name in ("zero_fill", "fill") for name in names)
        found = (len(counted), transposes, zero_fill)
        assert found == (prediction.launches, prediction.transposes, prediction.zero_fill), solved
        _stay_in_their_grids(problem, stated)
        looked_at += 1
    assert looked_at > 20


def _stay_in_their_grids(problem: Problem, stated: ThreadMap) -> None:
    lengths = problem.tensors[problem.result].lengths
    cells = ([0] * len(lengths), [length // 2 for length in lengths], [length - 1 for length in lengths])
    for corner in map(tuple, cells):
        writes = stated.writes(corner)
        assert writes
        for write in writes:
            launch = stated.launches[write.launch]
            if write.thread is None:
                assert launch.threads == 0
                continue
            assert 0 <= write.thread < launch.threads
            assert all(0 <= at < size for at, size in zip(write.block, launch.grid, strict=True))
        assert writes[-1].memory == "the result"


def _check(family: str, cases: Sequence[Asked]) -> None:
    """Launch the cases in a child, and compare each write of each cell."""
    asked = json.dumps([[case, family, instance, options] for case, instance, options in cases])
    command = [sys.executable, "-m", "tests.kernels.written_cells"]
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    for (case, instance, options), line in zip(cases, done.stdout.splitlines(), strict=True):
        _compare(family, case, instance, options, json.loads(line))


def _compare(family: str, case: str, instance: str, options: dict[str, str], found: Any) -> None:
    problem = parse_case_id(case)
    kernel = kernel_called(families(), family, instance, options.items())
    assert kernel.refusal(problem) is None, case
    stated = kernel.thread_map(problem)
    assert stated is not None, case
    grids = [[event[1], event[2][0]] for event in found["launches"]]
    assert [[list(one.grid), one.threads] for one in stated.launches] == grids, (case, found["launches"])
    for one, event in zip(stated.launches, found["launches"], strict=True):
        assert event[0].startswith(one.name), case
    threads = 0
    for place, cell in enumerate(_cells(problem)):
        writes = stated.writes(cell)
        assert _rows(writes, "the result") == found["cells"][place], (case, cell)
        # Attention's workspace holds logits, or slices with their maxima: no one sum a cell.
        has_sums = found["sums"] and not problem.operation.name.startswith("attention")
        if has_sums and not any(write.memory == COPY for write in writes):
            assert _rows(writes, SUMS) == found["sums"][_sum_number(problem, cell)], (case, cell)
        threads += len(writes)
    assert threads >= len(found["cells"]) > 0


def _cells(problem: Problem) -> list[tuple[int, ...]]:
    return list(product(*map(range, problem.tensors[problem.result].lengths)))


def _sum_number(problem: Problem, cell: tuple[int, ...]) -> int:
    """Return the place of a cell's sum in the workspace: as the result's cells, but the channels of dw lie last."""
    lengths = problem.tensors[problem.result].lengths
    last = (2,) if isinstance(problem, ConvProblem) else ()
    order = [axis for axis in range(len(cell)) if axis not in last] + [*last]
    return int(np.ravel_multi_index([cell[axis] for axis in order], [lengths[axis] for axis in order]))


def _rows(writes: Sequence[CellWrite], memory: str) -> list[list[int]]:
    return [
        [*one.block, one.thread, int(one.adds)] for one in writes if one.memory == memory and one.thread is not None
    ]
