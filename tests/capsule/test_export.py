"""Exported capsules: the reference loader runs their launches on the host, and changed bits are red."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.needs import NIGHTLY

from bitgate.cli.capsule_export import code_of
from bitgate.results.record import Outcome
from bitgate.tools.capsule.export_format import schema
from bitgate.tools.capsule.manifest import Manifest
from bitgate.tools.capsule.returned import CheckedReturn

CASES = [
    ("softmax_f32_r4c16", "softmax.*", "gfx1100"),
    ("reduction_f32_o2l70i3_argmax", "reduction.*", "gfx942"),
]

MANIFEST = Manifest(2, "", "softmax_f32_r4c16_full", "", "", "f", "i", {}, "exact", 0, "gfx942", 64, (), (), (), (), "")


def bitgate(*words: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "bitgate", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def exported(case: str, kernel: str, target: str, out: Path) -> list[str]:
    """Export a capsule for the host, too; the libraries for the loader."""
    code, said, why = bitgate(
        *("capsule", "export", case, "--kernel", kernel, "--target", target, "--out", str(out), "--host", "--json")
    )
    assert code == 0, why
    libraries: list[str] = json.loads(said)["hip"]
    return libraries


def loaded(folder: Path, libraries: list[str]) -> subprocess.CompletedProcess[str]:
    hip = [word for library in libraries for word in ("--hip", library)]
    command = [sys.executable, "-I", str(folder / "loader.py"), str(folder), "--json", "host.json", "--by", "me", *hip]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def checked(folder: Path) -> tuple[int, list[dict[str, Any]]]:
    code, said, why = bitgate("capsule", "check", str(folder), "--json")
    assert said, why
    return code, json.loads(said)["capsules"]


@pytest.mark.parametrize(("case", "kernel", "target"), CASES if NIGHTLY else CASES[:1])
def test_the_loader_runs_it_and_a_changed_bit_is_red(case: str, kernel: str, target: str, tmp_path: Path) -> None:
    libraries = exported(case, kernel, target, tmp_path)
    code, (nothing,) = checked(tmp_path)
    assert (code, nothing["verdict"]) == (1, "LOST")
    ran = loaded(tmp_path, libraries)
    assert ran.returncode == 0, ran.stderr
    code, (right,) = checked(tmp_path)
    assert (code, right["verdict"], right["by"], right["target"]) == (3, "PASS", "me", target)
    assert right["ran"] == "host"
    assert right["digest"] == right["expected_digest"]
    document = json.loads((tmp_path / "export.json").read_text())
    results = json.loads((tmp_path / "results.json").read_text())
    for one in (document, results, json.loads((tmp_path / "host.json").read_text())):
        jsonschema.validate(one, schema())
    assert json.loads((tmp_path / "export.schema.json").read_text()) == json.loads(json.dumps(schema()))
    result = tmp_path / results["outputs"][0]["file"]
    wrong = bytearray(result.read_bytes())
    wrong[2] ^= 0x40
    result.write_bytes(wrong)
    code, (red,) = checked(tmp_path)
    assert (code, red["verdict"]) == (1, "MISMATCH")
    result.write_bytes(wrong[:-1])
    code, _, why = bitgate("capsule", "check", str(tmp_path))
    assert code == 2
    assert f"{result}: {len(wrong) - 1} bytes, the buffer" in why


def test_results_are_of_the_document_that_was_run(tmp_path: Path) -> None:
    """Written by hand, as the loader for a GPU writes them: what ran is known by its document alone."""
    folder = tmp_path / "night" / "gfx1100" / "one"
    exported(*CASES[0], folder)
    data = (folder / "export.json").read_bytes()
    document = json.loads(data)
    (output,) = document["expected"]
    wanted = (folder / output["file"]).read_bytes()[output["at"] :][: output["bytes"]]
    (folder / "out.bin").write_bytes(wanted)
    results = {name: document[name] for name in ("case", "kernel", "target")}
    results |= {"format": "bitgate capsule results", "schema": 1, "by": "me"}
    results |= {"outputs": [{"buffer": output["buffer"], "file": "out.bin"}]}

    def check(text: bytes) -> tuple[int, str, str]:
        (folder / "results.json").write_text(json.dumps({**results, "document": sha256(text).hexdigest()}))
        return bitgate("capsule", "check", str(tmp_path))

    code, said, _ = check(data)
    assert (code, said.split()[3]) == (0, "gfx1100")
    code, said, _ = check((folder / "host.json").read_bytes())
    assert (code, said.split()[3]) == (3, "host")
    assert "the host ran 1 of them: that says nothing about gfx1100" in said
    code, _, why = check(data + b"\n")
    assert code == 2
    assert "is of another export.json than that in the folder: run its loader again" in why
    (folder / "export.json").write_text(json.dumps({**document, "steps": []}))
    code, _, why = check(data)
    assert code == 2
    assert "export.json: is not of" in why
    (folder / "export.json").write_bytes(data)
    (tmp_path / "night" / "two").mkdir()
    for file in folder.iterdir():
        if file.name not in ("export.json", "results.json"):
            (tmp_path / "night" / "two" / file.name).write_bytes(file.read_bytes())
    code, said, _ = check(data)
    assert code == 1
    assert "1 of 2 capsules came back as expected" in said
    assert "LOST" in said


@pytest.mark.parametrize(("shows", "code"), [(True, 0), (False, 3)])
def test_results_that_show_nothing_are_no_green(shows: bool, code: int, tmp_path: Path) -> None:
    passed = CheckedReturn(tmp_path, MANIFEST, Outcome.PASS, "", target="gfx942", shows=shows)
    assert code_of([passed]) == code
    assert code_of([passed, replace(passed, shows=True)]) == 0
    assert code_of([passed, replace(passed, target="host")]) == 3
    assert code_of([passed, replace(passed, outcome=Outcome.LOST)]) == 1


def test_a_run_that_failed_is_no_answer(tmp_path: Path) -> None:
    exported(*CASES[0], tmp_path)
    ran = loaded(tmp_path, ["no-such-libamdhip64.so"])
    assert ran.returncode == 1
    code, (found,) = checked(tmp_path)
    assert (code, found["verdict"]) == (1, "INFRA")
    assert "no-such-libamdhip64.so" in found["reason"]
    results = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps({**results, "case": "softmax_f32_r5c16_full"}))
    code, _, why = bitgate("capsule", "check", str(tmp_path))
    assert code == 2
    assert "is of softmax_f32_r5c16_full" in why


def test_a_folder_without_capsules_is_named(tmp_path: Path) -> None:
    code, _, why = bitgate("capsule", "check", str(tmp_path))
    assert code == 2
    assert "no exported capsule, and no folder of some" in why


def test_a_tier_gives_one_capsule_for_each_way() -> None:
    code, said, why = bitgate("capsule", "export", "--target", "gfx942", "--list", "--kernel", "batched_gemm.*")
    assert code == 0, why
    *lines, closing = said.splitlines()
    assert closing == f"{len(lines)} capsules of gfx942"
    assert len(lines) > 5
    assert len(lines) == len(set(lines))
