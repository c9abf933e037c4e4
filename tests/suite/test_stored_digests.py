"""Stored digests are current, and the commands that compute and check them do."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.model import F32_ACCUMULATION, Problem, parse_case_id
from bitgate.numerics.certificate import measure_bound
from bitgate.numerics.counter import FULL_DENSITY
from bitgate.numerics.digest import digest_of
from bitgate.numerics.fill import FillPlan, TensorFill, fill_named, make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import exact_results
from bitgate.numerics.rounding import factors
from bitgate.suite import digesting
from bitgate.suite.planning import Setting
from bitgate.verify.stored import FILE, key_of, read, read_reasons

FILES = sorted(paths.data_folder("suites").glob(f"*/{FILE}"))
STORED = {key: entry for path in FILES for key, entry in read(path).items()}
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


def what_it_says(key: str) -> tuple[Problem, FillPlan]:
    """Everything that decides the data, from the key alone."""
    match = re.fullmatch(r"(\w+)(?: fill=(\w+))? seed=(\d+) (.+)", key)
    assert match is not None
    problem, fill, seed = parse_case_id(match[1]), match[2] or "exact", int(match[3])
    if fill_named(problem, fill).make is not None:
        return problem, plan_fill(problem, F32_ACCUMULATION, fill, seed)
    tensors = []
    for text in match[4].split(" "):
        said = re.fullmatch(r"(\w+)=(\d+)(?:/(\d+))?", text)
        assert said is not None
        tensors.append((said[1], TensorFill("integer", int(said[2]), int(said[3] or FULL_DENSITY))))
    return problem, FillPlan(fill, seed, tuple(tensors))


def test_every_suite_but_the_probes_has_stored_digests() -> None:
    folders = {path.parent.name for path in paths.data_folder("suites").glob("*/cases.toml")} - {"platform"}
    assert folders == {entry.path.parent.name for entry in STORED.values()}


CHEAP_KEYS = [key for key in sorted(STORED) if what_it_says(key)[0].flops <= CHEAP]
"""The nightly run computes every one."""


@pytest.mark.parametrize("key", random.Random(4).sample(CHEAP_KEYS, 40))
def test_a_stored_digest_is_what_the_cpu_computes_today(key: str) -> None:
    problem, plan = what_it_says(key)
    assert key_of(key.split(" ")[0], plan) == key
    inputs = make_inputs(problem, plan)
    assert digest_of(problem, exact_results(problem, inputs)) == STORED[key].digest
    if problem.operation.numerics.form(problem) is not None:
        assert measure_bound(problem, factors(problem, inputs)).value == STORED[key].bound


def test_fills_that_claim_bits_have_one_digest_for_all_outputs() -> None:
    """Maxima and sums modulo 2^32 have separate fills."""
    fills = {match[1] for key in STORED if (match := re.search(r" fill=(\w+) ", key))}
    assert fills == {"negative", "late", "sparse", "edges", "wrap", "peaked", "flat", "infinite"}
    both = [entry.digest for key, entry in STORED.items() if "_argmax" in key]
    assert both
    assert all(re.fullmatch(r"y=bg1:\w{32},index=bg1:\w{32}", digest) for digest in both)


def test_every_planned_digest_is_stored_or_impossible() -> None:
    """Computes only what is not stored, so a row that was added without its digests is noticed before the night."""
    setting = Setting("host", "host", registry.families())
    missing = (wish for wish in digesting.wishes([setting], ours().tables()) if wish.key not in STORED)
    owed = [wish.key for wish in missing if wish.compute() is not None]
    assert owed == [], "bitgate cases --update-digests stores them"


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
    key = break_one(path)
    code, said = toy("--check-digests")
    assert (code, said["wrong"]) == (1, [key])


def break_one(path: Path) -> str:
    """Another digest for the first key, as a changed reference would give."""
    key = sorted(read(path))[0]
    path.write_text(path.read_text().replace(read(path)[key].digest, "bg1:" + "0" * 32))
    return key


def test_a_changed_digest_needs_a_reason_which_is_kept(toy: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "toy" / FILE
    toy("--update-digests")
    whole = path.read_text()
    key = break_one(path)
    broken = path.read_text()
    assert run(["cases", "--suites", str(tmp_path), "--update-digests"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"1 stored digests would change, the first is {key}: say why with --reason TEXT" in said
    assert path.read_text() == broken
    assert toy("--update-digests", "--reason", "the reference\nwas wrong")[1]["wrong"] == [key]
    (reason,) = read_reasons(path)
    assert (reason.text, reason.keys) == ("the reference was wrong", (key,))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", reason.date)
    assert path.read_text().startswith(whole.removesuffix("}}\n"))  # the diff is the digest and the reason
    assert toy("--check-digests")[0] == 0
    break_one(path)
    toy("--update-digests", "--reason", "again")
    assert [reason.text for reason in read_reasons(path)] == ["the reference was wrong", "again"]
    assert toy("--update-digests")[0] == 0  # nothing changes, nothing to say


@pytest.mark.parametrize("stored", [True, False], ids=["changed", "new"])
def test_nothing_is_written_where_two_references_disagree(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    path = tmp_path / "toy" / FILE
    toy("--update-digests")
    keys = sorted(read(path)) if not stored else [break_one(path)]
    if not stored:
        path.unlink()
    before = path.read_text() if stored else None

    def other_bits(problem: Problem, inputs: Any) -> Any:
        result = ordered_reference(problem, inputs)
        result.logical[(0,) * result.logical.ndim] += 1
        return result

    monkeypatch.setattr(digesting, "ordered_reference", other_bits)
    code, said = toy("--update-digests", "--reason", "why not")
    assert code == 1
    assert sorted(said["disputed"]) == keys
    assert (path.read_text() if path.exists() else None) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--check-digests", "--reason", "x"], "--reason goes with --update-digests"),
        (["--reason", "x"], "--reason goes with --update-digests"),
        (["--check-digests", "--update-digests"], "give one of them"),
    ],
)
def test_a_reason_goes_with_an_update(arguments: list[str], words: str, capsys: Any) -> None:
    assert run(["cases", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", '{"generator": 1}', '{"generator": 1, "digests": {"a": 3}}'])
def test_a_damaged_file_is_not_written_over(toy: Any, tmp_path: Path, capsys: Any, text: str) -> None:
    path = tmp_path / "toy" / FILE
    path.write_text(text)
    assert run(["cases", "--suites", str(tmp_path), "--update-digests", "--reason", "x"]) == 2
    assert f"{path}: holds no stored digests" in capsys.readouterr().err
    assert path.read_text() == text


def test_a_tier_is_updated_alone_and_unplanned_digests_dropped(toy: Any, tmp_path: Path) -> None:
    path = tmp_path / "toy" / FILE
    assert toy("--update-digests", "--tier", "smoke")[1]["stored"] == 4
    (added,) = toy("--update-digests", "--kernel", "naive_conv.fwd*")[1]["added"]
    assert added.startswith("fwd_f32_nhwgc_g1n1k2c3_y1x1_h4x4")
    assert len(read(path)) == 5
    table = tmp_path / "toy" / "cases.toml"
    table.write_text(table.read_text().replace(', "n1k2c3_y1x1_h4x4"', ""))
    assert len(toy("--update-digests")[1]["dropped"]) == 2
    assert len(read(path)) == 3


def test_a_stale_file_is_computed_anew_for_a_reason(toy: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "toy" / FILE
    toy("--update-digests")
    text = path.read_text()
    path.write_text(text.replace('"generator": 1', '"generator": 0'))
    assert run(["cases", "--suites", str(tmp_path), "--update-digests"]) == 2
    assert "5 stored digests would change" in capsys.readouterr().err
    assert len(toy("--update-digests", "--reason", "another generator")[1]["wrong"]) == 5
    assert path.read_text().startswith(text.removesuffix("}}\n"))
