"""`verify --concurrent` finds what calls of one library share, and leaves those alone that share nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.adversarial_kernels.catalogue import DECLARATION

from bitgate.cli.main import run

CASE = "fwd_f32_nhwgc_g1n1k4c8_y1x1_h5x5"


def verdict(capsys: pytest.CaptureFixture[str], kernel: str, *more: str) -> Any:
    code = run(
        ["verify", CASE, f"--load={DECLARATION}", f"--kernel=adversarial.{kernel}", "--target=host", "--json", *more]
    )
    document = json.loads(capsys.readouterr().out)
    assert code == document["summary"]["exit"]
    (found,) = document["verdicts"]
    return found


@pytest.mark.parametrize("kernel", ["shares_its_scratch", "shares_its_arguments"])
def test_calls_that_share_something_are_red(capsys: pytest.CaptureFixture[str], kernel: str) -> None:
    assert verdict(capsys, kernel)["verdict"] == "PASS"
    found = verdict(capsys, kernel, "--concurrent")
    assert found["verdict"] == "MISMATCH"
    assert "beside one on data of seed 1000003, from two threads on two streams" in found["reason"]
    assert found["repro"].endswith(" --concurrent")


@pytest.mark.parametrize("kernel", ["healthy", "healthy_reduction", "keeps_its_first_memory"])
def test_calls_that_share_nothing_are_green(capsys: pytest.CaptureFixture[str], kernel: str) -> None:
    assert verdict(capsys, kernel, "--concurrent")["verdict"] == "PASS"


@pytest.mark.parametrize(("more", "words"), [(("--laws",), "exclude each other"), (("--reference=none",), "exact ref")])
def test_what_cannot_be_held_is_an_error(capsys: pytest.CaptureFixture[str], more: tuple[str, ...], words: str) -> None:
    assert run(["verify", CASE, "--kernel=naive_conv.fwd_f32", "--target=host", "--concurrent", *more]) == 2
    assert words in capsys.readouterr().err
