"""Nights with known causes of failure: each is reported, and nothing else."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.history.nights import NODES, TARGETS, Lab, Planted, key_of, write

from bitgate.cli.main import run
from bitgate.lab.history.ingest import ingest
from bitgate.lab.history.root_cause import CauseKind, Outlier, infer_causes, unreliable
from bitgate.lab.history.store import opened

CASES = 40


def remembered(folder: Path, lab: Lab) -> str:
    url = str(folder / "history.sqlite")
    with opened(url) as store:
        for _ in ingest(store, [lab.write(folder / "nights")]):
            pass
    return url


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run(["history", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def planted(seed: int) -> Planted:
    """Three flakes of some rate, a machine that spoils a quarter of its answers, and one that loses a tenth of its
    cases; a commit breaks four cases; a bug lives for a night."""
    chance = random.Random(seed)
    chosen = chance.sample(range(CASES), 7)
    spoiling, losing = chance.sample(TARGETS, 2)
    return Planted(
        flakes={(case, chance.choice(TARGETS)): chance.choice((0.25, 0.4, 0.5)) for case in chosen[:3]},
        bad_machine=(chance.choice(NODES[spoiling]), 0.25),
        broken=(tuple(chosen[3:]), chance.randrange(25, 50)),
        one_night=("two_stage", chance.randrange(5, 20)),
        losing=(chance.choice(NODES[losing]), 0.1),
    )


@pytest.mark.parametrize("builds_change", [True, False], ids=["a build a night", "builds that stay"])
@pytest.mark.parametrize("seed", range(2))
def test_each_is_told_and_none_falsely(
    seed: int, builds_change: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = planted(seed)
    url = remembered(tmp_path, Lab(CASES, seed=seed, planted=what, builds_change=builds_change))
    found = told(capsys, "flaky", "--history", url)["flaky"]
    assert {(one["case"], one["target"]) for one in found["cases"]} == {
        (key_of(case, target).case, target) for case, target in what.flakes
    }
    assert {(one["node"], one["why"]) for one in found["machines"]} == {
        (what.bad_machine[0], "spoils answers"),
        (what.losing[0], "loses answers"),
    }
    night = f"night-{what.one_night[1]:02}"
    assert {(one["run"], one["target"], one["kernel"]) for one in found["nights"]} == {
        (night, target, "two_stage") for target in TARGETS
    }

    first, *others = told(capsys, "first-bad", "--history", url)["first_bad"]
    broken, since = what.broken
    if builds_change:
        assert (first["run"], first["good_run"]) == (f"night-{since:02}", f"night-{since - 1:02}")
        assert (first["good"], first["bad"]) == (f"{since - 1:040x}", f"{since:040x}")
    assert {(one["case"], one["target"]) for one in first["cases"]} == {
        (key_of(case, target).case, target) for case in broken for target in TARGETS
    }
    assert others == []


def test_a_quiet_lab_blames_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = remembered(tmp_path, Lab(10))
    found = told(capsys, "flaky", "--history", url)["flaky"]
    assert (found["cases"], found["machines"], found["nights"], found["lone"]) == ([], [], [], 0)
    assert told(capsys, "first-bad", "--history", url) == {"first_bad": []}


def test_a_flake_is_not_made_known_as_a_first_bad_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where its last answer happens to be red."""
    lab = Lab(6, planted=Planted(flakes={(3, "gfx942"): 0.5}))
    url = remembered(tmp_path, lab)
    case = key_of(3, "gfx942").case
    for night in range(60, 70):
        with opened(url) as store:
            for _ in ingest(store, [write(tmp_path / "more" / "results.jsonl", lab.night(night))]):
                pass
        trend = told(capsys, "case", case, "--target", "gfx942", "--history", url, "--last", "1")
        if trend["cases"][0]["trend"][-1]["verdict"] == "MISMATCH":
            break
    else:
        pytest.fail("a case that fails every other night did not fail in ten")
    assert told(capsys, "first-bad", case, "--history", url) == {"first_bad": []}


# One case on six machines, one machine with a thousand cases: the model alone.


