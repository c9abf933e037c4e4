"""A capsule of an operation that writes two tensors expects each of them, and says which is wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.cli.main import run
from bitgate.model import parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.digest import digest

CASE = "reduction_f32_o5l70i1_argmax"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capsule of the values and the indices of five maxima, for gfx942."""
    folder = tmp_path_factory.mktemp("argmax") / "gfx942"
    command = ["capsule", "write", CASE, "--target", "gfx942", "--kernel", "reduction.f32_block", "--out", str(folder)]
    assert run(command) == 0
    return folder


def manifest_of(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def replay(capsys: Any, folder: Path) -> tuple[int, Any]:
    capsys.readouterr()
    code = run(["capsule", "replay", str(folder), "--target", "host", "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else said.err


def expect(manifest: Any, folder: Path, place: int, change: Callable[[Any], None]) -> None:
    """Change what is expected of an output, with its hash and its digest."""
    entry = manifest["expected"][place]
    path = folder / entry["content"]["file"]
    data = np.load(path)
    change(data)
    np.save(path, data)
    entry["content"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    tensor = parse_case_id(manifest["case"]).tensors[entry["buffer"]]
    entry["digest"] = digest(HostTensor(tensor, data))


def test_each_output_has_a_buffer_and_what_is_expected_of_it(written):
    manifest = manifest_of(written)
    assert [buffer["name"] for buffer in manifest["buffers"] if buffer["role"] == "output"] == ["y", "index"]
    assert [entry["buffer"] for entry in manifest["expected"]] == ["y", "index"]
    rows = np.load(written / "x.npy").reshape(5, 70)
    assert np.array_equal(np.load(written / "expected_y.npy"), rows.max(axis=1))
    assert np.array_equal(np.load(written / "expected_index.npy"), rows.argmax(axis=1))
    text = (written / "README.txt").read_text()
    for entry in manifest["expected"]:
        assert f"{entry['buffer']} must equal {entry['content']['file']} in every bit" in text


def test_what_was_written_passes_with_a_digest_of_each(capsys, written):
    code, replayed = replay(capsys, written)
    y, index = (entry["digest"] for entry in manifest_of(written)["expected"])
    assert (code, replayed["verdict"]) == (0, "PASS")
    assert replayed["digest"] == replayed["expected_digest"] == f"y={y},index={index}"


@pytest.mark.parametrize(("place", "name", "right"), [(0, "y", "index"), (1, "index", "y")])
def test_a_wrong_output_is_named_and_the_other_is_not(capsys, capsule, edit, place, name, right):
    def change(data):
        data[3] += 1

    edit(lambda manifest: expect(manifest, capsule, place, change))
    code, replayed = replay(capsys, capsule)
    assert (code, replayed["verdict"]) == (1, "MISMATCH")
    assert f"1 of 5 cells of {name} are wrong" in replayed["reason"]
    assert replayed["diagnosis"]["evidence"]["output"] == name
    assert "wrong_too" not in replayed["diagnosis"]["evidence"]
    found, wanted = (
        dict(part.split("=") for part in replayed[key].split(",")) for key in ("digest", "expected_digest")
    )
    assert found[right] == wanted[right]
    assert found[name] != wanted[name]


def test_of_two_wrong_outputs_one_is_diagnosed_and_both_named(capsys, capsule, edit):
    def change(data):
        data[0] += 1

    def both(manifest):
        for place in (0, 1):
            expect(manifest, capsule, place, change)

    edit(both)
    evidence = replay(capsys, capsule)[1]["diagnosis"]["evidence"]
    assert (evidence["output"], evidence["wrong_too"]) == ("y", ["index"])


def test_an_output_that_no_step_writes_still_holds_its_poison(capsys, capsule, edit):
    def write_elsewhere(manifest):
        pointers = manifest["steps"][-1]["kernarg"]["pointers"]
        (index,) = (one for one in pointers if one["target"] and one["target"]["buffer"] == "index")
        manifest["buffers"].append({**manifest["buffers"][2], "name": "spare", "role": "workspace"})
        index["target"]["buffer"] = "spare"

    edit(write_elsewhere)
    code, replayed = replay(capsys, capsule)
    assert (code, replayed["verdict"]) == (1, "MISMATCH")
    assert "nothing was written: every cell of index still holds the poison" in replayed["reason"]


def test_a_gap_of_the_second_output_is_guarded(capsys, tmp_path):
    folder = tmp_path / "gap"
    case = f"{CASE}_gap"
    command = ["capsule", "write", case, "--target", "gfx942", "--kernel", "reduction.f32_block", "--out", str(folder)]
    assert run(command) == 0
    assert replay(capsys, folder)[0] == 0
    manifest = manifest_of(folder)
    (buffer,) = (buffer for buffer in manifest["buffers"] if buffer["name"] == "index")
    stride = buffer["tensor"]["strides"][0]
    assert stride > 1
    gap = {"buffer": "index", "offset": 4 * (stride - 1)}
    manifest["steps"].append({"kind": "memset", "name": "gap", "destination": gap, "value": 0, "bytes": 4})
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, replayed = replay(capsys, folder)
    assert (code, replayed["verdict"]) == (1, "CORRUPTED")
    assert replayed["reason"] == f"the padding between the rows of index was written (index {stride - 1} of its memory)"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m["expected"].pop(), "the case writes y, index, the capsule expects y\n"),
        (lambda m: m["expected"].clear(), "no result is expected"),
        (lambda m: m["expected"][1].update(buffer="y"), "two results are expected of one buffer"),
        (lambda m: m["expected"][1].update(buffer="x"), "the result's buffer x is of role input"),
        (lambda m: m["expected"][1].update(digest="bg1:0"), "expected_index.npy does not have the digest"),
        (lambda m: m["buffers"][2].update(role="workspace"), "the result's buffer index is of role workspace"),
        (lambda m: m["buffers"][0].update(role="output"), "(output, 1400 bytes) is not the case's tensor x (input"),
        (lambda m: m["buffers"][1].update(bytes=24), "24 bytes) is not the case's tensor y (output, 20 bytes)"),
    ],
)
def test_a_manifest_that_is_not_of_its_case_is_one_line(capsys, capsule, edit, change, words):
    edit(change)
    code, said = replay(capsys, capsule)
    assert code == 2
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("kernel", ["naive_reduction*", "reduction.*_wave*", "reduction.*_columns*"])
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_every_way_of_the_reduction(capsys, tmp_path, kernel, target):
    case = "reduction_i8_o3l70i33_argmax"
    assert run(["capsule", "write", case, "--target", target, "--kernel", kernel, "--out", str(tmp_path)]) == 0
    assert manifest_of(tmp_path)["host_run"] == "PASS"
    assert replay(capsys, Path(shutil.copytree(tmp_path, tmp_path / "moved")))[0] == 0
