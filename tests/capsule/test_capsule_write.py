"""What a capsule holds: read here as a stranger would, with json and numpy alone."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.kernel.build import Builder
from bitgate.kernel.build.code_object import read, symbols
from bitgate.model import parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.digest import digest
from bitgate.tools.capsule.writing import CapsuleRequest
from bitgate.tools.capsule.writing import write as write_here

CASE = "bwd_data_f16_nhwgc_g2n1k8c8_y3x3_h6x6_s2x2_p1_bilinear"


def manifest_of(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def write(capsys, case: str, out: Path, *more: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["capsule", "write", case, "--out", str(out), *more])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_every_file_is_named_with_its_hash(written):
    manifest = manifest_of(written)
    entries = manifest["code_objects"] + [b["content"] for b in manifest["buffers"] if b["content"]]
    entries += [expected["content"] for expected in manifest["expected"]]
    for entry in entries:
        assert hashlib.sha256((written / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
    named = {entry["file"] for entry in entries} | {"manifest.json", "README.txt"}
    assert {file.name for file in written.iterdir()} == named


def test_kernels_are_the_code_objects_own(written):
    manifest = manifest_of(written)
    kernels = [step for step in manifest["steps"] if step["kind"] == "kernel"]
    assert [step["name"] for step in kernels] == ["fill", "kernel_grouped"]
    for step in kernels:
        file = written / step["code_object"]
        names = {symbol.name for symbol in symbols(file.read_bytes())}
        assert {step["symbol"], step["descriptor"]} <= names
        kernel = read(file).kernel(step["symbol"])
        assert kernel is not None
        assert (step["wave_size"], step["lds_static"]) == (32, kernel.lds)
        assert step["kernarg"]["bytes"] == kernel.kernarg_bytes == len(bytes.fromhex(step["kernarg"]["hex"]))
        assert step["grid_threads"] == [grid * block for grid, block in zip(step["grid"], step["block"], strict=True)]
        assert np.prod(step["block"]) == step["resources"]["max_workgroup"]


def test_pointers_are_relocated_and_hidden_arguments_filled_in(written):
    manifest = manifest_of(written)
    fill, grouped = (step for step in manifest["steps"] if step["kind"] == "kernel")
    to = [[pointer["target"] for pointer in step["kernarg"]["pointers"]] for step in (fill, grouped)]
    assert [[place["buffer"] for place in places] for places in to] == [["d0", "in"], ["out", "wei", "d0", "in"]]
    for step in (fill, grouped):
        data = bytes.fromhex(step["kernarg"]["hex"])
        assert all(not any(data[p["offset"] : p["offset"] + 8]) for p in step["kernarg"]["pointers"])
    hidden = {argument["kind"]: argument for argument in fill["kernarg"]["hidden"]}
    data = bytes.fromhex(fill["kernarg"]["hex"])
    for kind, form, value in (
        ("hidden_block_count_x", "<I", fill["grid"][0]),
        ("hidden_group_size_x", "<H", 256),
        ("hidden_remainder_x", "<H", 0),
        ("hidden_grid_dims", "<H", 3),
    ):
        assert hidden[kind]["value"] == value
        assert struct.unpack_from(form, data, hidden[kind]["offset"]) == (value,)


def test_data_are_the_memory_as_it_lies(written):
    manifest = manifest_of(written)
    problem = parse_case_id(manifest["case"])
    assert {b["name"]: b["role"] for b in manifest["buffers"]} == {
        "out": "input",
        "wei": "input",
        "d0": "input",
        "in": "output",
    }
    for buffer in manifest["buffers"]:
        assert buffer["alignment"] == 16
        if buffer["content"]:
            assert np.load(written / buffer["content"]["file"]).nbytes == buffer["bytes"]
    expected = np.load(written / "expected.npy")
    assert digest(HostTensor(problem.tensors["in"], expected)) == manifest["expected"][0]["digest"]
    assert manifest["host_run"] == "PASS"


def test_a_guide_says_how_to_load_it(written):
    text = (written / "README.txt").read_text()
    manifest = manifest_of(written)
    assert "hipModuleLoad" in text
    assert "HIP_LAUNCH_PARAM_BUFFER_POINTER" in text
    for step in manifest["steps"]:
        assert step["symbol"] in text
    assert manifest["expected"][0]["digest"] in text


def test_a_failing_case_is_written_and_told(capsys, tmp_path):
    case = "bwd_data_f16_nhwgc_n1k8c8_y3x3_h6x6_s3x3_p1x1"
    options = ("--target", "gfx1100", "--kernel", "grouped_bwd_data.f16_*a8b8c8*", "--option", "flat_path_gate=off")
    code, out, _ = write(capsys, case, tmp_path / "bug", *options, "--json")
    written_out = json.loads(out)
    assert code == 0
    assert written_out["steps"] == ["memset", "kernel"]
    assert written_out["host_run"].startswith("MISMATCH: sub-GEMMs 1 to 8 of 9 are missing")
    manifest = manifest_of(tmp_path / "bug")
    zero_fill = manifest["steps"][0]
    assert (zero_fill["destination"], zero_fill["value"]) == ({"buffer": "in", "offset": 0}, 0)
    assert zero_fill["bytes"] == manifest["buffers"][-1]["bytes"]
    assert run(["capsule", "replay", str(tmp_path / "bug")]) == 1


def test_real_numbers_come_with_their_bounds(capsys, tmp_path):
    case = "bwd_data_f16_nhwgc_n1k8c8_y3x3_h6x6_s2x2_p1x1_gap"
    command = ("--target", "gfx1100", "--kernel", "grouped*", "--fill", "decimal")
    assert write(capsys, case, tmp_path / "real", *command)[0] == 0
    (expected,) = manifest_of(tmp_path / "real")["expected"]
    value, slack = (np.load(tmp_path / "real" / expected["tolerance"][name]["file"]) for name in ("value", "slack"))
    assert expected["digest"] == ""
    assert value.shape == slack.shape == (1, 1, 8, 6, 6)
    assert (slack > 0).all()
    assert run(["capsule", "replay", str(tmp_path / "real")]) == 0


def test_an_input_that_lies_in_the_results_memory_begins_there(capsys, tmp_path):
    case = "bwd_data_f16_nhwgc_n2k16c16_y3_h8_s2_p1_inplace"
    assert write(capsys, case, tmp_path, "--target", "gfx942", "--kernel", "grouped_bwd_data.f16_*")[0] == 0
    manifest = manifest_of(tmp_path)
    assert {b["name"]: b["role"] for b in manifest["buffers"]} == {"out": "input", "wei": "input", "in": "output"}
    assert manifest["buffers"][-1]["content"]["file"] == "in_before.npy"
    pointers = [p["target"]["buffer"] for p in manifest["steps"][-1]["kernarg"]["pointers"] if p["target"]]
    assert pointers.count("in") == 2, "what is read there and what is written"
    assert manifest["host_run"] == "PASS"
    assert run(["capsule", "replay", str(tmp_path)]) == 0


def test_a_capsule_in_the_folder_is_replaced(capsys, tmp_path):
    target = ("--target", "gfx1100")
    assert write(capsys, "fwd_f16_nhwgc_n1k4c4_y1_h4", tmp_path, *target, "--kernel", "naive*")[0] == 0
    (tmp_path / "mine.txt").write_text("not the capsule's")
    assert write(capsys, "fwd_f32_nhwgc_n1k4c4_y1_h4", tmp_path, *target, "--kernel", "naive*")[0] == 0
    files = {file.name for file in tmp_path.iterdir()}
    assert {"mine.txt", "naive_conv_f32.co"} <= files
    assert "naive_conv_f16.co" not in files


@pytest.mark.parametrize(
    ("case", "options", "words"),
    [
        ("fwd_f16_nhwgc_n1k4c4_y1_h4", ["--target", "sm_90"], "sm_90: capsules hold AMD code objects"),
        ("fwd_f16_nhwgc_n1k4c4_y1_h4", ["--target", "gfx943"], "unknown target 'gfx943'; did you mean 'gfx94"),
        ("fwd_f16_nhwgc_n1k4c4_y1_h4", ["--target", "gfx942", "--kernel", "grouped_bwd*"], "none does this operation"),
        ("fwd_f16_nhwgc_n1k4c4_y1_h4", ["--target", "gfx942", "--fill", "random"], "--fill random"),
        ("fwd_f16_nhwgc_n1k4c4_y1_h4", ["--target", "gfx942", "--option", "x"], "write NAME=VALUE"),
        ("fwd_f16_nhwgc", ["--target", "gfx942"], ""),
    ],
)
def test_a_wrong_order_is_one_line(capsys, tmp_path, case, options, words):
    code, _, err = write(capsys, case, tmp_path / "none", *options)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_a_kernel_of_ones_own(capsys, tmp_path):
    """``--load``, and a kernel that faults: the capsule holds its launch, and each replay faults the same way."""
    folder = Path(shutil.copytree(paths.root() / "examples" / "pointwise", tmp_path / "mine"))
    source = folder / "pointwise.hip.cpp"
    text = source.read_text().replace(
        "bitgate::product(shape.input)", "shape.input[0] * shape.input[1] * shape.input[2]"
    )
    load = ("--load", str(folder / "declaration.py"))
    command = ("--target", "gfx1201", "--kernel", "pointwise", *load)
    for name, written, verdict in (
        ("right", text, "PASS"),
        ("faulty", text.replace("dx[", "dx[64 + "), "CRASHED"),
    ):
        source.write_text(written)
        out = tmp_path / name
        assert write(capsys, "bwd_data_f32_nhwgc_n1k4c4_y1_h4", out, *command)[0] == 0
        assert manifest_of(out)["host_run"].startswith(verdict)
        assert run(["capsule", "replay", str(out), *load]) == (0 if verdict == "PASS" else 1)
        assert capsys.readouterr().out.startswith(verdict)
    assert run(["capsule", "replay", str(tmp_path / "right")]) == 2
    assert "no kernel family 'pointwise'" in capsys.readouterr().err


def test_a_case_is_the_same_capsule_in_each_process(written, tmp_path):
    """Bytes between the members of an argument would be what lay on the stack, which is elsewhere in each process."""
    command = [sys.executable, "-m", "bitgate", "capsule", "write", CASE, "--target", "gfx1100"]
    subprocess.run([*command, "--kernel", "grouped_bwd_data.f16_*", "--out", str(tmp_path)], check=True)
    steps, again = (manifest_of(folder)["steps"] for folder in (written, tmp_path))
    assert [step["kernarg"]["hex"] for step in again] == [step["kernarg"]["hex"] for step in steps]


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_both_wave_sizes_of_one_family(capsys, tmp_path, direction, target):
    case = f"{direction}_f16_nhwgc_g2n1k4c4_y3_h5_p1"
    assert write(capsys, case, tmp_path, "--target", target, "--kernel", "naive*")[0] == 0
    manifest = manifest_of(tmp_path)
    assert manifest["wave_size"] == manifest["steps"][0]["wave_size"] == {"gfx942": 64, "gfx1201": 32}[target]
    assert manifest["code_objects"][0]["target_id"] == f"amdgcn-amd-amdhsa--{target}"
    assert run(["capsule", "replay", str(tmp_path)]) == 0


def test_units_for_other_waves_are_not_compiled(tmp_path, monkeypatch):
    compiled: list[str] = []
    code_objects = Builder.code_objects

    def noted(*arguments: Any, **more: Any) -> dict[str, Path]:
        found = code_objects(*arguments, **more)
        compiled.extend(found)
        return found

    monkeypatch.setattr(Builder, "code_objects", noted)
    order = CapsuleRequest(parse_case_id(CASE), "gfx1100", "grouped_bwd_data.f16_*")
    write_here(order, tmp_path / "capsule")
    assert sorted(compiled) == ["grouped_bwd_data_f16_w32", "library"]


NIGHTLY = pytest.mark.nightly


@pytest.mark.parametrize(
    "dtype",
    ["bf8ocp", "bf16", *(pytest.param(name, marks=NIGHTLY) for name in ("f8ocp", "bf8fnuz", "f8fnuz"))],
)
def test_types_unknown_to_numpy_are_saved_and_read_as_bits(capsys, tmp_path, dtype):
    case = f"fwd_{dtype}_nhwgc_n1k4c4_y1_h4"
    assert write(capsys, case, tmp_path, "--target", "gfx942", "--kernel", "naive*")[0] == 0
    manifest = manifest_of(tmp_path)
    for buffer in manifest["buffers"]:
        if buffer["content"]:
            assert np.load(tmp_path / buffer["content"]["file"]).dtype.kind == "u"
            assert buffer["tensor"]["dtype"] == dtype
    assert run(["capsule", "replay", str(tmp_path), "--target", "host"]) == 0
