"""The founding bug in a ledger: green while it fails as recorded, red for whatever else, in each report."""

from __future__ import annotations

import platform
import re
from datetime import date, timedelta
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.suite.known_bugs import read

TABLE = """
[defaults]
pass = "bwd_data"
dtypes = "f32"
layouts = "nhwgc"
kernels = "grouped_bwd_data.f32_32x32x16_a1b1c1"
why = "a toy"
tier = "smoke"

[[case]]
shape = ["n1k16c16_y3x3_h9x9_s2x2_p1x1", "n1k16c16_y3x3_h8x8_s3x3_p1x1", "g2n1k16c16_y3x3_h9x9_s2x2_p1x1"]
"""
LEDGER = """
[[known_bug]]
where = { pass = "bwd_data", g = 1, ndim = 2, strided = true, num_d = 0, gemms_count = { min = 2 } }
kernel = "grouped_bwd_data.*"
target = "host"
options = { flat_path_gate = "off" }
verdict = "MISMATCH"
kind = "missing_sub_gemm"
owner = "ann"
ticket = "RL#7732"
expires = 2999-12-31
"""
OFF = "--option=flat_path_gate=off"


@pytest.fixture
def ledger(suites: Any) -> Any:
    """Writes the ledger beside the toy suite's table, with one text replaced by another."""
    (suites.folder / "suites" / "toy" / "cases.toml").write_text(TABLE)

    def write(old: str = "", new: str = "", place: str = "suites/toy") -> None:
        (suites.folder / place / "known_bugs.toml").write_text(LEDGER.replace(old, new))

    write()
    return write


def test_a_known_bug_is_green_and_shown_as_what_it_is(suites: Any, run_here: Any, ledger: Any) -> None:
    code, said = run_here("-rs", OFF)
    assert code == 0, said
    assert suites.outcomes == ["KNOWN_BUG", "KNOWN_BUG", "PASS"]
    assert "KNOWN_BUG: RL#7732, ann, until 2999-12-31: sub-GEMMs 1 to" in said
    known = next(verdict for verdict in suites.verdicts if verdict.outcome == "KNOWN_BUG")
    assert (known.diagnosis.kinds[0], known.known_bug["outcome"]) == ("missing_sub_gemm", "MISMATCH")
    assert known.view["parts"]
    (suite,) = suites.junit
    assert suites.junit.failures == suites.junit.errors == 0
    assert [result.type for case in suite for result in case.result] == ["quarantined"] * 2
    assert "## Known bugs" in (suites.out / "summary.md").read_text()


@pytest.mark.parametrize(("tier", "listed"), [("regression", True), ("smoke", False)])
def test_an_entry_that_a_whole_run_has_no_case_of_is_listed(
    suites: Any, run_here: Any, ledger: Any, tier: str, listed: bool
) -> None:
    ledger("g = 1,", "g = 99,")
    assert run_here(f"--tier={tier}")[0] == 0
    assert ("is about no case of this run" in (suites.out / "summary.md").read_text()) is listed


def test_without_the_ledger_and_without_the_bug_nothing_changes(suites: Any, run_here: Any, ledger: Any) -> None:
    assert run_here()[0] == 0
    assert suites.outcomes == ["PASS"] * 3
    ledger(LEDGER, "")
    assert run_here(OFF)[0] == 1


@pytest.mark.parametrize(
    ("old", "new", "red", "words"),
    [
        ("2999-12-31", "2020-01-31", 2, "RL#7732 .* expired on 2020-01-31: fix the kernel"),
        ("missing_sub_gemm", "border", 2, "records MISMATCH border, and this is MISMATCH missing_sub_gemm"),
        ('"MISMATCH"', '"CRASHED"', 2, "records CRASHED missing_sub_gemm, and this is MISMATCH"),
        ("g = 1, ", "", 1, "did not fail: if it is fixed, remove the entry"),
    ],
)
def test_unexpected_passes_and_expired_entries_are_red(
    suites: Any, run_here: Any, ledger: Any, old: str, new: str, red: int, words: str
) -> None:
    ledger(old, new)
    code, said = run_here(OFF)
    assert code == 1
    reds = [verdict for verdict in suites.verdicts if not verdict.green]
    assert len(reds) == red
    assert suites.junit.failures == red
    for text in (said, *(verdict.reason for verdict in reds), (suites.out / "junit.xml").read_text()):
        assert re.search(words, text)


def test_what_a_ledger_excused_is_run_again_by_resume(suites: Any, run_here: Any, ledger: Any) -> None:
    assert run_here(OFF)[0] == 0
    ledger("2999-12-31", "2020-01-31")
    assert run_here(OFF, "--resume")[0] == 1


