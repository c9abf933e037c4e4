"""An owner's repository, by the commands as one types them there: all of them work on the owner's kernels and suites,
and on nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run

POINTWISE = "bwd_data_f32_nhwgc_g2n2k32c16_y1x1_h5x7"
DROPS_ONE = ("at_y.column < shape.k", "at_y.column < shape.k - 1")


def test_run_and_report(served: Any) -> None:
    assert served.kernels == {"pointwise"}
    done = served.bitgate("report", "--json")
    assert done.code == 0, done.said
    assert done.document["summary"]["compared"] == 2
    assert (served.folder / "out" / "junit.xml").is_file()


def test_run_takes_the_tier_that_is_asked_for(owners: Any) -> None:
    done = owners.bitgate("run", "--tier=regression", "--target=host", "-n0", "--json")
    assert (done.code, done.document["summary"]["compared"]) == (0, 3), done.said


def test_any_folder_of_the_repository_serves(served: Any) -> None:
    done = served.bitgate("cases", "--target=host", "--json", below="kernels/mine")
    assert {case["kernel"] for case in done.document["plan"]["cases"]} == {"pointwise"}
    assert done.err == ""


def test_plain_pytest(served: Any) -> None:
    done = served.pytest("suites", "--target=host", "--collect-only", "-q")
    assert done.code == 0, done.said
    assert done.out.count("__pointwise_f32__exact") == 3
    assert "3 tests collected" in done.out


def test_workers_are_of_the_same_repository(owners: Any) -> None:
    done = owners.pytest("suites", "--target=host", "-n2", "-q")
    assert done.code == 0, done.said
    assert owners.kernels == {"pointwise"}


def test_cases(served: Any) -> None:
    done = served.bitgate("cases", "--tier=smoke", "--target=host", "--json")
    (one, other) = done.document["plan"]["cases"]
    assert (one["kernel"], one["suite"], other["kernel"]) == ("pointwise", "mine", "pointwise")


def test_kernels(served: Any) -> None:
    done = served.bitgate("kernels", "--target=host", "--json")
    (row,) = done.document["kernels"]
    assert (done.code, row["family"], row["planned"], row["verified"]) == (0, "pointwise", 3, 2)


def test_verify_and_shrink(served: Any) -> None:
    done = served.bitgate("verify", POINTWISE, "--target=host", "--json")
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["kernel"], verdict["verdict"]) == (0, "pointwise", "PASS")
    assert "--load" not in verdict["repro"], "in a checkout elsewhere the declaration has another path"
    assert served.bitgate("shrink", POINTWISE, "--target=host").code == 0


def test_a_glob_still_decides_over_all_kernels(served: Any) -> None:
    done = served.bitgate("verify", POINTWISE, "--kernel=naive_conv*", "--target=host", "--json")
    assert {verdict["kernel"] for verdict in done.document["verdicts"]} == {"naive_conv"}


def test_coverage(served: Any) -> None:
    document = served.bitgate("coverage", "--json").document
    assert document["source"] == str(served.folder / "suites")
    assert [(part["pass"], part["rows"]) for part in document["passes"]] == [("bwd_data", 3)]
    results = served.folder / "out" / "host" / "results.jsonl"
    (way,) = served.bitgate("coverage", f"--dispatch={results}", "--json").document["dispatch"]
    assert way["kernel"] == "pointwise"


def test_fuzz(served: Any) -> None:
    done = served.fuzz("--target=host", "-n1", "--json")
    assert done.code == 0, done.said
    assert set(done.document["summary"]["instances"]) == {"pointwise.f32"}


def test_faults(served: Any) -> None:
    (listed,) = served.bitgate("faults", "list", "--json").document["faults"]
    assert listed["file"] == "kernels/mine/pointwise.hip.cpp"
    done = served.bitgate("faults", "run", "-j1", "--json")
    (fault,) = done.document["faults"]
    assert (done.code, fault["killed"], fault["verdict"]) == (0, True, "MISMATCH"), done.said
    assert fault["by"].startswith("suites/mine/test_mine.py::test_bits[")


def test_ci_from_the_matrix_to_the_merge(owners: Any) -> None:
    matrix = owners.bitgate("ci", "matrix", "--shards=2", "--json")
    assert [cell["shard"] for cell in matrix.document["include"]] == ["1/2", "2/2"]
    owners.write("matrix.json", matrix.out)
    planned = owners.bitgate("ci", "plan", "--matrix=matrix.json", "--shards=2", "--out=plan.json", "--json")
    assert sum(part["cases"] for part in planned.document["plan"]["shards"]) == 2, planned.said
    for shard in ("1/2", "2/2"):
        done = owners.bitgate("run", "--target=host", "-n0", "--plan=plan.json", f"--shard={shard}")
        assert done.code == 0, done.said
    merged = owners.bitgate("ci", "merge", "out", "--plan=plan.json", "--matrix=matrix.json", "--out=night", "--json")
    assert (merged.code, merged.document["summary"]["compared"]) == (0, 2), merged.said


def test_compile_and_doctor(served: Any) -> None:
    built = served.bitgate("compile", "--target=host", "--json").document["objects"]
    assert [one["kernel"] for one in built] == ["runtime", "pointwise"]
    assert "ok pointwise: " in served.bitgate("doctor").out


def test_a_capsule(served: Any) -> None:
    written = served.bitgate("capsule", "write", POINTWISE, "--target=gfx942", "--out=capsule")
    assert written.code == 0, written.said
    assert "pointwise.f32" in written.out
    assert served.bitgate("capsule", "replay", "capsule", "--target=host").code == 0


def test_stored_digests_stand_beside_the_owners_tables(owners: Any) -> None:
    assert owners.bitgate("cases", "--check-digests").code == 1
    stored = owners.bitgate("cases", "--update-digests", "--json")
    assert (stored.code, stored.document["stored"]) == (0, 3), stored.said
    assert (owners.folder / "suites" / "mine" / "digests.json").is_file()
    assert owners.bitgate("cases", "--check-digests").code == 0


def test_several_folders_of_suites(owners: Any) -> None:
    owners.write("bitgate.toml", '[bitgate]\nload = ["kernels/mine"]\nsuites = ["suites", "more"]\n')
    table = (owners.folder / "suites" / "mine" / "cases.toml").read_text()
    owners.write("more/large/cases.toml", table.replace("h5x7", "h50x70").partition('[[case]]\nname = "one')[0])
    module = (owners.folder / "suites" / "mine" / "test_mine.py").read_text()
    owners.write("more/large/test_large.py", module.replace('"mine"', '"large"'))
    done = owners.bitgate("run", "--target=host", "-n0", "--json")
    assert (done.code, done.document["summary"]["compared"]) == (0, 4), done.said
    plan = owners.bitgate("cases", "--tier=smoke", "--target=host", "--json").document["plan"]
    assert [case["suite"] for case in plan["cases"]] == ["mine", "mine", "large", "large"]


def test_flags_go_before_the_file(owners: Any) -> None:
    other = owners.folder / "kernels" / "other"
    (owners.folder / "kernels" / "mine").rename(other)
    (other / "declaration.py").write_text(
        (other / "declaration.py").read_text().replace('name="pointwise"', 'name="other"')
    )
    owners.write("bitgate.toml", "[bitgate]\n")
    done = owners.bitgate("verify", POINTWISE, f"--load={other}", "--target=host", "--json")
    (verdict,) = done.document["verdicts"]
    assert (verdict["kernel"], f"--load {other}" in verdict["repro"]) == ("other", True)
    owners.write("elsewhere/b/cases.toml", (owners.folder / "suites" / "mine" / "cases.toml").read_text())
    plan = owners.bitgate("cases", "--suites=elsewhere", f"--load={other}", "--target=host", "--json").document["plan"]
    assert {(case["suite"], case["kernel"]) for case in plan["cases"]} == {("b", "other")}


def test_its_tiers_are_the_only_ones(owners: Any) -> None:
    owners.write("bitgate.toml", '[bitgate]\nload = ["kernels/mine"]\ntiers = ["regression"]\n')
    done = owners.bitgate("run", "--target=host", "-n0")
    assert done.code == 2
    assert "ci/targets.toml: [target.host]: minutes: give one number each for regression" in done.said
    targets = (owners.folder / "ci" / "targets.toml").read_text()
    owners.write("ci/targets.toml", targets.replace("smoke = 5, ", ""))
    done = owners.bitgate("run", "--target=host", "-n0", "--json")
    assert (done.code, done.document["summary"]["compared"]) == (0, 3), "the first tier is the one that runs"
    for command in (["run", "-n0"], ["cases"], ["ci", "plan", "--out=plan.json"], ["faults", "run"]):
        done = owners.bitgate(*command, "--tier=smoke", "--target=host")
        assert done.code == 2
        assert f"--tier smoke: {owners.folder}/bitgate.toml has regression only" in done.said


def test_a_ledger_of_known_bugs(owners: Any) -> None:
    owners.write("bitgate.toml", '[bitgate]\nload = ["kernels/mine"]\nknown_bugs = ["ci/known.toml"]\n')
    owners.ledger("ci/known.toml", "pointwise", "{ strided = false }")
    _plant(owners.folder)
    done = owners.bitgate("run", "--target=host", "-n0", "--json")
    assert done.document["summary"]["outcomes"] == {"KNOWN_BUG": 2}, done.said


RULES = """
from bitgate.verify.diagnose import Finding, Role


