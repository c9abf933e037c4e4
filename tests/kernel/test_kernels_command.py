"""``bitgate kernels``: families, instances and options, and how often each has passed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.results.record import Key, Outcome, Verdict, append

KEYS = {"family", "instance", "target", "ops", "dtypes", "layouts", "ndims", "options", "verified"}


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[tuple[str, str], dict[str, object]]:
    assert run(["kernels", "--target", "host", "--json", *arguments]) == 0
    listed = json.loads(capsys.readouterr().out)["kernels"]
    assert all(row.keys() >= KEYS for row in listed)
    return {(row["family"], row["instance"]): row for row in listed}


def test_instances_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    listed = rows(capsys, "--kernel", "grouped_bwd_data.f16_[0-9]*")
    assert listed
    for (family, instance), row in listed.items():
        assert (family, row["dtypes"], row["ops"]) == ("grouped_bwd_data", ["f16"], ["bwd_data"])
        assert instance.startswith("f16_")
        assert "flat_path_gate" in [option["name"] for option in row["options"]]  # type: ignore[attr-defined]


def test_passes_are_counted_once_a_case_from_the_recorded_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BITGATE_OUT", str(tmp_path))
    cases = ("fwd_f32_nwgc_g1n1k1c1_y1_h1", "fwd_f32_nwgc_g1n1k1c2_y1_h1")
    first, second = (Key(case, "naive_conv", "fwd_f32", (), "exact", 0, "forward", "host") for case in cases)
    for key, outcome in ((first, Outcome.PASS), (first, Outcome.PASS), (second, Outcome.MISMATCH)):
        append(tmp_path / "host" / "results.jsonl", Verdict(key, outcome))
    append(tmp_path / "host" / "s1of2" / "results.jsonl", Verdict(second, Outcome.PASS))
    listed = rows(capsys, "--kernel", "naive_conv*")
    assert listed["naive_conv", "fwd_f32"]["verified"] == 2
    assert listed["naive_conv", "fwd_f16"]["verified"] == 0
    assert listed["naive_conv", "fwd_f32"]["verified_layouts"] == ["nwgc gkxc"]


def test_an_instance_that_no_case_runs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(paths.root() / "examples" / "pointwise", tmp_path / "picky")
    declaration = tmp_path / "picky" / "declaration.py"
    declaration.write_text(
        declaration.read_text().replace("    return None", '    return Refusal("mood", "not today")')
    )
    assert run(["kernels", "--target", "host", "--load", str(declaration), "--kernel", "pointwise*"]) == 1
    assert "no case of any suite runs pointwise.f32 on host" in capsys.readouterr().err


def test_a_damaged_record_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BITGATE_OUT", str(tmp_path))
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "results.jsonl").write_text("{}\n{}\n")
    assert run(["kernels", "--target", "host"]) == 2
    assert "results.jsonl:1: not a result event" in capsys.readouterr().err


def test_the_list_reads_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernels", "--target", "host"]) == 0
    text = capsys.readouterr().out
    assert "grouped_bwd_data  (bwd_data; target host)" in text
    assert "--option flat_path_gate=gemms_count|launch_each|off  (production: gemms_count)" in text
