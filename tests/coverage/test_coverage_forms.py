"""Pairs of alpha, beta, forms of D and compute types that a table does not reach."""

import json
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.model import case_id, parse_case_id
from bitgate.tools.coverage.forms import classes_of

SIZES = "nhwgc_g1n1k8c8_y1_h4"


def forms(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> Any:
    assert run(["coverage", "--cases", str(path), "--strength", "2", "--top", "100000", "--json", *more]) == 0
    (one,) = json.loads(capsys.readouterr().out)["passes"]
    return one["forms"]


def lines(path: Path, *cases: str) -> Path:
    path.write_text("".join(f"{case}\n" for case in cases))
    return path


@pytest.mark.parametrize(
    ("case", "classes"),
    [
        (f"fwd_f16_{SIZES}", "pass none none no_d0 no_d0 no_d0 none"),
        (f"fwd_f16_{SIZES}_bilinear_a1p2_dlngkhw_dtf32_dbn", "bilinear 1p2 3 2 f32 n none"),
        (f"fwd_f16_ctf8ocp_{SIZES}_scale", "scale 2 none no_d0 no_d0 no_d0 all"),
        (f"bwd_weight_f16_ctinf8ocp_ctoutbf8ocp_{SIZES}_nd1_dbkc", "nd1 none none own own several both_operands"),
        (f"bwd_data_f16_ctoutf8ocp_{SIZES}", "pass none none no_d0 no_d0 no_d0 out"),
        ("gemm_f16_ctweif8ocp_rcr_m4n4k4_inplace_b0", "inplace 2 0 own own own wei"),
    ],
)
def test_classes(case: str, classes: str) -> None:
    found: Any = classes_of(parse_case_id(case))  # type: ignore[arg-type]
    assert " ".join(cls.replace(" ", "_") for cls in found.values()) == classes


@pytest.mark.parametrize("case", ["gemm_f16_rcr_m8n8k8", f"bwd_data_f16_{SIZES}"])
def test_the_rows_that_close_the_holes_close_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, case: str
) -> None:
    first = forms(capsys, lines(tmp_path / "list", case))
    assert 0 < first["covered"] < first["total"] == first["covered"] + len(first["uncovered"])
    special = [
        hole for hole in first["uncovered"] if not {"none", "own", "no d0", "pass"} & {*hole["factors"].values()}
    ]
    assert special == first["uncovered"][: len(special)]
    assert {name for hole in special for name in hole["factors"]} == {
        "op", "alpha", "beta", "d_layout", "d_dtype", "d_axes", "compute"
    }  # fmt: skip
    for hole in special[:50]:
        problem: Any = parse_case_id(hole["row"])
        assert hole["factors"].items() <= classes_of(problem).items()
        assert case_id(problem) == hole["row"]
    rows = {hole["row"] for hole in first["uncovered"]}
    left = forms(capsys, lines(tmp_path / "closed", case, *rows))["uncovered"]
    assert {hole["words"] for hole in left}.isdisjoint(hole["words"] for hole in first["uncovered"])


def test_where_types_are_assumed_there_are_no_compute_types(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = forms(capsys, lines(tmp_path / "list", "gemm_f16_rcr_m8n8k8"), "--assume", "dtypes=f16")
    assert {hole["factors"].get("compute", "none") for hole in found["uncovered"]} == {"none"}


def test_a_table_of_shapes_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert forms(capsys, Path(__file__).parent / "data" / "ck_bwd_data_shapes.csv") is None


def test_an_operation_without_a_product_has_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert forms(capsys, lines(tmp_path / "list", "reduction_f32_o4l100i1_sum")) is None


def test_text_names_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = lines(tmp_path / "list", "gemm_f16_rcr_m8n8k8")
    assert run(["coverage", "--cases", str(path), "--strength", "2", "--top", "3"]) == 0
    out = capsys.readouterr().out
    assert "of alpha, beta, D's form and compute types 21 of 554 possible pairs (3.8 %)" in out
    assert "alpha, beta, D's form and compute types of gemm (3 of" in out
