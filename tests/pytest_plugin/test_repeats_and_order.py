"""Runs whose cases run several times, or in an order drawn from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitgate.results.plan import Plan

UNHEALTHY = Path(__file__).parents[1] / "verify" / "unhealthy" / "declaration.py"
NOTING = ("    check(planned)", "    open('order', 'a').write(planned.case + chr(10))\n    check(planned)")
TABLE = """
[[case]]
name = "sick"
pass = "fwd"
dtypes = "f32"
layouts = "nhwgc"
kernels = "unhealthy*"
shape = ["n1k2c4_y3x3_h5x6_p1x1", "n1k2c2_y1x1_h4x4"]
tier = "smoke"
why = "a toy"
"""
ONE, TWO = "--processes=1", "--processes=2"


def order(suites: Any, *arguments: str) -> list[str]:
    """The cases of a run in the order in which they ran."""
    (suites.folder / "order").unlink(missing_ok=True)
    done = suites.run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return (suites.folder / "order").read_text().split()


def test_a_seed_states_the_order(suites: Any) -> None:
    suites.write(module=NOTING)
    plain = order(suites, ONE)
    plan = Plan.read(suites.out / "plan.json")
    drawn = order(suites, ONE, "--shuffle=1")
    assert drawn == order(suites, ONE, "--shuffle=1") == order(suites, "--shuffle=1")
    assert len({tuple(order(suites, ONE, f"--shuffle={seed}")) for seed in range(4)} | {tuple(plain)}) > 3
    assert sorted(drawn) == sorted(plain)
    assert Plan.read(suites.out / "plan.json").id == plan.id


def test_the_seed_is_printed(suites: Any) -> None:
    done = suites.run(TWO, "--shuffle=12")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--shuffle 12" in done.stdout
    assert "--shuffle 12" in (suites.out / "summary.md").read_text()


def test_a_shuffled_run_is_resumed(suites: Any) -> None:
    suites.write(module=("check(planned)", "check(planned), 'f64' in planned.case and 1 / 0"))
    assert suites.run(ONE, "--shuffle=3").returncode == 1
    suites.write(module=NOTING)
    resumed = order(suites, ONE, "--shuffle=3", "--resume")
    assert [case for case in order(suites, ONE, "--shuffle=3") if "f64" in case] == resumed


def test_shards_of_a_shuffled_run_are_its_parts(suites: Any) -> None:
    suites.write(module=NOTING)
    parts = [order(suites, ONE, "--shuffle=5", f"--shard={number}/2") for number in (1, 2)]
    assert all(parts)
    assert sorted([*parts[0], *parts[1]]) == sorted(order(suites, ONE))


def test_a_run_repeats_its_cases(suites: Any) -> None:
    (suites.folder / "suites" / "toy" / "cases.toml").write_text(TABLE)
    sick = (f"--load={UNHEALTHY}", "--option", "illness=third", "--repeat=3")
    assert suites.run(TWO, *sick, "--until-red").returncode == 1
    reasons = {verdict.reason.partition(":")[0] for verdict in suites.verdicts if not verdict.green}
    assert "red in repeat 1 of 3, where it stopped" in reasons
    assert "red in repeat 1 of 3" in (suites.out / "junit.xml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--repeat=0",), "--repeat 0: give 1 or more"),
        (("--repeat=x",), "--repeat x: give a number"),
        (("--until-red",), "--until-red needs --repeat N"),
        (("--shuffle=-1",), "--shuffle -1: give a number"),
    ],
)
def test_a_number_that_is_none(suites: Any, arguments: tuple[str, ...], words: str) -> None:
    done = suites.run(*arguments)
    assert done.returncode == 2
    assert words in done.stdout + done.stderr
