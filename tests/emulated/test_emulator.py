"""Kernels under an emulator: what starts under it, who is blamed for its end, and what its race detector reports.

The emulator is a stand-in (stand_in.py): real kernels on the host runtime, which calls itself gfx942.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.emulated.stand_in import StandIn

CONV, SOFTMAX, LARGER = "fwd_f32_nhwgc_g1n1k8c8_y1x1_h3x3", "softmax_f32_r4c16", "softmax_f32_r8c16"


@dataclass(frozen=True)
class Done:
    code: int
    verdicts: list[dict[str, Any]]
    said: str

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(one["case"].partition("_full")[0].partition("_s1x1")[0], one["verdict"]) for one in self.verdicts]


Verify = Callable[..., Done]


@pytest.fixture
def verify(emulator: StandIn, tmp_path: Path) -> Verify:
    def call(*words: str, gpu: str = "gfx942", config: str = "", extra: tuple[str, ...] = (), **says: object) -> Done:
        launcher = emulator.command(gpu, **says)
        if config:
            launcher = launcher.removesuffix(" --") + f" --config {config} --"
        command = ["-m", "bitgate", "verify", *words, "--target", "gfx942", "--launcher", launcher, *extra, "--json"]
        done = subprocess.run(
            [sys.executable, *command],
            env={**emulator.environment(os.environ), "BITGATE_OUT": str(tmp_path / "out")},
            capture_output=True,
            text=True,
            check=False,
        )
        verdicts = json.loads(done.stdout)["verdicts"] if done.stdout else []
        return Done(done.returncode, verdicts, done.stderr)

    return call


def test_kernels_start_once_a_process_under_it(verify: Verify, tmp_path: Path) -> None:
    log = tmp_path / "starts"
    done = verify(CONV, SOFTMAX, LARGER, "--kernel", "naive_*", log=log)
    assert (done.code, [outcome for _, outcome in done.outcomes]) == (0, ["PASS"] * 3), done.said
    # The trial of the device, the canary's process, and one for all cases.
    assert len(log.read_text().split()) == 3
    for one in done.verdicts:
        assert (one["target"], one["platform"], one["device"]["kind"]) == ("emulated_gfx942", "amd", "emulated")
        assert one["fingerprint"]["emulator"].startswith("stand-in-emulator 1.2.3 (sha256 ")
        assert one["repro"].count("--launcher '") == 1
    assert "limits are" in done.said


@pytest.mark.parametrize(
    ("says", "outcome", "reason"),
    [
        ({"crashes": "softmax"}, "INFRA", "the kernel or its emulator is to blame"),
        ({"hangs": "softmax"}, "INFRA", "no verdict within"),
        ({"faults": "softmax"}, "CRASHED", "Memory access fault by GPU node-1"),
    ],
)
def test_what_ends_the_emulator_is_blamed_alone(
    verify: Verify, says: dict[str, str], outcome: str, reason: str
) -> None:
    done = verify(SOFTMAX, CONV, "--kernel", "naive_*", "--time-limit", "6", **says)
    assert done.outcomes == [(SOFTMAX, outcome), (CONV, "PASS")], done.said
    assert reason in done.verdicts[0]["reason"]
    assert done.code == 1


def test_a_logged_race_is_the_crash_of_its_launch(verify: Verify, tmp_path: Path) -> None:
    config = tmp_path / "gfx942.json"
    config.write_text('{"gpu": "gfx942", "plugins": {"trace": {}}}')
    done = verify(CONV, SOFTMAX, CONV, "--kernel", "naive_*", "--race", config=str(config), races="softmax")
    assert [outcome for _, outcome in done.outcomes] == ["PASS", "CRASHED", "PASS"], done.said
    raced = done.verdicts[1]
    assert raced["diagnosis"]["kinds"] == ["race"]
    assert "race on LDS in kernel_softmax" in raced["reason"]
    assert "ds_write_b32 v1, v2 races with ds_read_b32 v3, v1; launch 1 of 1: kernel_softmax" in raced["reason"]
    assert raced["diagnosis"]["evidence"]["fault"]["kernel"] == "kernel_softmax"
    assert config.read_text() == '{"gpu": "gfx942", "plugins": {"trace": {}}}', "each process has a copy"


def test_races_need_a_description_and_no_daemon(verify: Verify) -> None:
    done = verify(CONV, "--race")
    assert (done.code, done.verdicts) == (2, [])
    assert "has no --config FILE, into which the race detector could be written" in done.said


def test_no_kernel_runs_outside_of_it(verify: Verify) -> None:
    done = verify(CONV, "--in-process", "--kernel", "naive_conv.*")
    assert (done.code, done.verdicts) == (2, [])
    assert "emulated_gfx942: this process runs under no emulator: leave --in-process out" in done.said


def test_processes_attach_to_one_daemon(verify: Verify, emulator: StandIn) -> None:
    daemon = ("--launcher-daemon", f"{emulator.launcher} --daemon")
    done = verify(CONV, SOFTMAX, "--kernel", "naive_*", extra=daemon, attach="yes")
    assert (done.code, [outcome for _, outcome in done.outcomes]) == (0, ["PASS"] * 2), done.said
    ended = verify(CONV, extra=("--launcher-daemon", "false"), attach="yes")
    assert ended.code == 2
    assert "BITGATE_LAUNCHER_DAEMON: the daemon ended with status" in ended.said


def test_a_daemon_that_dies_costs_one_case(verify: Verify, emulator: StandIn) -> None:
    daemon = ("--launcher-daemon", f"{emulator.launcher} --daemon")
    done = verify(CONV, SOFTMAX, LARGER, CONV, "--kernel", "naive_*", extra=daemon, attach="yes", ends="softmax")
    assert done.outcomes == [(CONV, "PASS"), (SOFTMAX, "INFRA"), (LARGER, "PASS"), (CONV, "PASS")], done.said
    assert "the kernel or its emulator is to blame" in done.verdicts[1]["reason"]
    assert "the daemon ended with status 9" in done.said
    assert "started again (1 of 20)" in done.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "gfx942", "--launcher", "no-such-program --"), "--launcher: no-such-program: no such program"),
        (("--target", "gfx942", "--launcher", "'x"), "No closing quotation"),
        (("--launcher", "true --"), "say of what GPU, with --target gfx942"),
        (("--target", "host", "--launcher", "true --"), "names an emulator of AMD GPUs: unset it for --target host"),
        (("--target", "emulated_gfx942"), "emulated_gfx942: no emulator is named: give --launcher"),
        (("--target", "emulated_host"), "emulators are of AMD GPUs: write emulated_gfx942"),
        (("--target", "gfx942", "--launcher-daemon", "true"), "--launcher-daemon goes with --launcher"),
    ],
)
def test_a_command_that_names_no_emulator_says_so(words: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bitgate", "verify", CONV, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_bench_times_nothing_there(emulator: StandIn) -> None:
    environment = {**emulator.environment(os.environ), "BITGATE_LAUNCHER": emulator.command("gfx942")}
    done = subprocess.run(
        [sys.executable, "-m", "bitgate", "bench", CONV, "--target", "gfx942"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "emulated_gfx942 is emulated: its seconds are the emulator's, so bench times nothing there" in done.stderr
