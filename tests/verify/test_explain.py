"""``bitgate explain CASE``: who writes a cell and what contributes, as lines and as a picture; bad cells."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.problems import convolution

from bitgate.cli.main import run
from bitgate.model import case_id
from bitgate.model.figure import SquaresFigure
from bitgate.ops.convolution import ConvProblem, Pass
from bitgate.ops.convolution.contributions import contributions
from bitgate.ops.convolution.figures import figures
from bitgate.results.report.page.sub_gemms import sub_gemm_map

NINE = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_p1x1"
KERNEL = "grouped_bwd_data.f16_*a8b8c8"
DX = "dx: g 0 to 0, n 0 to 3, c 0 to 63, h 0 to 27, w 0 to 27"
DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"

Bitgate: TypeAlias = "Callable[..., tuple[int, str, str]]"


@pytest.fixture
def bitgate(capsys: pytest.CaptureFixture[str]) -> Bitgate:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_cell_names_sub_gemm_tile_and_thread(bitgate: Bitgate) -> None:
    code, out, _ = bitgate("explain", NINE, "--kernel", KERNEL, "--cell", "0,1,5,3,4")
    assert code == 0
    assert out[out.index("dx[") :].splitlines() == [
        "dx[0,1,5,3,4], axes g,n,c,h,w:",
        "  sub-GEMM: 5 of 9, (x + pad) mod 3x3 = (1, 2), 1x1 taps",
        "  inputs: 128 products, K = 128 times 1 of 9 taps; the others reach no output from here",
        "    first dy[0,1,0,1,1] * w[0,0,5,1,2], last dy[0,1,127,1,1] * w[0,127,5,1,2]",
        "  tile: 2,0, rows 128 to 191, columns 0 to 63; row 5, column 5 of it",
        "  written by:",
        "    0 zero_fill",
        "    1 kernel_grouped block 42,0,0 thread 40 (wave 0, lane 40)",
    ]


def test_the_founding_bug_s_cell_is_in_no_launch(bitgate: Bitgate) -> None:
    _, out, _ = bitgate("explain", NINE, "--kernel", KERNEL, "--option", "flat_path_gate=off", "--cell", "0,1,5,3,4")
    assert "tile: none, no launch has this cell in a tile\n  written by:\n    0 zero_fill\n" in out


def test_slices_that_add_to_a_cell_are_listed(bitgate: Bitgate) -> None:
    _, out, _ = bitgate("explain", "reduction_f32_o3l600i2_sum_sk3", "--kernel", "reduction.f32_block", "--cell", "1,1")
    written = out[out.index("written by:") :].splitlines()[1:]
    assert [line.strip() for line in written] == [
        "0 clear_partials in the workspace",
        "1 kernel_block block 3,0,0 thread 0 (wave 0, lane 0) adds in the workspace, slice 0 of 3: cells 0 to 199",
        "1 kernel_block block 3,1,0 thread 0 (wave 0, lane 0) adds in the workspace, slice 1 of 3: cells 200 to 399",
        "1 kernel_block block 3,2,0 thread 0 (wave 0, lane 0) adds in the workspace, slice 2 of 3: cells 400 to 599",
        "2 kernel_finish block 0,0,0 thread 3 (wave 0, lane 3)",
    ]


def test_what_a_family_does_not_state_is_not_guessed(bitgate: Bitgate) -> None:
    _, out, _ = bitgate("explain", NINE, "--kernel", "naive_conv.bwd_data_f16", "--cell", "0,0,0,0,0")
    assert "nothing states which block and thread write which cell of this case" in out
    assert out.endswith("  written by: not stated\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--cell", "0,0,5,3"), f"--cell 0,0,5,3: give 5 numbers separated by commas, one for each axis of {DX}"),
        (("--cell", ""), f"--cell : give 5 numbers separated by commas, one for each axis of {DX}"),
        (("--cell", "0,1,5,3,28"), f"--cell 0,1,5,3,28: {DX.replace(':', ' has no such cell:')}"),
        (("--cell", f"0,1,5,3,{9**30}"), "dx has no such cell"),
        (("--kernel", "bwd_weight*"), "no kernel that was chosen computes bwd_data"),
        (("--kernel", "nongrouped*f16_128x64*", "--option", "flat_path_gate=off"), "no selected kernel has an option"),
        (("--kernel", "*f32_32x32x16_a1b1c1"), "refuses it, dtypes: f16 is not f32"),
        (("--svg", "."), ". cannot be written: it is a folder; give a file"),
        (("--target", "gfx7"), "gfx7"),
    ],
)
def test_bad_input_is_one_line(bitgate: Bitgate, arguments: tuple[str, ...], complaint: str) -> None:
    code, out, err = bitgate("explain", NINE, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err


def test_a_verdict_has_no_cells(bitgate: Bitgate) -> None:
    code, _, err = bitgate("explain", "MISMATCH", "--cell", "1")
    assert code == 2
    assert "'MISMATCH' is no case" in err


@pytest.mark.parametrize(
    "case",
    [
        "fwd_f32_nhwgc_g1n2k2c3_y3x2_h6x7_s2x1_d1x2_p1x2_q2x0",
        "bwd_data_f32_nhwgc_g1n2k3c2_y3x2_h6x7_s2x3_d1x2_p1x2_q2x0",
        "bwd_weight_f32_nhwgc_g1n2k2c2_y3x2_h6x7_s2x1_d1x2_p1x2_q2x0",
        "bwd_data_f32_nwgc_g1n2k3c2_y5_h9_s3_p2",
    ],
)
def test_contributions_are_those_of_the_sum(case: str) -> None:
    problem = convolution(case)
    products = list(_products(problem))
    for cell in product(*map(range, problem.tensors[problem.result].lengths)):
        mine = [operands for result, operands in products if result == cell]
        found = contributions(problem, cell)
        assert found.count == len(mine), cell
        if mine:
            assert (mine[0], mine[-1]) == (found.operands(0), found.operands(-1)), cell


def _products(problem: ConvProblem) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield each product of a convolution of one group: the cell it is added to and its operands. Channels or images
    vary slowest, for bwd_weight, else fastest."""
    taps, outs = (list(product(*map(range, sizes))) for sizes in (problem.filter, problem.output))
    geometry = list(zip(problem.stride, problem.dilation, problem.left_pad, strict=True))
    weight = problem.direction is Pass.BWD_WEIGHT
    places = list(product(outs, taps)) if weight else [(out, tap) for tap, out in product(taps, outs)]
    for n in range(problem.n):
        for (out, tap), k, c in product(places, range(problem.k), range(problem.c)):
            at = tuple(o * s + f * d - p for o, f, (s, d, p) in zip(out, tap, geometry, strict=True))
            if not all(0 <= i < length for i, length in zip(at, problem.input, strict=True)):
                continue
            x, w, y = (0, n, c, *at), (0, k, c, *tap), (0, n, k, *out)
            names = {Pass.FWD: (y, "x", x, "w", w), Pass.BWD_DATA: (x, "dy", y, "w", w)}
            cell, left, a, right, b = names.get(problem.direction, (w, "dy", y, "x", x))
            yield cell, f"{left}[{','.join(map(str, a))}] * {right}[{','.join(map(str, b))}]"


