"""A replay runs the capsule's own data, and takes no capsule that is not whole."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from bitgate.cli.main import run


def replay(capsys, folder, *more: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["capsule", "replay", str(folder), "--target", "host", *more])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_what_was_written_passes(capsys, written):
    code, out, _ = replay(capsys, written, "--json")
    replayed = json.loads(out)
    assert (code, replayed["verdict"], replayed["diagnosis"], replayed["target"]) == (0, "PASS", None, "host")
    assert replayed["digest"] == replayed["expected_digest"]


def of_schema_1(manifest):
    manifest.update(schema=1, expected=manifest["expected"][0])


def test_a_capsule_of_before_there_were_several_results_is_read(capsys, capsule, edit):
    edit(of_schema_1)
    code, out, _ = replay(capsys, capsule, "--json")
    assert (code, json.loads(out)["verdict"]) == (0, "PASS")
    edit(lambda manifest: manifest.pop("expected"))
    code, _, err = replay(capsys, capsule)
    assert code == 2
    assert "missing required field 'expected'" in err


def drop_last_step(manifest):
    manifest["steps"].pop()


def take_one_block(manifest):
    manifest["steps"][-1]["grid"][0] = 1


def read_d_from_the_result(manifest):
    pointers = manifest["steps"][-1]["kernarg"]["pointers"]
    pointers[2]["target"] = pointers[3]["target"]


def change_a_value(manifest):
    kernarg = manifest["steps"][-1]["kernarg"]
    image_count = kernarg["arguments"][4]["offset"]  # the geometry's first member
    data = bytearray.fromhex(kernarg["hex"])
    data[image_count] = 0
    kernarg["hex"] = data.hex()


@pytest.mark.parametrize("change", [drop_last_step, take_one_block, read_d_from_the_result, change_a_value])
def test_launches_are_the_manifests(capsys, capsule, edit, change):
    """Not those that the library would make again: another launch gives another result."""
    edit(change)
    code, out, _ = replay(capsys, capsule, "--json")
    replayed = json.loads(out)
    assert (code, replayed["verdict"]) == (1, "MISMATCH")
    assert replayed["reason"] == replayed["diagnosis"]["sentence"]
    assert replayed["diagnosis"]["evidence"]["first_wrong_cells"]


def test_inputs_are_the_capsules(capsys, capsule, edit):
    """Other inputs with a right hash give another result."""
    path = capsule / "wei.npy"
    weights = np.load(path)
    np.save(path, weights[::-1].copy())

    def state(manifest):
        entry = next(buffer["content"] for buffer in manifest["buffers"] if buffer["name"] == "wei")
        entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()

    edit(state)
    assert replay(capsys, capsule)[0] == 1


def test_a_crash_is_reported(capsys, capsule, edit):
    def grow(manifest):
        kernarg = manifest["steps"][-1]["kernarg"]
        data = bytearray.fromhex(kernarg["hex"])
        data[kernarg["arguments"][4]["offset"] + 2] = 1  # 65536 images more
        kernarg["hex"] = data.hex()
        manifest["steps"][-1]["grid"][0] = 60000

    edit(grow)
    code, out, _ = replay(capsys, capsule)
    assert code == 1
    assert out.startswith("CRASHED")
    assert "kernel_grouped" in out


def remove_wave(manifest):
    manifest["wave_size"] = 48


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(schema=3), "schema 3, this bitgate reads 1 and 2"),
        (lambda m: m.pop("schema"), "schema None"),
        (lambda m: m.pop("steps"), "missing required field 'steps'"),
        (lambda m: m.update(seed="0"), "Expected 'int', got 'str' - at '$.seed'"),
        (lambda m: m["steps"][0].update(kind="print"), "Invalid value 'print' - at '$.steps[0].kind'"),
        (lambda m: m["steps"][0]["grid"].pop(), "of length 3, got 2 - at '$.steps[0].grid'"),
        (lambda m: m["steps"].clear(), "no kernel is launched"),
        (lambda m: m["buffers"].pop(), "the result's buffer in is not among the buffers"),
        (lambda m: m["buffers"].pop(0), "which does not exist"),
        (lambda m: m["buffers"][0].update(bytes=4), "its file holds"),
        (lambda m: m["buffers"][-1].update(pattern="xy"), "neither content nor a pattern"),
        (lambda m: m["code_objects"][0].update(file="../x.co"), "cannot be a name in a path"),
        (lambda m: m["steps"][0].update(code_object="y.co"), "names code object y.co"),
        (lambda m: m["steps"][0]["kernarg"].update(hex="00"), "its kernarg segment is not"),
        (lambda m: m["steps"][0]["kernarg"]["pointers"][0].update(offset=-8), "a pointer is outside of its arguments"),
        (lambda m: m["steps"][0]["kernarg"]["pointers"][0]["target"].update(offset=1 << 30), "reaches outside of"),
        (lambda m: m["steps"][0].update(symbol="_Z3oldv"), "has no _Z3oldv: the kernels have changed since"),
        (lambda m: m["expected"][0].update(digest="bg1:0"), "does not have the digest"),
        (lambda m: m["expected"][0].update(buffer="out"), "the result's buffer out is of role input"),
        (lambda m: m.update(case="fwd_x"), ""),
        (lambda m: m.update(family="gone"), "no kernel family 'gone'"),
        (lambda m: m.update(instance="gone"), "no instance 'gone'"),
        (remove_wave, "host has no waves of 48 lanes"),
    ],
)
def test_a_wrong_manifest_is_one_line(capsys, capsule, edit, change, words):
    edit(change)
    code, out, err = replay(capsys, capsule)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_cut_manifest_is_one_line(capsys, capsule):
    path = capsule / "manifest.json"
    path.write_bytes(path.read_bytes()[:-200])
    code, _, err = replay(capsys, capsule)
    assert code == 2
    assert "cannot be read, is it cut?" in err


@pytest.mark.parametrize("file", ["wei.npy", "expected.npy", "grouped_bwd_data_f16_w32.co"])
def test_a_missing_or_changed_file_is_one_line(capsys, capsule, file):
    path = capsule / file
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    code, _, err = replay(capsys, capsule)
    assert code == 2
    assert f"{file} has changed since the capsule was written" in err
    path.unlink()
    code, _, err = replay(capsys, capsule)
    assert code == 2
    assert f"{file} is missing" in err


def test_no_capsule_and_no_target(capsys, tmp_path, capsule):
    code, _, err = replay(capsys, tmp_path)
    assert code == 2
    assert "holds no capsule" in err
    assert run(["capsule", "replay", str(capsule), "--target", "gfx1100"]) == 2
    assert "gfx1100 is not present on this machine" in capsys.readouterr().err