def ours(scene):
    return Finding("k_tail", Role.CAUSE, 1.0, "as in HERE-1: the loop ends one early")


def other(scene):
    return Finding("nonsense", Role.CAUSE, 1.0, "never told")


RULES = (ours, other)
"""


def test_rules_of_diagnosis(owners: Any) -> None:
    owners.write("bitgate.toml", '[bitgate]\nload = ["kernels/mine"]\nrules = ["ci/rules.py"]\n')
    owners.write("ci/rules.py", RULES)
    _plant(owners.folder)
    done = owners.bitgate("verify", POINTWISE, "--target=host", "--json")
    (verdict,) = done.document["verdicts"]
    assert verdict["diagnosis"]["sentence"].startswith("as in HERE-1: the loop ends one early")
    assert "'nonsense' is none of" in verdict["diagnosis"]["evidence"]["failed_rules"]["other"]
    owners.write("ci/rules.py", "RULES = 7\n")
    done = owners.bitgate("verify", POINTWISE, "--target=host")
    assert done.code == 2
    assert f"bitgate: {owners.folder}/ci/rules.py: defines no RULES: a tuple of functions" in done.err


LOST_RULES = """
import ctypes, os, signal


def loops(scene):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    while True:
        pass


def leaves(scene):
    os._exit(7)


