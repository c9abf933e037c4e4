"""A tier in shards: each case in one of them, whoever splits it, and a merge that proves it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.results.plan import Plan
from bitgate.results.record import read
from bitgate.results.run_plan import RunPlan


def _ids(suites: Any, part: str) -> set[str]:
    return {item.id for item in Plan.read(suites.out / part / "plan.json").cases}


def test_shards_without_a_plan_come_to_the_same_parts(suites: Any, run_here: Any) -> None:
    assert run_here("--shard=1/2")[0] == 0
    assert run_here("--shard=2/2")[0] == 0
    assert not _ids(suites, "s1of2") & _ids(suites, "s2of2")
    assert len(_ids(suites, "s1of2") | _ids(suites, "s2of2")) == 6
    plans = [Plan.read(suites.out / part / "plan.json") for part in ("s1of2", "s2of2")]
    assert len({plan.whole for plan in plans}) == 1
    stamps = [verdict.run for verdict in read(suites.out / "s2of2" / "results.jsonl")]
    assert {(stamp.shard, stamp.attempt) for stamp in stamps if stamp} == {("2/2", 1)}
    assert len({stamp.job for stamp in stamps if stamp}) == 1


def test_workers_of_a_shard_have_one_stamp(suites: Any) -> None:
    assert suites.run("-n2", "--shard=1/3").returncode == 0
    stamps = [verdict.run for verdict in read(suites.out / "s1of3" / "results.jsonl")]
    assert all(stamps)
    assert len({(stamp.id, stamp.job, stamp.shard) for stamp in stamps if stamp}) == 1


@pytest.fixture
def plan(suites: Any, capsys: pytest.CaptureFixture[str]) -> Path:
    path: Path = suites.folder / "night.json"
    where = ["--suites", str(suites.folder / "suites"), "--out", str(path)]
    arguments = ["ci", "plan", "--tier", "regression", "--target", "host", "--shards", "2", *where, "--json"]
    assert run(arguments) == 0
    printed = json.loads(capsys.readouterr().out)["plan"]
    assert [(part["target"], part["shard"]) for part in printed["shards"]] == [("host", "1/2"), ("host", "2/2")]
    assert sum(part["cases"] for part in printed["shards"]) == 6
    return path


def _merge(suites: Any, plan: Path, *more: str) -> int:
    return run(
        ["ci", "merge", str(suites.folder / "out"), "--plan", str(plan), "--out", str(suites.folder / "m"), *more]
    )


def test_a_merge_proves_that_each_planned_case_has_one_verdict(
    suites: Any, run_here: Any, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--tier=regression", f"--plan={plan}")
    assert run_here("--shard=1/2", *given)[0] == 0
    assert _merge(suites, plan) == 1
    said = capsys.readouterr().out
    assert "shard 2/2 of host left no results" in said
    assert run_here("--shard=2/2", *given)[0] == 0
    assert _merge(suites, plan) == 0
    lines = (suites.out / "s2of2" / "results.jsonl").read_text().splitlines(keepends=True)
    (suites.out / "s2of2" / "results.jsonl").write_text("".join(lines[1:]))
    assert _merge(suites, plan, "--json") == 1
    capsys.readouterr()


def test_a_run_that_does_not_fit_its_plan_ends_with_2(suites: Any, run_here: Any, plan: Path) -> None:
    one = RunPlan.read(plan).shards[0].cases[0].key.case
    for arguments, said in (
        (("--tier=regression", "--shard=3/2"), "write I/N with 1 <= I <= N"),
        (("--tier=regression", "--shard=1/3"), "has host in 2 shards: give --shard I/2"),
        (("--tier=regression",), "has host in 2 shards: give --shard I/2"),
        (("--tier=smoke", "--shard=1/2"), "is of tier regression, this run of smoke"),
        (("--tier=regression", "--shard=1/2", "--seed=7"), "has another seed, schedule or option"),
        (("--tier=regression", "--shard=1/2", "-k", f"not {one}"), "is not among the tests"),
    ):
        code, output = run_here(f"--plan={plan}", *arguments)
        assert code == 2, arguments
        assert said in output
        assert "Traceback" not in output
    assert not suites.out.exists()


def test_of_a_planned_shard_a_part_may_run_again(suites: Any, run_here: Any, plan: Path) -> None:
    whole = RunPlan.read(plan)
    mine, other = (shard.cases[0].id for shard in whole.shards)
    for names, code in ((mine, 0), (f"{mine}\n{other}", 0), (other, 3), ("nothing", 2)):
        (suites.folder / "select.txt").write_text(names)
        given = ("--tier=regression", f"--plan={plan}", "--shard=1/2", f"--select={suites.folder / 'select.txt'}")
        assert run_here(*given)[0] == code, names
        if code == 0:
            assert _ids(suites, "s1of2") == {mine}, "what another shard has is left to it"
            assert Plan.read(suites.out / "s1of2" / "plan.json").whole == whole.id


def test_a_damaged_plan_is_named(suites: Any, run_here: Any, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, first, *rest = plan.read_text().splitlines(keepends=True)
    shorter = json.dumps(json.loads(first.rstrip(",\n"))[:-1])
    size = json.loads(head.rstrip("\n") + "]}")["parts"][0]["size"]
    plan.write_text(head.replace(f'"size":{size}', f'"size":{len(shorter)}', 1) + f"{shorter},\n" + "".join(rest))
    assert "its id is not that of its cases" in run_here(f"--plan={plan}", "--shard=1/2")[1]
    assert _merge(suites, plan) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_more_shards_than_problems_are_refused(suites: Any, run_here: Any) -> None:
    code, output = run_here("--shard=1/9")
    assert code == 2
    assert "9 shards for 6 problems: one would compare nothing" in output
