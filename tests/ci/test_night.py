"""A night of 6 shards on 5 targets, lost, doubled, cut, mixed and run again in 200 ways: its colour is right."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from bitgate.results.plan import Plan, PlannedItem
from bitgate.results.record import Key, Outcome, Stamp, Verdict, append
from bitgate.results.report.ledger import read_night
from bitgate.results.report.render import merge
from bitgate.results.report.summary import summarise
from bitgate.results.run_plan import RunPlan, make

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
SHARDS = 6
CASES = 14
COMMIT = "c0ffee"


def _item(target: str, number: int) -> PlannedItem:
    name = f"fwd_f32_nhwgc_g1n{number}k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0"
    test_id = f"{name}__naive_conv_fwd_f32__exact"
    test = f"suites/conv_fwd/test_correctness.py::test_correctness[{test_id}]"
    key = Key(name, "naive_conv", "fwd_f32", (), "exact", 0, "forward", target)
    return PlannedItem(test_id, key, "smoke", "conv_fwd", test=test, seconds=0.1)


@pytest.fixture(scope="module")
def plan() -> RunPlan:
    plans = [Plan("smoke", target, tuple(_item(target, number) for number in range(CASES))) for target in TARGETS]
    return make("smoke", plans, dict.fromkeys(TARGETS, SHARDS), COMMIT)


@dataclass
class Job:
    """One job's results before they are written."""

    plan: Plan
    lines: list[Verdict] = field(default_factory=list)
    has_plan: bool = True
    has_results: bool = True
    spoil: Callable[[bytes], bytes] = bytes

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        if self.has_plan:
            self.plan.write(folder / "plan.json")
        results = folder / "results.jsonl"
        for line in self.lines:
            append(results, line)
        if results.is_file():
            results.write_bytes(self.spoil(results.read_bytes()))
        if not self.has_results:
            results.unlink(missing_ok=True)


def _run(plan: Plan, attempt: int = 1, outcome: Outcome = Outcome.PASS) -> Job:
    """A job that ran its whole shard."""
    stamp = Stamp("night", attempt, "", f"{plan.target}-{plan.shard}-{attempt}", plan.shard)
    lines = []
    for second, item in enumerate(plan.cases):
        time = f"2026-11-21T0{attempt}:00:{second:02}.000001+00:00"
        fingerprint = {"build": f"b-{plan.target}", "commit": COMMIT}
        stated: dict[str, Any] = {"suite": item.suite, "test": item.test, "tier": item.tier, "seconds": {"total": 0.1}}
        lines.append(
            Verdict(item.key, outcome, fingerprint=fingerprint, plan=plan.id, run=replace(stamp, time=time), **stated)
        )
    return Job(plan, lines)


def _change(job: Job, **fields: Any) -> None:
    job.lines[0] = replace(job.lines[0], **fields)


# What happens to a night, and whether it is green then. Each gets the jobs and one of them, and changes them in place.


def whole(jobs: list[Job], one: Job) -> bool:
    return True


def copied(jobs: list[Job], one: Job) -> bool:
    jobs.append(one)  # one artifact, fetched into two folders
    return True


def lost_shard(jobs: list[Job], one: Job) -> bool:
    jobs.remove(one)
    return False


def lost_target(jobs: list[Job], one: Job) -> bool:
    jobs[:] = [job for job in jobs if job.plan.target != one.plan.target]
    return False


def lost_results(jobs: list[Job], one: Job) -> bool:
    one.has_results = False
    return False


def lost_line(jobs: list[Job], one: Job) -> bool:
    del one.lines[0]
    return False


def cut(jobs: list[Job], one: Job) -> bool:
    one.spoil = lambda data: data[:-20]
    return False


def corrupt_line(jobs: list[Job], one: Job) -> bool:
    one.spoil = lambda data: data.replace(b'"case"', b'"c\xffse"', 1)
    return False


def corrupt_file(jobs: list[Job], one: Job) -> bool:
    one.spoil = lambda data: b"\x00" * len(data)
    return False


def without_plans_beside(jobs: list[Job], one: Job) -> bool:
    for job in jobs:
        job.has_plan = False
    return True


def red_case(jobs: list[Job], one: Job) -> bool:
    _change(one, outcome=Outcome.MISMATCH)
    return False


