"""Traces in the words of CK's example 17: its documented run is the golden text."""

from __future__ import annotations

import json

import pytest
from tests.problems import convolution, foreign_convolutions
from tests.verify.launched_parts import parts_of

from bitgate.cli.main import run
from bitgate.kernel.abi import EventKind
from bitgate.kernel.declaration import Instance
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.kernel.registry import families
from bitgate.model import Problem, parse_case_id
from bitgate.ops.convolution import ConvProblem, sub_gemms
from bitgate.ops.convolution.launches import SubGemmRecord
from bitgate.verify.trace import format_launches, format_perf

(EXAMPLE,) = foreign_convolutions("example_convnd_bwd_data_xdl 0 1 5")
CK = Instance(
    name="like_ck",
    group="",
    dtypes=("f16",),
    layouts=("gnhwc",),
    ndims=(2,),
    accumulation=families()["nongrouped_bwd_data"].instances[0].accumulation,
    tile=(128, 128, 32),
    vector=(8, 8, 8),
)

# What CK documents of `example_convnd_bwd_data_xdl 0 1 5`, the lines about its own tiling and timing left out.
DOCUMENTED = (
    """\
in_n_c_hi_wi: dim 4, lengths {128, 128, 71, 71}, strides {645248, 1, 9088, 128}
wei_k_c_y_x: dim 4, lengths {256, 128, 3, 3}, strides {1152, 1, 384, 128}
out_n_k_ho_wo: dim 4, lengths {128, 256, 36, 36}, strides {331776, 1, 9216, 256}
""".splitlines()
    + [
        line.format(k0=k0)
        for k0 in (128, 64, 64, 32)
        for line in (
            "arg.a_grid_desc_k0_m_k1_container_{{{k0}, 175232, 8}}",
            "arg.b_grid_desc_k0_n_k1_container_{{{k0}, 128, 8}}",
            "arg.c_grid_desc_m_n_container_{{ 175232, 128}}",
            "launch_and_time_kernel: grid_dim {{1369, 1, 1}}, block_dim {{256, 1, 1}}",
        )
    ]
)


def tensor_lines(problem: Problem) -> list[str]:
    return problem.operation.diagnostics.tensor_lines(problem)


def event(name: str, blocks: int = 1369, kind: EventKind = EventKind.KERNEL) -> LaunchEvent:
    return LaunchEvent(kind, name, (blocks, 1, 1), (256, 1, 1), 0, 64, (), b"", 0, 0, 64)


def record_of(problem: ConvProblem, launches: list[LaunchEvent], launched: tuple[int, ...] | None = None, bucket=32):
    """What a library records that launches the problem's sub-GEMMs."""
    gemms = tuple(
        SubGemmRecord(
            index=g.index,
            bucket=g.index // bucket,
            launched=launched is None or g.index in launched,
            main_loop=True,
            tilde=g.tilde,
            taps=g.taps,
            slice_begin=(0,) * problem.ndim,
            slice_length=(0,) * problem.ndim,
            m=g.m,
            n=g.n,
            k=g.k,
            first_block=0,
            blocks=1,
        )
        for g in sub_gemms(problem)
    )
    return DispatchRecord(
        path="",
        launches=len(launches),
        zero_fill=True,
        workspace_bytes=0,
        instance="",
        facts={},
        **parts_of(gemms),
        events=tuple(launches),
    )


def test_the_documented_run_of_example_17():
    """Four sub-GEMMs: K0 = 128, 64, 64, 32 and M = 175232, in launches of 1369 tiles of 128 x 128."""
    lines = tensor_lines(EXAMPLE) + format_launches(EXAMPLE, CK, record_of(EXAMPLE, [event("kernel_flat")] * 4), 0)
    assert [line.removesuffix(" kernel_flat") for line in lines] == DOCUMENTED


def test_the_documented_figures_of_example_17():
    assert EXAMPLE.flops == 97_844_723_712
    assert format_perf(EXAMPLE, 1.40031) == "Perf: 1.40031 ms, 69.8736 TFlops, 179.037 GB/s"


def test_a_launch_of_a_bucket_shows_all_its_sub_gemms():
    problem = convolution("bwd_data_f16_nhwgc_n1k16c16_y6_h28x28_s6_p1")
    lines = format_launches(problem, CK, record_of(problem, [event("kernel_grouped")] * 2), 0)
    kinds = [line.partition("_")[0] for line in lines]
    assert kinds == ["arg.a", "arg.b", "arg.c"] * 32 + ["launch"] + ["arg.a", "arg.b", "arg.c"] * 4 + ["launch"]


