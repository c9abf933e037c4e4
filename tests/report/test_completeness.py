"""Without a plan of the whole run, what files say of themselves must fit together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml

from bitgate.results.plan import Plan
from bitgate.results.record import Stamp, Verdict, from_event, to_event
from bitgate.results.report.ledger import MergedNight, read_night
from bitgate.results.report.render import merge
from bitgate.results.run_plan import make

Make = Callable[..., Verdict]
Folder = Callable[..., Path]


def _kinds(night: MergedNight) -> list[str]:
    found = [*night.findings, *(finding for ledger in night.ledgers for finding in ledger.findings)]
    return [finding.kind for finding in found]


def test_shards_that_are_all_there_are_one_run(verdict: Make, run_folder: Folder) -> None:
    for index in (1, 2, 3):
        folder = run_folder(f"host/s{index}of3", verdict(case=f"c{index}"))
    assert _kinds(read_night([folder.parent])) == []


def test_a_gap_in_the_shards_is_red(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    run_folder("r/host/s1of3", verdict(case="a"))
    run_folder("r/host/s3of3", verdict(case="b"))
    summary = merge([tmp_path / "r"], tmp_path / "out")
    assert summary.exit_code == 1
    assert "host: shard 2 of 3 left no results" in summary.headline
    assert JUnitXml.fromfile(str(tmp_path / "out" / "host" / "junit.xml")).errors == 1
    assert "LostShard" in (tmp_path / "out" / "summary.md").read_text()


def test_shards_are_known_by_their_plan_and_not_by_their_folder(verdict: Make, run_folder: Folder) -> None:
    run_folder("x", verdict(case="a"), planned=[verdict(case="a")], shard="1/3")
    folder = run_folder("y", verdict(case="b"), planned=[verdict(case="b")], shard="2/3")
    assert _kinds(read_night([folder.parent])) == ["LostShard"]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ({"shard": "1/2"}, {"shard": "2/3"}, "OtherPlan"),
        ({"shard": "1/2", "whole": "p"}, {"shard": "2/2", "whole": "q"}, "OtherPlan"),
        ({"shard": "1/1"}, {}, "OtherPlan"),
    ],
)
def test_shards_of_two_plans_are_red(
    verdict: Make, run_folder: Folder, one: dict[str, str], other: dict[str, str], kind: str
) -> None:
    run_folder("x", verdict(case="a"), planned=[verdict(case="a")], **one)
    folder = run_folder("y", verdict(case="b"), planned=[verdict(case="b")], **other)
    assert _kinds(read_night([folder.parent])) == [kind]


def test_two_commits_are_red_also_on_two_targets(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    run_folder("r/host", verdict(fingerprint={"commit": "aaa"}))
    run_folder("r/gfx942", verdict(target="gfx942", fingerprint={"commit": "bbb"}))
    run_folder("r/gfx90a", verdict(target="gfx90a", fingerprint={"commit": "unknown"}))
    summary = merge([tmp_path / "r"], tmp_path / "out")
    assert summary.exit_code == 1
    assert "2 commits in one report: aaa in" in summary.headline
    assert JUnitXml.fromfile(str(tmp_path / "out" / "junit.xml")).errors == 1


def test_two_builds_of_an_instance_are_red_in_one_job_too(verdict: Make, run_folder: Folder) -> None:
    run_folder("a/s1of2", verdict(case="a", fingerprint={"build": "x"}))
    folder = run_folder("a/s2of2", verdict(case="b", fingerprint={"build": "y"}))
    assert _kinds(read_night([folder.parent])) == ["OtherBuild"]
    both = [verdict(case="a", fingerprint={"build": "x"}), verdict(case="b", fingerprint={"build": "y"})]
    assert _kinds(read_night([run_folder("b", *both)])) == ["OtherBuild"]
    apart = [both[0], verdict(case="b", instance="another", fingerprint={"build": "y"})]
    assert _kinds(read_night([run_folder("c", *apart)])) == [], "an instance may be a library of its own"


def test_a_commit_that_is_not_known_beside_the_plans_is_red(verdict: Make, run_folder: Folder) -> None:
    """As where git does not answer in a container."""
    one = verdict(case="a", fingerprint={"commit": "unknown"})
    folder = run_folder("r/host", one, planned=[one], shard="1/1")
    cases = Plan.read(folder / "plan.json").cases
    for commit, kinds in {"aaa": ["OtherCommit"], "unknown": [], "": []}.items():
        night = read_night([folder.parent], plan=make("smoke", [Plan("smoke", "host", cases)], {}, commit))
        assert [kind for kind in _kinds(night) if kind == "OtherCommit"] == kinds


def of_run(verdict: Verdict, commit: str) -> Verdict:
    """The verdict, whose run states a commit of the suites."""
    return replace(verdict, run=Stamp("night", 1, "2026-01-01T00:00:00Z", commit=commit))


def test_a_runs_commit_is_held_to_the_plan_and_the_other_runs(verdict: Make, run_folder: Folder) -> None:
    ours = of_run(verdict(case="a", fingerprint={"commit": "aaa"}), "aaa")
    other = of_run(verdict(case="b", fingerprint={"commit": "aaa"}), "bbb")
    one, two = (
        run_folder(f"{name}/host", each, planned=[each], shard="1/1") for name, each in (("x", ours), ("y", other))
    )
    assert _kinds(read_night([one])) == []
    assert "2 commits in one report: aaa in" in read_night([one, two]).findings[0].sentence
    plan = make("smoke", [Plan("smoke", "host", Plan.read(two / "plan.json").cases)], {}, "aaa")
    (finding,) = [one for one in read_night([two], plan=plan).findings if one.kind == "OtherCommit"]
    assert finding.sentence == "the plan is of commit aaa, a run of bbb"


def test_a_run_states_its_commit_in_the_record_or_nothing(verdict: Make) -> None:
    stated = of_run(verdict(), "aaa")
    assert from_event(to_event(stated)).run == stated.run
    assert "commit" not in to_event(of_run(verdict(), ""))["run"]


def test_a_damaged_file_of_no_target_makes_the_night_red(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    run_folder("r/host", verdict())
    odd = tmp_path / "r" / "gfx942" / "results.jsonl"
    odd.parent.mkdir()
    odd.write_bytes(b"\x00" * 100)
    summary = merge([tmp_path / "r"], tmp_path / "out")
    assert summary.exit_code == 1
    assert JUnitXml.fromfile(str(tmp_path / "out" / "junit.xml")).tests == 2


def test_no_record_makes_a_merge_write_elsewhere(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "er" / "out"
    folder = run_folder("host", verdict(), verdict(target="../../x"), verdict(target="/tmp/bitgate-x"))
    assert merge([folder], out).exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "host"]
    assert sorted(path.name for path in (tmp_path / "deep" / "er").iterdir()) == ["out"]
    assert not Path("/tmp/bitgate-x").exists()
