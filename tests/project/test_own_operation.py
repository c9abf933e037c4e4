"""An operation that bitgate has never heard of, stated in one file of an owner's repository: every command serves it.

The repository is examples/weighted_sums, copied.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.model import registry

CASE = "weighted_sums_f32_r64c33"
RUN = ("run", "--tier=regression", "--target=host", "-n0")


@pytest.fixture(scope="module")
def served(example: Any) -> Any:
    """For tests that look only; its whole suite was run."""
    repository = example("weighted_sums")
    done = repository.bitgate(*RUN)
    assert done.code == 0, done.said
    return repository


@pytest.fixture(scope="module")
def broken(example: Any) -> Any:
    """Its kernel forgets the last column of rows of more than eight."""
    repository = example("weighted_sums")
    source = repository.folder / "kernels" / "weighted_sums" / "weighted_sums.hip.cpp"
    wrong = source.read_text().replace("c < shape.columns;", "c + (shape.columns > 8) < shape.columns;")
    assert wrong != source.read_text()
    source.write_text(wrong)
    return repository


def test_it_is_stated_in_under_60_lines(served: Any) -> None:
    text = (served.folder / "kernels" / "weighted_sums" / "operation.py").read_text()
    assert len(text.splitlines()) < 60


def test_verify(served: Any) -> None:
    cases = (CASE, f"{CASE}_gap", f"{CASE}_gapxc8")
    done = served.bitgate("verify", *cases, "--target=host", "--json")
    found = {one["case"]: (one["verdict"], one["certificate"]["sensitivity"] > 0) for one in done.document["verdicts"]}
    assert (done.code, found) == (0, dict.fromkeys(cases, ("PASS", True)))


def test_a_case_that_cannot_be_is_refused_in_the_owners_words(served: Any) -> None:
    done = served.bitgate("verify", "weighted_sums_f32_r1c65537", "--target=host")
    assert done.code == 2
    assert "weighted_sums_f32_r1c65537': c = 65537: a row has at most 65536 columns" in done.err


def test_run_leaves_a_junit_file(served: Any) -> None:
    names = [case.get("name", "") for case in ET.parse(served.folder / "out" / "host" / "junit.xml").iter("testcase")]
    assert len(names) == 8
    assert f"test_bits[{CASE}_gap__weighted_sums_f32__exact]" in names


def test_cases(served: Any) -> None:
    planned = served.bitgate("cases", "--tier=smoke", "--target=host", "--json").document["plan"]["cases"]
    assert [case["human"] for case in planned if case["case"] == f"{CASE}_gap"] == [
        "weighted_sums f32 r=64 c=33 strided"
    ]


def test_kernels(served: Any) -> None:
    (row,) = served.bitgate("kernels", "--target=host", "--json").document["kernels"]
    assert (row["family"], row["planned"], row["verified"]) == ("weighted_sums", 8, 8)


def test_coverage(served: Any) -> None:
    document = served.bitgate("coverage", "--json").document
    assert [part["pass"] for part in document["passes"]] == ["weighted_sums"]
    assert document["uncovered"], "seven problems have not every combination"


def test_fuzz(served: Any) -> None:
    done = served.fuzz("--target=host", "-n1", "--json")
    assert done.code == 0, done.said
    assert set(done.document["summary"]["instances"]) == {"weighted_sums.f32"}


def test_explain(served: Any) -> None:
    assert served.bitgate("explain", CASE).out.startswith("weighted_sums f32 r=64 c=33\n")


def test_digests(example: Any) -> None:
    repository = example("weighted_sums")
    stored = repository.bitgate("cases", "--update-digests", "--json")
    assert (stored.code, stored.document["stored"]) == (0, 6), stored.said
    assert repository.bitgate("cases", "--check-digests").code == 0


def test_a_capsule(served: Any) -> None:
    written = served.bitgate("capsule", "write", CASE, "--target=gfx942", "--out=capsule")
    assert written.code == 0, written.said
    assert served.bitgate("capsule", "replay", "capsule", "--target=host").code == 0


def test_a_wrong_kernel_is_red_and_the_report_says_what_lacks(broken: Any) -> None:
    done = broken.bitgate("verify", CASE, "--target=host", "--json")
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["verdict"], verdict["diagnosis"]["kinds"]) == (1, "MISMATCH", ["k_tail"])
    assert "the last 1 of 33 steps of c are missing" in verdict["diagnosis"]["sentence"]


def test_a_resumed_run_keeps_nothing_that_another_reference_judged(example: Any) -> None:
    repository = example("weighted_sums")
    folder = repository.folder / "out" / "host"
    smoke = ("run", "--target=host", "-n0")
    assert repository.bitgate(*smoke).code == 0
    first = (folder / "results.jsonl").read_text()
    assert repository.bitgate(*smoke, "--resume").code == 0
    assert (folder / "results.jsonl").read_text() == first
    operation = repository.folder / "kernels" / "weighted_sums" / "operation.py"
    operation.write_text(operation.read_text() + "# another reference\n")
    done = repository.bitgate(*smoke, "--resume")
    assert "suites, operations or bitgate have changed since: all runs again" in done.said
    assert (folder / "results.prev.jsonl").read_text() == first
    again = (folder / "results.jsonl").read_text()
    assert again != first
    assert len(again.splitlines()) == len(first.splitlines())


def test_a_ledger_names_its_sizes(broken: Any) -> None:
    smoke = ("run", "--target=host", "-n0", "--json")
    assert broken.bitgate(*smoke).code == 1
    where = '{ pass = "weighted_sums", c = { min = 9 } }'
    ledger = broken.ledger("suites/sums/known_bugs.toml", "weighted_sums", where)
    done = broken.bitgate(*smoke)
    ledger.unlink()
    assert done.document["summary"]["outcomes"] == {"PASS": 4, "KNOWN_BUG": 2}, done.said


def test_shrink_ends_at_the_smallest_row_that_fails(broken: Any) -> None:
    done = broken.bitgate("shrink", f"{CASE}_gap", "--target=host", "--json")
    (failure,) = done.document["failures"]
    assert (done.code, failure["case"]) == (1, "weighted_sums_f32_r1c9"), done.said


def test_declarations_bring_the_operation_next_to_them(example: Any) -> None:
    repository = example("weighted_sums")
    (repository.folder / "bitgate.toml").unlink()
    done = repository.bitgate("verify", CASE, "--load=kernels/weighted_sums", "--target=host")
    assert done.code == 0, done.said


def test_its_code_never_runs_where_results_are_written(
    example: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = example("weighted_sums")
    stated, log = repository.folder / "kernels" / "weighted_sums" / "operation.py", repository.folder / "processes"
    noting = f"import os, pathlib\nwith open({str(log)!r}, 'a') as log: print(os.getpid(), file=log)\n"
    stated.write_text(stated.read_text().replace("from dataclasses", f"{noting}from dataclasses"))
    monkeypatch.setattr(registry, "_added", {})
    monkeypatch.chdir(repository.folder)
    assert run(["verify", CASE, "--target=host"]) == 0, capsys.readouterr()
    processes = set(map(int, log.read_text().split()))
    assert processes
    assert os.getpid() not in processes


def test_a_file_of_operations_is_named_in_the_project(example: Any) -> None:
    repository = example("weighted_sums")
    stated = repository.folder / "kernels" / "weighted_sums" / "operation.py"
    stated.rename(repository.folder / "sums.py")
    repository.write("bitgate.toml", '[bitgate]\nload = ["kernels/weighted_sums"]\noperations = ["sums.py"]\n')
    assert repository.bitgate("verify", CASE, "--target=host").code == 0
    repository.write("sums.py", "OPERATIONS = 7\n")
    done = repository.bitgate("verify", CASE, "--target=host")
    assert done.code == 2
    assert done.err.startswith(f"bitgate: {repository.folder}/sums.py: defines no OPERATIONS")