def test_sub_gemms_that_were_not_launched_are_not_shown():
    """The flat path with its gate off launches one sub-GEMM of each bucket: #0 and #1 of 36."""
    problem = convolution("bwd_data_f16_nhwgc_n1k16c16_y6_h28x28_s6_p1")
    lines = format_launches(problem, CK, record_of(problem, [event("kernel_flat")] * 2, launched=(0, 1)), 0)
    assert [line.partition("_")[0] for line in lines] == ["arg.a", "arg.b", "arg.c", "launch"] * 2


def test_what_is_no_gemm_is_named():
    events = [event("zero_fill", kind=EventKind.MEMSET), event("transpose_in", 7), event("kernel_flat")]
    lines = format_launches(parse_case_id("fwd_f16_nhwgc_n1k8c8_y1_h4"), CK, record_of(EXAMPLE, events), 1024)
    assert lines == [
        "hipMemsetAsync: zero_fill, 64 bytes of 0x00",
        "launch_and_time_kernel: grid_dim {7, 1, 1}, block_dim {256, 1, 1} transpose_in",
        "launch_and_time_kernel: grid_dim {1369, 1, 1}, block_dim {256, 1, 1} kernel_flat, LDS 1024 bytes",
    ]


def test_tensors_of_a_gemm_have_their_batch_where_there_is_one():
    lines = tensor_lines(parse_case_id("gemm_f16_rcr_b2m9n16k24_nd1"))
    assert lines[0] == "in_g_n_c: dim 3, lengths {2, 9, 24}, strides {216, 24, 1}"
    assert [line.partition(":")[0] for line in lines] == ["in_g_n_c", "wei_g_k_c", "out_g_n_k", "d0_g_n_k"]
    assert (
        tensor_lines(parse_case_id("gemm_f16_rcr_b1m9n16k24"))[1] == "wei_k_c: dim 2, lengths {16, 24}, strides {24, 1}"
    )


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("fwd_f32_nwgc_n1k2c3_y3_h9", ["in_n_c_wi", "wei_k_c_x", "out_n_k_wo"]),
        ("fwd_f32_ndhwgc_g2n1k2c3_y3_h9x9x9", ["in_g_n_c_di_hi_wi", "wei_g_k_c_z_y_x", "out_g_n_k_do_ho_wo"]),
        ("bwd_data_f32_nhwgc_n1k2c3_y3_h9x9_nd1", ["in_n_c_hi_wi", "wei_k_c_y_x", "out_n_k_ho_wo", "d0_n_c_hi_wi"]),
    ],
)
def test_names_of_tensors(case, names):
    problem = convolution(case)
    lines = tensor_lines(problem)
    assert [line.partition(":")[0] for line in lines] == names
    dims = 3 + problem.ndim - (problem.g == 1)
    assert all(f": dim {dims}, lengths {{" in line for line in lines)


CASE = "bwd_data_f16_ngchw_g1n2k16c16_y3_h9x10_s2x2_p1x1"
KERNEL = "grouped_bwd_data.f16_64x64x64_a8b8c8"


def test_verbose_shows_what_really_ran(capsys):
    assert run(["verify", CASE, "--kernel", KERNEL, "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "in_n_c_hi_wi: dim 4, lengths {2, 16, 9, 10}, strides {1440, 90, 10, 1}"
    assert [line.split("block_dim {")[1] for line in lines if "launch_and" in line] == [
        "256, 1, 1} transpose_in",
        "64, 1, 1} kernel_grouped, LDS 18432 bytes",
        "256, 1, 1} transpose_out",
    ]
    assert sum(line.startswith("arg.a_grid_desc") for line in lines) == 4
    assert "path grouped, 1 launches, 2 transposes, split_k 1, split_n 1, workspace 7680 bytes" in lines


def test_json_stays_one_document(capsys):
    assert run(["verify", CASE, "--kernel", KERNEL, "--verbose", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["summary"]["compared"] == 1
    assert "arg.c_grid_desc_m_n_container_{ 72, 16}" in captured.err


def test_the_trace_comes_from_whichever_process_ran_the_case(capsys):
    alone, here = (
        [run(["verify", CASE, "--kernel", KERNEL, "--verbose", how]), *capsys.readouterr().out.partition("PASS")]
        for how in ("--isolate", "--in-process")
    )
    assert alone[0] == 0
    assert here[0] == 3
    assert "nothing is vouched for; cases: 1 asked, 1 compared" in here[3]
    assert alone[1] == here[1]
    assert "arg.c_grid_desc_m_n_container_{ 72, 16}" in alone[1]