@pytest.mark.parametrize(
    "case",
    [NINE, "bwd_data_f16_nhwgc_g3n2k24c8_y3x2_h13x17_s2x3_d1x2_p2x0_q0x1", "bwd_data_f16_nwgc_g1n1k8c8_y2_h9_s3"],
)
def test_colours_are_the_sub_gemms_of_the_page(case: str) -> None:
    problem = convolution(case)
    (plane,) = [one for one in figures(problem, None, None) if isinstance(one, SquaresFigure)]
    gemms = sub_gemm_map(case_id(problem))
    assert gemms is not None
    owners = gemms.owners()
    styles = np.array([key.style for key in plane.keys])[plane.keys_at]
    inner = styles[-plane.down.first :, -plane.across.first :][: owners.shape[-2] if owners.ndim > 1 else 1]
    inner = inner[:, : owners.shape[-1]]
    coloured = np.char.startswith(inner, "colour")
    numbers = np.array([[int(one[6:]) if one.startswith("colour") else -1 for one in row] for row in inner])
    assert coloured.any()
    assert (numbers[coloured] == owners.reshape(inner.shape)[coloured]).all()
    assert (inner[owners.reshape(inner.shape) < 0] == "unreached").all()


def test_the_document_s_picture_is_the_command_s(bitgate: Bitgate, tmp_path: Path) -> None:
    text = (DOCS / "explain.md").read_text()
    (command,) = (line.strip() for line in text.splitlines() if line.endswith(" --svg docs/explain.svg"))
    arguments = shlex.split(command.removesuffix("docs/explain.svg"))[1:]
    assert bitgate(*arguments, str(tmp_path / "new.svg"))[0] == 0
    assert (tmp_path / "new.svg").read_text() == (DOCS / "explain.svg").read_text()


def test_the_picture_marks_the_cell(bitgate: Bitgate, tmp_path: Path) -> None:
    for case, cell, squares in (
        (NINE, "0,1,5,3,4", 3),
        ("bwd_weight_f32_nhwgc_g2n3k40c5_y3x3_h9x8_s2x1_p1x1_sk3", "1,2,3,2,2", 2),
        ("gemm_f32_rcr_b2m70n40k20", "1,3,4", 1),
        ("reduction_f32_o3l600i2_sum_sk3", "1,1", 0),
        ("fwd_f16_ndhwgc_g1n1k8c8_y3x3x3_h4x4x500_p1x1x1", "0,0,5,3,2,499", 3),
    ):
        code, out, _ = bitgate("explain", case, "--cell", cell, "--svg", str(tmp_path / "one.svg"))
        assert code == 0, case
        drawn = ElementTree.parse(tmp_path / "one.svg").getroot()
        texts = [text.text or "" for text in drawn.iter(f"{SVG}text")]
        assert texts[0].startswith(case.split("_h", maxsplit=1)[0])
        assert sum(" across" in text for text in texts) == squares, case
        lines = out[out.index("\nkernel: ") + 1 :].splitlines()[:-1]
        assert [line for line in lines if not any(text.startswith(line[:60]) for text in texts)] == [], case
