"""Sweeps: named problems to measure over. What the repository's hold, and that a bad file is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.model import Problem, case_id, parse_case_id
from bitgate.ops.convolution import ConvProblem
from bitgate.suite.sweep import Sweep, read_sweep, sweeps

FAMILIES = families()
ROW = '[[case]]\nname = "a"\nwhy = "w"\npass = "fwd"\ndtypes = "f16"\nshape = "n1k8c8_y3x3_h8x8"\n'
TITLE = 'title = "t"\n'


def sweep(name: str) -> Sweep:
    return read_sweep(name, ours())


def path_of(problem: Problem, gate: str) -> str:
    """The path that the grouped kernel's production instance takes, as its declaration says."""
    family = FAMILIES["grouped_bwd_data"]
    instance = family.instance("f16_32x32x32_a1b1c1")
    assert instance
    assert family.supports(problem, instance, {}) is None
    dispatched = family.dispatch(problem, instance, {"flat_path_gate": gate})
    assert dispatched
    return dispatched.path


def test_the_repositorys_sweeps():
    found = {name: len(read_sweep(str(path), ours()).shapes) for name, path in sweeps(ours()).items()}
    assert found == {"bwd_data_strided": 41, "resnet50": 23 * 3 * 2, "retinanet_bwd_weight": 37}


def test_the_gate_decides_for_25_of_41_strided_problems():
    shapes = sweep("bwd_data_strided").shapes
    decided = [one for one in shapes if path_of(one.problem, "off") != path_of(one.problem, "gemms_count")]
    assert len(decided) == 25
    assert all(path_of(one.problem, "gemms_count") == "grouped" for one in decided)
    assert all(one.problem.parts > 1 and cast(ConvProblem, one.problem).strided for one in decided)
    named = {one.name: one.problem for one in decided}
    assert named["ALMIOPEN-1959"] == parse_case_id("bwd_data_f16_nhwgc_n16k256c128_y5_h40x175_s2_p1")
    assert named["Retinanet-L61"] == parse_case_id("bwd_data_f16_nhwgc_n32k256c256_y3_h25x25_s2_p1")
    assert named["i2v-010"] == parse_case_id("bwd_data_f16_nhwgc_n1k384c384_y3_h277x209_s2")
    assert named["synthetic-50x50"] == parse_case_id("bwd_data_f16_nhwgc_n32k256c256_y3_h50x50_s2_p1")


# K, map, stride: the problems of RetinaNet on which the request of the wave-specialised kernel reports a gain.
REPORTED = (
    *((36, size, 1) for size in (7, 100, 13, 25, 50)),
    *((256, size, 1) for size in (100, 7, 13)),
    *((256, size, 2) for size in (13, 25)),
    *((2376, size, 1) for size in (50, 100)),
)


@pytest.mark.parametrize(("k", "size", "stride"), REPORTED)
def test_retinanet_holds_the_problems_that_were_reported(k, size, stride):
    problems = [one.problem for one in sweep("retinanet_bwd_weight").shapes]
    assert parse_case_id(f"bwd_weight_f16_nhwgc_n32k{k}c256_y3_h{size}x{size}_s{stride}_p1") in problems


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["bwd_data_strided", "resnet50", "retinanet_bwd_weight"])
def test_a_kernel_takes_every_problem_of_a_sweep(name, dtype):
    """Another one than the naive reference, which takes anything."""
    kernels = [
        (family, instance)
        for family in FAMILIES.values()
        if not family.name.startswith("naive")
        for instance in family.instances
    ]
    for shape in sweep(name).with_dtype(dtype).shapes:
        problem = shape.problem
        assert any(
            problem.operation.name in family.operations_of(instance)
            and dtype in instance.dtypes
            and family.supports(problem, instance, {}) is None
            for family, instance in kernels
        ), shape.name


def test_names_of_several_problems_of_a_row_say_what_differs(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(TITLE + ROW.replace('"fwd"', '["fwd", "bwd_data"]'))
    assert [one.name for one in read_sweep(str(file), ours()).shapes] == ["a fwd", "a bwd_data"]
    assert {one.name for one in sweep("resnet50").shapes if one.name.startswith("conv1")} == {
        f"conv1 {name} n{n}" for name in ("fwd", "bwd_data", "bwd_weight") for n in (32, 256)
    }


def test_rows_of_a_set_are_called_after_it(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(f'{TITLE}{ROW}\n[[split]]\ninclude = "#case"\npass = "bwd_weight"\nsplit_k = ["auto", 2]\n')
    assert [one.name for one in read_sweep(str(file), ours()).shapes] == ["a", "a split skauto", "a split sk2"]


def test_a_row_may_be_a_whole_case_id(tmp_path):
    case = "gemm_f16_rcr_b2m64n64k32"
    file = tmp_path / "mine.toml"
    file.write_text(f'{TITLE}[[case]]\nname = "one"\nwhy = "w"\ncase = "{case}"\n')
    (shape,) = read_sweep(str(file), ours()).with_dtype("bf16").shapes
    assert (shape.name, case_id(shape.problem)) == ("one", case.replace("f16", "bf16"))
    assert shape.place == f"{file}:2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ROW, "title is missing"),
        ("title = 3\n" + ROW, "title: 3 is not a text"),
        (TITLE, "no rows"),
        (TITLE + ROW + ROW, "the name a is at"),
        (TITLE + ROW + ROW.replace('"a"', '"b"'), "the problem fwd_f16_nhwgc_g1n1k8c8_y3x3_h8x8"),
        (TITLE + ROW + 'fills = "decimal"\n', "'a': fills: says how a problem is run"),
        (TITLE + ROW + 'options = { flat_path_gate = "off" }\n', "'a': options: says how a problem is run"),
        (TITLE + ROW + 'expect = { refused = "op" }\n', "'a': expect: says how"),
        (TITLE + ROW.replace("c8", "c0"), "'a': shape"),
        (TITLE + ROW.replace("fwd", "forward"), "'a': pass"),
    ],
)
def test_a_bad_sweep_is_refused_in_one_line(tmp_path, text, words):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_sweep(str(file), ours())
    assert words in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [("resnet", "did you mean 'resnet50'"), ("./no.toml", "no such file"), ("a/b", "no such file")],
)
def test_a_sweep_that_there_is_not(name, words):
    with pytest.raises(UsageError, match=words):
        sweep(name)


def test_types_that_a_problem_cannot_have():
    with pytest.raises(UsageError, match="ALMIOPEN-1959 in f17"):
        sweep("bwd_data_strided").with_dtype("f17")


def test_no_tier_runs_a_sweep():
    assert not [table for table in ours().tables() if "sweeps" in table.parts]


def test_cases_lists_a_sweep(capsys):
    assert run(["cases", "--sweep", "retinanet_bwd_weight", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["sweep"]
    assert (listed["name"], len(listed["shapes"])) == ("retinanet_bwd_weight", 37)
    assert set(listed["shapes"][0]) == {"name", "case", "human"}
    assert run(["cases", "--sweep", "retinanet_bwd_weight"]) == 0
    assert "37 problems" in capsys.readouterr().out


def test_coverage_reads_a_sweep(capsys):
    file = Path(sweeps(ours())["bwd_data_strided"])
    assert run(["coverage", "--cases", str(file), "--strength", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passes"][0]["rows"] == 41
