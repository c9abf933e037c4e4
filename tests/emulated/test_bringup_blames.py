"""Bring-ups of an emulated GPU, each with one planted defect: in a kernel, in the HIP runtime, in the emulator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.emulated.stand_in import StandIn

from bitgate.core.project import ours

FAMILY = "naive_reduction"


@dataclass(frozen=True)
class BringupRun:
    code: int
    document: dict[str, Any]
    said: str

    def step(self, name: str) -> dict[str, Any]:
        return next(step for step in self.document["steps"] if step["step"] == name)

    @property
    def blames(self) -> set[str]:
        """The sentences on the red small cases."""
        return {red["sentence"].partition("to blame: ")[2].removesuffix(")") for red in self.step("tiny")["reds"]}


def bring_up(emulator: StandIn, out: Path, environment: Mapping[str, str], *more: str, **says: object) -> BringupRun:
    command = ["-m", "bitgate", "bringup", "--target", "gfx942", "--launcher", emulator.command("gfx942", **says)]
    done = subprocess.run(
        [sys.executable, *command, "--kernel", f"{FAMILY}.*", "--out", str(out / "b.tar.gz"), "--json", *more],
        env={**emulator.environment(os.environ), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return BringupRun(done.returncode, json.loads(done.stdout), done.stderr)


def test_an_emulator_that_drops_launches_is_to_blame(emulator: StandIn, tmp_path: Path) -> None:
    second = ("--second-launcher", emulator.command("gfx942"))
    found = bring_up(emulator, tmp_path, {}, *second, drops="kernel_sum")
    assert (found.code, found.document["verdict"], found.document["target"]) == (1, "emulator", "emulated_gfx942")
    assert found.blames == {"emulator: a second emulator passes the same code object; the host passes it (PASS)"}
    assert "the emulator's authors" in found.document["send"]


@pytest.mark.nightly
def test_a_wrong_kernel_is_to_blame(emulator: StandIn, tmp_path: Path) -> None:
    source = f"kernels/{FAMILY}/{FAMILY}.hip.cpp"
    right = (ours().root / source).read_text()
    wrong = right.replace("l < geometry.length; ++l)", "l + 1 < geometry.length; ++l)")
    assert wrong != right
    (tmp_path / "overlay" / source).parent.mkdir(parents=True)
    (tmp_path / "overlay" / source).write_text(wrong)
    found = bring_up(emulator, tmp_path, {"BITGATE_OVERLAY": str(tmp_path / "overlay")})
    assert (found.code, found.document["verdict"]) == (1, "kernel")
    assert found.blames == {"kernel: the host, which has the same source, ends in MISMATCH too"}
    assert f"the authors of {FAMILY}" in found.document["send"]


@pytest.mark.nightly
def test_a_runtime_without_a_function_is_to_blame(emulator: StandIn, tmp_path: Path) -> None:
    without = StandIn(tmp_path / "rocm", emulator.launcher)
    shutil.copytree(emulator.root, without.root)
    library = without.root / "lib" / "libamdhip64.so"
    data = library.read_bytes()
    library.write_bytes(data.replace(b"\0hipStreamCreateWithFlags\0", b"\0hipStreamCreateWithFlag_\0"))
    assert library.read_bytes() != data
    found = bring_up(without, tmp_path, {})
    assert (found.code, found.document["verdict"]) == (2, "installation")
    assert "lacks hipStreamCreateWithFlags" in found.step("runtime")["sentence"]
    assert "the administrator of this machine" in found.document["send"]
