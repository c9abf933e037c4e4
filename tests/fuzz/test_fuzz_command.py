"""``bitgate fuzz`` and ``bitgate shrink`` on a user's kernel that is wrong, dies and refuses too much."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitgate.suite.table import load_set

FLAKY = str(Path(__file__).parent / "flaky" / "declaration.py")
COMMAND = [sys.executable, "-c", "from bitgate.cli.main import main; main()"]


def bitgate(*arguments: str, out: Path) -> tuple[int, str, str]:
    environment = {**os.environ, "BITGATE_OUT": str(out)}
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def fuzz(out: Path, instance: str, *more: str) -> tuple[int, str, str]:
    question = ("--load", FLAKY, "--kernel", f"flaky.{instance}", "--target", "host", "-n", "1")
    return bitgate("fuzz", *question, *more, out=out)


def test_a_wrong_kernel_is_found_shrunk_and_written_as_a_row(tmp_path):
    code, out, _ = fuzz(tmp_path, "wrong", "--first", "--json", "--seconds", "1200")
    document = json.loads(out)
    (failure,) = document["failures"]
    assert code == document["summary"]["exit"] == 1
    assert failure["verdict"]["verdict"] == "MISMATCH"
    assert failure["multiply_adds"] <= 2
    assert failure["minimal"]
    named = {neighbour["quantity"] for neighbour in failure["neighbours"]}
    assert {"g", "k", "stride[0]", "left_pad[0]"} <= named
    (row,) = load_set(tmp_path / "host" / "fuzz" / "failures.toml")
    assert row.axes["case"] == (failure["case"],)

    code, out, _ = bitgate("verify", failure["case"], "--load", FLAKY, "--kernel", failure["kernel"], out=tmp_path)
    assert code == 1
    passing = next(n for n in failure["neighbours"] if n["quantity"] == "left_pad[0]")
    code, out, _ = bitgate("verify", passing["case"], "--load", FLAKY, "--kernel", failure["kernel"], out=tmp_path)
    assert code == 0


@pytest.mark.nightly
def test_a_kernel_that_ends_its_process_does_not_end_fuzzing(tmp_path):
    for seconds in ("4", "40", "400"):  # a busy machine may not come to the case in four
        code, out, _ = fuzz(tmp_path, "dies", "--json", "--seconds", seconds, "--shrink-seconds", "3")
        if code == 1:
            break
    (failure,) = json.loads(out)["failures"]
    assert failure["verdict"]["verdict"] == "CRASHED"
    assert "SIGABRT" in failure["verdict"]["reason"]
    state = json.loads((tmp_path / "host" / "fuzz" / "state.json").read_text())
    assert state["next_round"] > 1 or state["unfinished"][0][1] > 1  # after the case that died


def test_a_library_stricter_than_its_declaration_is_a_failure(tmp_path):
    code, out, _ = fuzz(tmp_path, "denies", "--first", "--json", "--seconds", "1200")
    (failure,) = json.loads(out)["failures"]
    assert code == 1
    assert "the library refuses (c_vector) what its declaration supports" in failure["verdict"]["reason"]
    assert failure["multiply_adds"] == 3
    assert failure["neighbours"][0]["quantity"] == "c"


def test_a_run_goes_on_where_it_stopped(tmp_path):
    state = tmp_path / "host" / "fuzz" / "state.json"

    def compared(known: int, *more: str) -> str:
        """What it says once it has compared more than is known: a second is not enough on a busy machine."""
        for seconds in ("1", "5", "25", "300"):
            code, out, err = fuzz(tmp_path, "well", "--seconds", seconds, "--seed", "4", *more)
            if json.loads(state.read_text())["tally"]["compared"] > known:
                break
        assert code == 0, err
        return out

    assert "0 failures" in compared(0)
    first = json.loads(state.read_text())
    compared(first["tally"]["compared"], "--resume", "--json")
    second = json.loads(state.read_text())
    assert second["tally"]["problems"] > first["tally"]["problems"] > 0
    assert (second["next_round"], second["unfinished"]) > (first["next_round"], first["unfinished"])
    code, _, err = fuzz(tmp_path, "well", "--seconds", "1", "--seed", "5", "--resume")
    assert code == 2
    assert "was left by --seed 4" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_loses_nothing(tmp_path, number):
    environment = {**os.environ, "BITGATE_OUT": str(tmp_path)}
    question = ["fuzz", "--load", FLAKY, "--kernel", "flaky.wrong", "--target", "host", "-n", "1", "--seconds", "3600"]
    process = subprocess.Popen(
        [*COMMAND, *question], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    rows = tmp_path / "host" / "fuzz" / "failures.toml"
    try:
        while not rows.exists() and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(number)
        said = process.communicate()[1]
        assert process.returncode == 130
        assert said.endswith("bitgate: interrupted\n")
    finally:
        process.kill()
    assert len(load_set(rows)) == 1
    state = json.loads((rows.parent / "state.json").read_text())
    assert len(state["failures"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fuzz", "--kernel", "grouped_bwd_dat"), "did you mean"),
        (("fuzz", "--kernel", "flaky.well", "--load", FLAKY, "--resume", "--target", "host"), "nothing to resume"),
        (("shrink", "bwd_data_f33_g1"), "known: f64, f32"),
    ],
)
def test_what_cannot_be_done_is_reported_in_one_line(tmp_path, arguments, message):
    code, _, err = bitgate(*arguments, out=tmp_path)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_shrink_takes_a_case_and_passing_ones_are_none(tmp_path):
    big = "fwd_f32_nhwgc_g1n3k12c8_y3x3_h9x9_s2x2_d1x1_p1x1_q1x1_relu_gap"
    code, out, _ = bitgate("shrink", big, "--load", FLAKY, "--kernel", "flaky.wrong", "--json", out=tmp_path)
    (failure,) = json.loads(out)["failures"]
    assert code == 1
    assert failure["multiply_adds"] <= 2 < failure["found_multiply_adds"]
    code, out, _ = bitgate("shrink", big, "--load", FLAKY, "--kernel", "flaky.well", out=tmp_path)
    assert code == 0
    assert "nothing to shrink" in out
