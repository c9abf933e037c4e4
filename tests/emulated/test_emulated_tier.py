"""The tier that is chosen from an emulator's seconds, what it is predicted to take, and random problems there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.emulated.stand_in import StandIn

from bitgate.core.project import ours
from bitgate.tools.faults.fault import choose, read_faults

KERNEL = "naive_softmax.*"


def bitgate(*words: str, environment: dict[str, str] | None = None) -> tuple[int, Any, str]:
    """The exit code, the JSON document, and the other output."""
    done = subprocess.run(
        [sys.executable, "-m", "bitgate", *words, "--json"],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_predictions_are_printed_for_a_budget() -> None:
    words = ("cases", "--tier", "emulated", "--target", "gfx1201", "--kernel", KERNEL, "--seconds", "12")
    code, document, said = bitgate(*words)
    assert code == 0, said
    (found,) = document["predictions"]
    pace, chosen = found["pace"], found["chosen"]
    assert (found["target"], pace) == ("emulated_gfx1201", {"base": 0.6, "per_flop": 5e-9})
    assert chosen["cases"] == len(found["cases"]) < found["tiers"]["regression"]["cases"]
    assert chosen["seconds"] == pytest.approx(sum(one["seconds"] for one in found["cases"]))
    assert chosen["seconds"] <= 12
    for one in found["cases"]:
        assert one["seconds"] == pytest.approx(0.6 + 5e-9 * one["flops"], abs=1e-3)


@pytest.mark.nightly
def test_all_promised_gpus_are_predicted() -> None:
    code, document, said = bitgate("cases", "--tier", "emulated", "--kernel", KERNEL)
    assert code == 0, said
    names = [f"emulated_{name}" for name in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")]
    assert [one["target"] for one in document["predictions"]] == names
    for one in document["predictions"]:
        covered, possible = one["covered"]["pair"]
        assert covered == possible > 0
        assert one["budget"] == 3600


def test_a_run_takes_what_its_seconds_allow(emulator: StandIn, tmp_path: Path) -> None:
    launcher = ("--target", "gfx942", "--launcher", emulator.command("gfx942"))
    environment = {**emulator.environment(os.environ), "BITGATE_OUT": str(tmp_path)}
    words = ("run", "--tier", "emulated", "--seconds", "0.1", "--kernel", "naive_softmax.f32", "-n", "1", *launcher)
    code, document, said = bitgate(*words, environment=environment)
    assert code == 0, said
    assert "emulated_gfx942: " in said
    assert " cases, " in said
    assert " on one worker, within 0.1 s" in said
    lines = (tmp_path / "emulated_gfx942" / "results.jsonl").read_text().splitlines()
    verdicts = [json.loads(line) for line in lines]
    assert {(one["verdict"], one["device"]["kind"]) for one in verdicts if one["verdict"] != "REFUSED"} == {
        ("PASS", "emulated")
    }
    assert document["summary"]["compared"] == sum(one["verdict"] == "PASS" for one in verdicts) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("run", "--tier", "emulated", "--target", "gfx942"),
            "--tier emulated is of an emulator's seconds: give --launcher",
        ),
        (("cases", "--tier", "emulated", "--target", "sm_90"), "emulators are of AMD GPUs: write emulated_gfx942"),
    ],
)
def test_a_budget_of_no_emulator_is_refused(words: tuple[str, ...], said: str) -> None:
    code, document, why = bitgate(*words)
    assert (code, document) == (2, None)
    assert said in why


@pytest.mark.nightly
def test_random_problems_fail_there_and_are_shrunk(emulator: StandIn, tmp_path: Path) -> None:
    (fault,) = choose(
        read_faults([ours().root / "suites" / "faults" / "softmax.toml"]), "softmax_causal_limit_one_late"
    )
    fault.plant(ours().root, tmp_path / "overlay")
    environment = {
        **emulator.environment(os.environ),
        "BITGATE_OUT": str(tmp_path / "out"),
        "BITGATE_OVERLAY": str(tmp_path / "overlay"),
    }
    launcher = ("--target", "gfx942", "--launcher", emulator.command("gfx942"), "--kernel", "softmax.f32_wave")
    code, document, said = bitgate("fuzz", "--seconds", "30", "--first", *launcher, environment=environment)
    assert code == 1, said
    (failure,) = document["failures"]
    assert failure["kernel"] == "softmax.f32_wave"
    assert "causal" in failure["case"]
    code, document, said = bitgate("shrink", "softmax_f32_r9c33_causal", *launcher, environment=environment)
    assert code == 1, said
    (smallest,) = document["failures"]
    assert "causal" in smallest["case"]
    assert smallest["multiply_adds"] < smallest["found_multiply_adds"]
