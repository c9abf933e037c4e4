"""`bitgate ci merge` on a machine that has nothing but results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import xmlschema
from junitparser import JUnitXml

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.results.record import Key, Outcome, Verdict, append


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


DRAINED = {"target": "gfx942", "why": "drained", "reason": "pool mi300-a drained: new cooling"}


def test_a_target_without_a_machine_is_reported_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not a failure: green, but always reported."""
    _record(tmp_path / "results" / "host", "host")
    gate = {"target": "gfx90a", "why": "gate", "reason": "gate nightly runs regression only"}
    other = {"pool": "mi300-b", "targets": ["gfx942"], "state": "drained: moved"}
    matrix = tmp_path / "matrix.json"
    matrix.write_text(
        json.dumps({"include": [{"target": "host"}], "absent": [DRAINED, gate], "drained": [other], "expired": []})
    )
    out = tmp_path / "m"
    assert run(["ci", "merge", str(tmp_path / "results"), "--matrix", str(matrix), "--out", str(out), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["headline"].endswith("not run: gfx942 (pool mi300-a drained: new cooling)")
    assert summary["absent"] == [{"target": "gfx942", "reason": DRAINED["reason"]}]
    text = (out / "summary.md").read_text()
    assert "- **not run**: gfx942: pool mi300-a drained: new cooling" in text
    assert "pool mi300-b drained: moved (gfx942)" in text
    assert "gfx90a" not in text
    xml = JUnitXml.fromfile(str(out / "junit.xml"))
    skipped = [case for suite in xml for case in suite if case.is_skipped]
    assert [(case.classname, case.result[0].message) for case in skipped] == [
        ("bitgate.gfx942.run", "not run: pool mi300-a drained: new cooling")
    ]
    for schema in ("junit.xsd", "jenkins.xsd"):
        xmlschema.XMLSchema(paths.data_folder("reports") / schema).validate(out / "junit.xml")


def test_what_is_red_is_shown_where_the_forge_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = Key("fwd_f32_nhwgc_g1n1k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0", "tiled", "a", (), "exact", 0, "forward", "host")
    said = "3 of 9 cells are wrong:\n100% zero"
    red = Verdict(key, Outcome.MISMATCH, said, suite="s", row="suites/a,b/cases.toml:12", repro="bitgate verify x")
    append(tmp_path / "results" / "results.jsonl", red)
    matrix = tmp_path / "matrix.json"
    matrix.write_text(json.dumps({"include": [{"target": "host"}, {"target": "gfx90a"}], "absent": [DRAINED]}))
    arguments = ["ci", "merge", str(tmp_path / "results"), "--matrix", str(matrix), "--out", str(tmp_path / "m")]
    assert run([*arguments, "--annotate", "github"]) == 1
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert told == [
        "::error title=NothingCompared::nothing was compared on gfx90a",
        "::error file=suites/a%2Cb/cases.toml,line=12,title=MISMATCH on host%2C tiled.a::3 of 9 cells are wrong:%0A"
        f"100%25 zero ({key.case})%0Abitgate verify x",
        "::warning title=gfx942 did not run::pool mi300-a drained: new cooling",
    ]
    assert run([*arguments, "--annotate", "gitlab"]) == 1
    first, second = json.loads((tmp_path / "m" / "codequality.json").read_text())
    assert first["check_name"] == "NothingCompared"
    assert second["location"] == {"path": "suites/a,b/cases.toml", "lines": {"begin": 12}}
    assert len({first["fingerprint"], second["fingerprint"]}) == 2
    assert run([*arguments, "--annotate", "gitlub"]) == 2
    assert "--annotate gitlub: did you mean 'gitlab'?" in capsys.readouterr().err


def test_a_bad_matrix_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "matrix.json").write_text("[]")
    arguments = ["ci", "merge", str(tmp_path), "--matrix", str(tmp_path / "matrix.json"), "--out", str(tmp_path / "m")]
    assert run(arguments) == 2
    assert "not a matrix" in capsys.readouterr().err


def test_merging_imports_neither_hip_nor_numpy_nor_a_kernel() -> None:
    script = (
        "import sys, bitgate.cli.ci, bitgate.results.report, bitgate.lab.ci.matrix, bitgate.results.targets_file;"
        "print([m for m in sys.modules if m.split('.')[0] in ('hip', 'numpy', 'ml_dtypes')"
        " or m.startswith(('bitgate.verify', 'bitgate.kernel', 'bitgate.runtime', 'bitgate.numerics'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
