"""``bitgate doctor``: what is here, and what would fix what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.kernel.build import toolchain


def test_a_machine_with_a_compiler_can_run_smoke(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"targets", "toolchains", "problems"} <= report.keys()
    host = next(target for target in report["targets"] if target["name"] == "host")
    assert (host["runs"], host["why"], host["platform"], host["kind"]) == (True, "", "host", "cpu")
    assert report["toolchains"][0]["found"]
    assert {"grouped_bwd_data", "naive_conv"} <= {library["name"] for library in report["libraries"]}


def test_without_a_compiler_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain, "_zig_command", lambda: None)
    assert run(["doctor", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert not any(target["runs"] for target in report["targets"])
    (problem,) = [problem for problem in report["problems"] if problem["what"] == "host C++ compiler"]
    assert "apt-get install g++" in problem["fix"]
    assert problem["blocks"]
    assert run(["doctor"]) == 2
    text = capsys.readouterr().out
    assert "why: needs host C++ compiler" in text
    assert "smoke cannot run here" in text


def test_a_compiler_without_its_library_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "g++"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "g++ (GCC) 12.2.0" && exit 0\n'
        'echo "t.cpp:1:10: fatal error: vector: No such file or directory"; exit 1\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    assert run(["doctor", "--json"]) == 2
    compiler = json.loads(capsys.readouterr().out)["toolchains"][0]
    assert "does not compile a trial (t.cpp:1:10: fatal error: vector: No such file or directory)" in compiler["why"]


def test_a_cache_that_cannot_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path / "file"))
    assert run(["doctor"]) == 2
    captured = capsys.readouterr()
    assert "BITGATE_CACHE" in captured.out + captured.err