def causes(deviations: list[Outlier], nights: int, cases: int, machines: int) -> set[tuple[CauseKind, Any]]:
    answers: dict[CauseKind, Any] = {
        CauseKind.CASE: dict.fromkeys(range(cases), nights),
        CauseKind.MACHINE: {f"n{number}": nights * cases // machines for number in range(machines)},
        CauseKind.NIGHT: dict.fromkeys(range(nights), cases),
    }
    return {(cause.kind, cause.name) for cause in infer_causes(deviations, answers)}


def test_a_case_that_fails_everywhere_is_the_case() -> None:
    spread = [Outlier(7, f"n{number % 6}", number) for number in range(12)]
    assert causes(spread, 60, 200, 6) == {(CauseKind.CASE, 7)}


def test_a_machine_on_which_everything_fails_is_the_machine() -> None:
    spread = [Outlier(case, "n3", night) for case in range(200) for night in range(60) if (case * 7 + night) % 30 == 0]
    assert causes(spread, 60, 200, 6) == {(CauseKind.MACHINE, "n3")}


def test_a_night_in_which_everything_fails_is_the_night() -> None:
    spread = [Outlier(case, f"n{case % 6}", 20) for case in range(150)]
    assert causes(spread, 60, 200, 6) == {(CauseKind.NIGHT, 20)}


def test_one_failure_has_no_cause_but_three_of_one_build_have() -> None:
    assert causes([Outlier(7, "n1", 3)], 60, 200, 6) == set()
    assert causes([Outlier(7, f"n{n}", n, certain=True) for n in range(3)], 60, 200, 6) == {(CauseKind.CASE, 7)}


def test_a_machine_whose_name_is_unknown_is_not_blamed() -> None:
    spread = [Outlier(case, None, night) for case in range(40) for night in (case % 60, (case * 7 + 9) % 60)]
    assert {kind for kind, _ in causes(spread, 60, 200, 6)} <= {CauseKind.CASE}


def test_a_lab_with_one_machine_still_tells_machine_from_case() -> None:
    spread = [Outlier(case, "n0", night) for case in range(200) for night in range(60) if (case * 7 + night) % 10 == 0]
    assert causes(spread, 60, 200, 1) == {(CauseKind.MACHINE, "n0")}
    assert causes([Outlier(7, "n0", n) for n in range(0, 60, 5)], 60, 200, 1) == {(CauseKind.CASE, 7)}


def test_a_machine_that_loses_several_cases_is_reported() -> None:
    answers: dict[Any, int] = {f"n{number}": 1000 for number in range(6)}
    assert [cause.name for cause in unreliable(Counter({"n1": 60, "n2": 1}), answers)] == ["n1"]
    assert unreliable(Counter({"n1": 1}), answers) == []
    assert unreliable(Counter(), answers) == []
    assert [cause.name for cause in unreliable(Counter({"n1": 1000}), answers)] == ["n1"]


@pytest.mark.parametrize("bad", [1, 8])
def test_one_bad_gpu_of_eight_is_told_from_a_bad_host(bad: int) -> None:
    """Two hosts of eight GPUs; the named ones of the first spoil a fifth of 100 answers each."""
    gpus = [f"n{host} GPU {number}" for host in (1, 2) for number in range(8)]
    spoiled = [
        Outlier((gpu, number), gpu.partition(" ")[0], (number % 10,), True, gpu)
        for gpu in gpus[:bad]
        for number in range(20)
    ]
    answers: dict[CauseKind, dict[Any, int]] = {
        CauseKind.CASE: {one.case: 16 for one in spoiled} | {f"c{number}": 1 for number in range(1600)},
        CauseKind.MACHINE: {"n1": 800, "n2": 800},
        CauseKind.GPU: dict.fromkeys(gpus, 100),
        CauseKind.NIGHT: {(number,): 160 for number in range(10)},
    }
    found = {(cause.kind, cause.name) for cause in infer_causes(spoiled, answers)}
    assert found == ({(CauseKind.GPU, "n1 GPU 0")} if bad == 1 else {(CauseKind.MACHINE, "n1")})
