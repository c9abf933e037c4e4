"""`bitgate ci merge` on a machine that has nothing but results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from junitparser import JUnitXml

from bitgate.cli.main import run
from bitgate.record import Key, Outcome, Verdict, append


def _record(folder: Path, target: str, outcome: Outcome = Outcome.PASS) -> None:
    key = Key(
        "fwd_f32_nhwgc_g1n1k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0", "naive_conv", "fwd", (), "exact", 0, "forward", target
    )
    append(folder / "results.jsonl", Verdict(key, outcome, suite="conv_fwd", seconds={"total": 0.1}))


def _matrix(tmp_path: Path, *targets: str) -> str:
    path = tmp_path / "matrix.json"
    path.write_text(json.dumps({"include": [{"target": target} for target in targets]}))
    return str(path)


def test_artifacts_of_all_jobs_become_one_report(tmp_path: Path) -> None:
    for target in ("host", "gfx942"):
        _record(tmp_path / "results" / f"results-{target}" / target, target)
    matrix = _matrix(tmp_path, "host", "gfx942")
    assert run(["ci", "merge", str(tmp_path / "results"), "--matrix", matrix, "--out", str(tmp_path / "m")]) == 0
    assert JUnitXml.fromfile(str(tmp_path / "m" / "junit.xml")).tests == 2
    assert (tmp_path / "m" / "gfx942" / "junit.xml").is_file()


def test_a_job_that_left_nothing_behind_makes_the_night_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _record(tmp_path / "results" / "host", "host")
    matrix = _matrix(tmp_path, "host", "gfx942")
    out = tmp_path / "m"
    assert run(["ci", "merge", str(tmp_path / "results"), "--matrix", matrix, "--out", str(out), "--json"]) == 1
    assert "nothing was compared on gfx942" in json.loads(capsys.readouterr().out)["summary"]["headline"]
    assert JUnitXml.fromfile(str(out / "junit.xml")).errors == 1


def test_no_results_at_all_still_leave_a_red_report(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    matrix = _matrix(tmp_path, "host")
    assert run(["ci", "merge", str(tmp_path / "results"), "--matrix", matrix, "--out", str(tmp_path / "m")]) == 3
    assert JUnitXml.fromfile(str(tmp_path / "m" / "junit.xml")).errors == 1


def test_a_bad_matrix_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "matrix.json").write_text("[]")
    arguments = ["ci", "merge", str(tmp_path), "--matrix", str(tmp_path / "matrix.json"), "--out", str(tmp_path / "m")]
    assert run(arguments) == 2
    assert "not a matrix" in capsys.readouterr().err


def test_merging_imports_neither_hip_nor_numpy_nor_a_kernel() -> None:
    script = (
        "import sys, bitgate.cli.ci, bitgate.report, bitgate.ci.matrix, bitgate.ci.targets;"
        "print([m for m in sys.modules if m.split('.')[0] in ('hip', 'numpy', 'ml_dtypes')"
        " or m.startswith(('bitgate.verify', 'bitgate.kernel', 'bitgate.device', 'bitgate.build', 'bitgate.exact'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