def ran_twice(jobs: list[Job], one: Job) -> bool:
    other = _run(one.plan)
    other.lines = [replace(line, run=replace(line.run, job="another")) for line in other.lines if line.run]
    jobs.append(other)
    return False


def ran_a_neighbours_case(jobs: list[Job], one: Job) -> bool:
    one.lines.append(next(job for job in jobs if job.plan.target == one.plan.target and job is not one).lines[0])
    one.lines[-1] = replace(one.lines[-1], run=one.lines[0].run)
    return False


def unplanned(jobs: list[Job], one: Job) -> bool:
    stray = _item(one.plan.target, 99)
    one.lines.append(replace(one.lines[0], key=stray.key, test=stray.test))
    return False


def other_commit(jobs: list[Job], one: Job) -> bool:
    _change(one, fingerprint={**one.lines[0].fingerprint, "commit": "dead"})
    return False


def other_build(jobs: list[Job], one: Job) -> bool:
    for number, line in enumerate(one.lines):
        one.lines[number] = replace(line, fingerprint={**line.fingerprint, "build": "another"})
    return False


def other_tier(jobs: list[Job], one: Job) -> bool:
    _change(one, tier="regression")
    return False


def other_plan(jobs: list[Job], one: Job) -> bool:
    one.plan = replace(one.plan, whole="0" * 64)
    return False


def ran_again_after_infra(jobs: list[Job], one: Job) -> bool:
    jobs.append(_run(one.plan, 2))
    _change(one, outcome=Outcome.INFRA)
    return True


def ran_again_after_a_cut(jobs: list[Job], one: Job) -> bool:
    jobs.append(_run(one.plan, 2))
    one.spoil = lambda data: data[:-20]
    return True


def ran_again_until_green(jobs: list[Job], one: Job) -> bool:
    jobs.append(_run(one.plan, 2))
    _change(one, outcome=Outcome.MISMATCH)
    return False


def ran_again_and_red(jobs: list[Job], one: Job) -> bool:
    jobs.append(_run(one.plan, 2, Outcome.INFRA))
    return False


BEFALLS = [value for value in dict(globals()).values() if getattr(value, "__annotations__", {}).get("return") == "bool"]
NEEDS_THE_PLAN = {"lost_target", "unplanned"}
"""Nobody can know of the first without it; the second is a note, as a resumed run may have planned less."""


@pytest.mark.parametrize("part", range(8))
def test_the_colour_of_a_night_is_right_in_any_order(plan: RunPlan, part: int, tmp_path: Path) -> None:
    for seed in range(part * 25, part * 25 + 25):
        draw = random.Random(seed)
        what = BEFALLS[seed % len(BEFALLS)]
        jobs = [_run(shard) for shard in plan.shards]
        green = what(jobs, draw.choice(jobs))
        draw.shuffle(jobs)
        folders = [tmp_path / str(seed) / f"{draw.randrange(10**9):09}-{number}" for number in range(len(jobs))]
        for job, folder in zip(jobs, folders, strict=True):
            job.write(folder)
        draw.shuffle(folders)
        for given in (plan, None):
            night = read_night(folders, plan=given)
            summary = summarise(night.ledgers, night.findings)
            if given or what.__name__ not in NEEDS_THE_PLAN:
                assert (summary.exit_code == 0) == green, (seed, what.__name__, bool(given), summary.headline)


@pytest.mark.parametrize("what", BEFALLS, ids=lambda what: what.__name__)
def test_reports_are_written_whatever_befell_it(plan: RunPlan, what: Callable[..., bool], tmp_path: Path) -> None:
    jobs = [_run(shard) for shard in plan.shards]
    green = what(jobs, jobs[3])
    for number, job in enumerate(jobs):
        job.write(tmp_path / "night" / str(number))
    assert (merge([tmp_path / "night"], tmp_path / "out", plan=plan).exit_code == 0) == green
    found = JUnitXml.fromfile(str(tmp_path / "out" / "junit.xml"))
    assert (found.errors + found.failures == 0) == green
    assert (tmp_path / "out" / "summary.md").read_text().startswith("# bitgate: GREEN" if green else "# bitgate: RED")


def test_all_that_can_befall_a_night_is_tried() -> None:
    assert len(BEFALLS) == 22
    assert len(BEFALLS) < 200
