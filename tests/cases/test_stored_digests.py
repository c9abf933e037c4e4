"""Stored digests are current, and the commands that compute and check them do."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate import rooms
from bitgate.cli.main import run
from bitgate.exact.certificate import measure_bound
from bitgate.exact.counter import FULL_DENSITY
from bitgate.exact.digest import digest
from bitgate.exact.factors import factors
from bitgate.exact.fill import FillPlan, TensorFill, make_inputs
from bitgate.exact.reference import exact_reference
from bitgate.problem import ConvProblem, parse_case_id
from bitgate.verify.stored import FILE, key_of, read

STORED = {key: entry for path in sorted(rooms.room("suites").glob(f"*/{FILE}")) for key, entry in read(path).items()}
CHEAP = 20_000_000

TABLE = """
[[case]]
pass = "bwd_data"
dtypes = ["f32", "f16"]
layouts = "nhwgc"
kernels = "naive_conv*"
shape = ["n1k2c3_y3x3_h5x6_s2x2_p1x1", "n1k2c3_y1x1_h4x4"]
tier = "smoke"
why = "a toy"

[[case]]
case = "fwd_f32_nhwgc_n1k2c3_y1_h4"
kernels = "naive_conv*"
fills = ["exact", "decimal"]
why = "regression only; decimals have no digest"
"""


def what_it_says(key: str) -> tuple[ConvProblem, FillPlan]:
    """Everything that decides the data, from the key alone."""
    case, seed, *fills = key.split(" ")
    tensors = []
    for fill in fills:
        match = re.fullmatch(r"(\w+)=(\d+)(?:/(\d+))?", fill)
        assert match is not None
        tensors.append((match[1], TensorFill("integer", int(match[2]), int(match[3] or FULL_DENSITY))))
    return parse_case_id(case), FillPlan("exact", int(seed.removeprefix("seed=")), tuple(tensors))


def test_every_suite_but_the_probes_has_stored_digests() -> None:
    folders = {path.parent.name for path in rooms.room("suites").glob("*/cases.toml")} - {"platform"}
    assert folders == {entry.path.parent.name for entry in STORED.values()}


@pytest.mark.parametrize("key", random.Random(4).sample(sorted(STORED), 40))
def test_a_stored_digest_is_what_the_cpu_computes_today(key: str) -> None:
    problem, plan = what_it_says(key)
    assert key_of(key.split(" ")[0], plan) == key
    if problem.flops > CHEAP:
        return  # the nightly run computes every one
    inputs = make_inputs(problem, plan)
    assert digest(exact_reference(problem, inputs)) == STORED[key].digest
    assert measure_bound(problem, factors(problem, inputs)).value == STORED[key].bound


@pytest.fixture
def toy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """``toy("--update-digests", ...)`` -> (exit code, what the command says) for a folder with one suite."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "cases.toml").write_text(TABLE)

    def command(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = run(["cases", "--suites", str(tmp_path), "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return command


def test_what_is_stored_passes_the_check_until_it_is_wrong(toy: Any, tmp_path: Path) -> None:
    path = tmp_path / "toy" / FILE
    code, said = toy("--check-digests")
    assert (code, len(said["added"])) == (1, 5)  # not stored yet
    assert not path.exists()
    assert toy("--update-digests")[0] == 0
    assert toy("--check-digests") == (0, {"stored": 5, "added": [], "wrong": [], "dropped": []})

    key = sorted(read(path))[0]
    path.write_text(path.read_text().replace(read(path)[key].digest, "bg1:" + "0" * 32))
    code, said = toy("--check-digests")
    assert (code, said["wrong"]) == (1, [key])
    assert toy("--update-digests")[1]["wrong"] == [key]
    assert toy("--check-digests")[0] == 0


def test_a_tier_is_updated_alone_and_what_nobody_plans_is_dropped(toy: Any, tmp_path: Path) -> None:
    path = tmp_path / "toy" / FILE
    assert toy("--update-digests", "--tier", "smoke")[1]["stored"] == 4
    (added,) = toy("--update-digests", "--kernel", "naive_conv.fwd*")[1]["added"]
    assert added.startswith("fwd_f32_nhwgc_g1n1k2c3_y1x1_h4x4")
    assert len(read(path)) == 5
    table = tmp_path / "toy" / "cases.toml"
    table.write_text(table.read_text().replace(', "n1k2c3_y1x1_h4x4"', ""))
    assert len(toy("--update-digests")[1]["dropped"]) == 2
    assert len(read(path)) == 3


def test_a_stale_file_is_computed_anew(toy: Any, tmp_path: Path) -> None:
    path = tmp_path / "toy" / FILE
    toy("--update-digests")
    text = path.read_text()
    path.write_text(text.replace('"generator": 1', '"generator": 0'))
    toy("--update-digests")
    assert path.read_text() == text