def test_a_run_of_known_bugs_alone_has_compared_something(run_here: Any, ledger: Any) -> None:
    assert run_here(OFF, "-k", "g1")[0] == 0


def test_an_owners_ledger_may_lie_around_all_suites(suites: Any, run_here: Any, ledger: Any) -> None:
    (suites.folder / "suites" / "toy" / "known_bugs.toml").unlink()
    ledger(place="suites")
    assert run_here(OFF)[0] == 0


def test_a_bad_entry_ends_with_2_and_one_line(suites: Any, run_here: Any, ledger: Any) -> None:
    ledger("expires", "expire")
    code, said = run_here()
    assert code == 2
    (line,) = [line for line in said.splitlines() if line.startswith("ERROR:")]
    assert "known_bugs.toml:2: [[known_bug]]: expire: no such field; did you mean 'expires'?" in line
    assert not suites.out.exists()


def test_a_known_bug_that_takes_its_worker_with_it_is_green_too(suites: Any, ledger: Any) -> None:
    suites.write(module=("check):", 'check):\n    "h8x8" in planned.case and os.kill(os.getpid(), signal.SIGKILL)'))
    (suites.folder / "suites" / "toy" / "cases.toml").write_text(TABLE)
    ledger('"MISMATCH"\nkind = "missing_sub_gemm"', '"CRASHED"')
    finished = suites.run("-n1", "-k", "h8x8 or g2", OFF)
    assert finished.returncode == 0, finished.stdout
    assert suites.outcomes == ["KNOWN_BUG", "PASS"]


@pytest.mark.parametrize(("machine", "outcomes"), [(platform.node(), ["KNOWN_BUG"] * 2), ("node4", ["MISMATCH"] * 2)])
def test_a_quarantine_holds_on_the_machines_that_it_names(
    suites: Any, run_here: Any, ledger: Any, machine: str, outcomes: list[str]
) -> None:
    quarantine = f'flaky = "7 of 60 nights"\nsince = {date.today()}\nmachine = "{machine}"\n'
    ledger("expires = 2999-12-31", f"{quarantine}expires = {date.today() + timedelta(days=30)}")
    run_here(OFF)
    assert suites.outcomes == [*outcomes, "PASS"]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ('options = { flat_path_gate = "of" }', "flat_path_gate is never 'of'; known are "),
        ('options = { flat_gate = "off" }', "none of its kernels has an option 'flat_gate'"),
    ],
)
def test_an_option_that_no_kernel_has_is_an_error(run_here: Any, ledger: Any, new: str, words: str) -> None:
    ledger('options = { flat_path_gate = "off" }', new)
    code, said = run_here()
    assert code == 2, said
    assert words in said


def test_an_entry_that_is_about_no_case_is_listed(run_here: Any, ledger: Any) -> None:
    ledger("g = 1, ", "g = 7, ")
    words = "the known bug RL#7732"
    assert words not in run_here("-k", "h9x9")[1], "a part of a run says nothing"
    assert words in run_here()[1]


def test_triage_writes_an_entry_that_excuses_the_failure(
    suites: Any, run_here: Any, ledger: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole loop: red, an entry of triage's, green; and red again where the bug is fixed."""
    file = suites.folder / "suites" / "toy" / "known_bugs.toml"
    file.unlink()
    assert run_here(OFF)[0] == 1
    assert suites.outcomes == ["MISMATCH", "MISMATCH", "PASS"]
    record, nothing = str(suites.out), suites.folder / "before"
    nothing.mkdir()
    green = [line for line in suites.out.joinpath("results.jsonl").read_text().splitlines() if '"PASS"' in line]
    (nothing / "results.jsonl").write_text("\n".join(green) + "\n")
    capsys.readouterr()
    excuse = ["--owner", 'ann "x"', "--ticket", "RL#7732", "--expires", "2999-12-31"]
    assert run(["triage", record, "--against", str(nothing), "--ledger", str(file), *excuse]) == 0
    assert "2 failures of cause" in capsys.readouterr().err
    (entry,) = read(file)
    assert (entry.kind, entry.owner, len(entry.cases)) == ("missing_sub_gemm", 'ann "x"', 2)
    assert entry.options == {"flat_path_gate": ("off",)}
    assert run_here(OFF)[0] == 0
    assert suites.outcomes == ["KNOWN_BUG", "KNOWN_BUG", "PASS"]
    assert run_here()[0] == 0  # the entry is of the option
    file.write_text(file.read_text().replace("flat_path_gate", "bucket_size").replace('"off"', '"32"'))
    assert run_here()[0] == 1
    assert "did not fail: if it is fixed, remove the entry" in (suites.out / "summary.md").read_text()
