"""What is gathered of a red case on a GPU that is not here, and of the kernel's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.core.project import ours
from bitgate.lab.bringup import evidence
from bitgate.lab.bringup.finding import RedCase

EVENT = {
    "kernel": "naive_reduction",
    "instance": "i8",
    "options": {},
    "fill": "exact",
    "seed": 0,
    "verdict": "MISMATCH",
}
CASE = "reduction_i8_o1l4i1_max"


def test_each_kernel_is_shown_before_one_is_shown_twice() -> None:
    reds = [
        RedCase({"case": case, "kernel": kernel})
        for case, kernel in (("aaaa", "x"), ("a", "x"), ("aaa", "y"), ("aa", "x"))
    ]
    chosen = evidence.chosen(reds, 3)
    assert [(red.event["case"], red.event["kernel"]) for red in chosen] == [("a", "x"), ("aaa", "y"), ("aa", "x")]
    assert evidence.chosen([], 3) == []


def test_a_capsule_has_the_data_that_were_computed_wrong() -> None:
    diagnosis = {"kinds": ["other"], "sentence": "launch 3 is wrong", "evidence": {"seed": 1000003}}
    assert evidence.seed_of(RedCase({**EVENT, "diagnosis": diagnosis})) == 1000003
    assert evidence.seed_of(RedCase({**EVENT, "diagnosis": None})) == 0


def test_the_kernel_s_log_is_of_gpus_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dmesg = tmp_path / "dmesg"
    lines = ["amdgpu 0000:c1:00.0: ring timeout", "NVRM: Xid 79", "sshd[1]: session of ada", "kfd kfd: added device"]
    dmesg.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    dmesg.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert evidence.kernel_log().splitlines() == [lines[0], lines[1], lines[3]]


def test_a_log_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dmesg = tmp_path / "dmesg"
    dmesg.write_text("#!/bin/sh\necho 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1\n")
    dmesg.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    log = evidence.kernel_log()
    assert log.startswith(
        "the kernel's log cannot be read: dmesg: dmesg: read kernel buffer failed: Operation not perm"
    )
    assert "journalctl: No such file or directory" in log


@pytest.mark.nightly
def test_a_red_case_on_amd_becomes_a_capsule_with_code_object(tmp_path: Path) -> None:
    assert evidence.write_capsule(RedCase({**EVENT, "case": CASE}), "gfx942", ours(), tmp_path / "capsule") == ""
    assert {"manifest.json", "naive_reduction.co"} <= {path.name for path in (tmp_path / "capsule").iterdir()}


def test_why_there_is_no_capsule_is_one_line(tmp_path: Path) -> None:
    why = evidence.write_capsule(
        RedCase({**EVENT, "case": "fwd_f32_nhwgc_n1k1c1_y1_h1"}), "host", ours(), tmp_path / "c"
    )
    assert why.startswith("no kernel for host takes fwd_f32_")
    assert "\n" not in why


@pytest.mark.nightly
@pytest.mark.needs("hipcc")
def test_device_code_of_a_library_is_disassembled() -> None:
    made = evidence.disassembly(
        lambda line: None, target="gfx90a", project=ours().as_json(), kernel="naive_reduction.i8"
    )
    assert made.wrong == ""
    assert made.files["naive_reduction.i8.s"].count("s_endpgm") > 2