def crashes(scene):
    ctypes.string_at(0)


RULES = (%s,)
"""


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("loops", "did not end within 0.4 s"),
        ("leaves", "RuleFailed: its process ended without an answer"),
        ("crashes", "RuleFailed: its process ended without an answer"),
    ],
)
def test_a_rule_that_takes_its_process_along_takes_no_verdict(
    owners: Any, monkeypatch: pytest.MonkeyPatch, rule: str, says: str
) -> None:
    """Not even one that no alarm reaches: the result was found wrong before, and is no hang and no crash."""
    monkeypatch.setenv("BITGATE_DIAGNOSIS_SECONDS", "2")
    owners.write("bitgate.toml", '[bitgate]\nload = ["kernels/mine"]\nrules = ["ci/rules.py"]\n')
    owners.write("ci/rules.py", LOST_RULES % rule)
    _plant(owners.folder)
    done = owners.bitgate("verify", POINTWISE, "--target=host", "--json")
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["verdict"]) == (1, "MISMATCH"), done.said
    assert verdict["diagnosis"]["evidence"]["failed_rules"] == {rule: says}
    assert verdict["reason"] == verdict["diagnosis"]["sentence"]
    assert verdict["diagnosis"]["evidence"]["first_wrong_cells"]
    assert verdict["digest"]
    done = owners.bitgate("run", "--target=host", "-n0", "--json")
    assert done.document["summary"]["outcomes"] == {"MISMATCH": 2}, done.said


def _plant(folder: Path) -> None:
    source = folder / "kernels" / "mine" / "pointwise.hip.cpp"
    source.write_text(source.read_text().replace(*DROPS_ONE))


COMMANDS = (
    ["run", "-n0"],
    ["cases"],
    ["cases", "--check-digests"],
    ["coverage"],
    ["fuzz", "--seconds=1"],
    ["shrink", POINTWISE],
    ["faults", "list"],
    ["faults", "run"],
    ["kernels"],
    ["compile"],
    ["verify", POINTWISE],
    ["ci", "matrix"],
    ["ci", "plan", "--out=plan.json"],
    ["capsule", "write", POINTWISE, "--target=gfx942", "--out=capsule"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_mistake_in_the_file_ends_each_command_with_2(
    empty: Any, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty.write("bitgate.toml", '[bitgate]\nsuits = ["suites"]\n')
    monkeypatch.chdir(empty.folder)
    assert run(command) == 2
    said = capsys.readouterr()
    assert said.err == f"bitgate: {empty.folder}/bitgate.toml: suits: no such field; did you mean 'suites'?\n"
    assert said.out == ""


def test_a_mistake_in_the_file_ends_pytest_alike(owners: Any) -> None:
    owners.write("bitgate.toml", '[bitgate]\nload = ["kernels/nowhere.py"]\n')
    done = owners.pytest("suites")
    assert done.code == 2
    assert f"{owners.folder}/bitgate.toml: load: {owners.folder}/kernels/nowhere.py does not exist" in done.said
    assert "Traceback" not in done.said
