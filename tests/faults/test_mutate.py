"""All mutants of a small kernel of an owner's, by the command: one of each fate is known beforehand."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest
from tests.faults.user_checkout import PATIENCE_SECONDS, SOURCE, UserCheckout, edited, example_folder

from bitgate.tools.faults.mutation.operators import OPERATORS

GENERIC = ("--drawn=30", *(f"--operator={name}" for name in OPERATORS))

EDITS = {
    # --blocks does not end.
    "const int64_t blocks = (shape.rows + block_size - 1) / block_size;": """int64_t blocks = 0;
  while (blocks * block_size < shape.rows)
    ++blocks;""",
    # What one call leaves, all later ones in its process have.
    "  const Shape shape{x.lengths[0], x.lengths[1], ": """  static int64_t lost = 0;
  if (x.lengths[0] < 0)
    lost = 1;
  const Shape shape{x.lengths[0], x.lengths[1] - lost, """,
    # r - y is no C++; 70000 columns are more than a problem may have.
    "    y[r * shape.y] = sum;": """    if (shape.columns > 70000)
      sum = sum * 3;
    float* const to = r + y;
    *to = sum;""",
}

FATES = {
    (
        "sum += x[r * shape.x_row + c * shape.x_column] * w[c * shape.w]",
        "sum -= x[r * shape.x_row + c * shape.x_column] * w[c * shape.w]",
    ): "killed",
    ("c < shape.columns", "true"): "killed",  # by a crash
    ("++blocks", "--blocks"): "timeout",
    ("x.lengths[0] < 0", "true"): "killed",
    (
        "blocks < max_blocks",
        "blocks <= max_blocks",
    ): "survived",  # the same program, in a process that was spoilt before
    ("70000", "70001"): "survived",  # the same for all cases that there can be
    ("sum * 3", "sum / 3"): "not reached",
    ("r + y", "r - y"): "not compilable",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> UserCheckout:
    folder = example_folder(tmp_path_factory)
    (folder / SOURCE).write_text(edited((folder / SOURCE).read_text(), EDITS))
    return UserCheckout(folder, ("mutate", "--limit=3"))


@pytest.fixture(scope="module")
def all_mutants(repository: UserCheckout) -> Any:
    before = (repository.folder / SOURCE).read_bytes()
    code, out, err = repository.run("--sample=1000", *GENERIC, "--record=trials.jsonl", "--json", "-j1")
    assert code == 0, err
    assert (repository.folder / SOURCE).read_bytes() == before
    return json.loads(out)


@pytest.mark.parametrize(("edit", "fate"), FATES.items(), ids=lambda value: value if isinstance(value, str) else "")
def test_what_becomes_of_a_mutant(all_mutants: Any, edit: tuple[str, str], fate: str) -> None:
    found = {(one["original"], one["mutated"]): one for one in all_mutants["faults"]}
    assert (found[edit]["fate"], found[edit]["killed"]) == (fate, fate in ("killed", "timeout"))


def test_who_killed_it_and_how(all_mutants: Any) -> None:
    found = {(one["original"], one["mutated"]): one for one in all_mutants["faults"]}
    wrong = found[
        "sum += x[r * shape.x_row + c * shape.x_column] * w[c * shape.w]",
        "sum -= x[r * shape.x_row + c * shape.x_column] * w[c * shape.w]",
    ]
    assert wrong["verdict"] == "MISMATCH"
    assert "suites/sums/test_sums.py::test_bits[weighted_sums_f32_" in wrong["by"]
    assert wrong["diagnosis"]
    assert found["c < shape.columns", "true"]["verdict"] == "CRASHED"


def test_the_score_is_over_those_that_a_case_reaches(all_mutants: Any) -> None:
    counts = all_mutants["counts"]
    killed = counts["killed"] + counts["timeout"]
    assert all_mutants["score"] == round(killed / (killed + counts["survived"]), 4)
    assert sum(counts.values()) == all_mutants["mutants"] == len(all_mutants["faults"])
    assert all_mutants["left_out"]["constant expression"] > 0


def test_the_harness_s_own_headers_are_not_an_owner_s(all_mutants: Any) -> None:
    assert {one["file"] for one in all_mutants["faults"]} == {"kernels/weighted_sums/weighted_sums.hip.cpp"}


def test_what_a_record_holds_is_not_tried_again(repository: UserCheckout, all_mutants: Any) -> None:
    code, out, err = repository.run("--sample=1000", *GENERIC, "--record=trials.jsonl", "--json", "--least=1")
    assert code == 1, "some survive"
    assert json.loads(out)["score"] == all_mutants["score"]
    assert f"{all_mutants['mutants']} mutants were tried before" in err
    assert "cases as the sources are" not in err


def test_people_are_told_the_survivors_with_their_lines(repository: UserCheckout, all_mutants: Any) -> None:
    code, out, _ = repository.run("--sample=1000", *GENERIC, "--record=trials.jsonl")
    assert code == 0
    assert "  - blocks < max_blocks\n  + blocks <= max_blocks\n" in out
    assert f"score {all_mutants['score']:.3f} (" in out


CONDITIONAL = ("--operator=conditional", "--sample=6", "--drawn=60")


@pytest.fixture(scope="module")
def conditional(repository: UserCheckout) -> Any:
    """Mutants under conditions: the suite's six cases are too few for most coincidences."""
    code, out, err = repository.run(*CONDITIONAL, "--seed=4", "--record=conditional.jsonl", "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_conditional_mutant_is_shown_by_a_case(conditional: Any) -> None:
    counted = [one for one in conditional["faults"] if one["fate"] in ("killed", "timeout", "survived")]
    assert len(counted) == conditional["of"] == conditional["by_operator"]["conditional"]["of"] == 6
    assert all(" and " in one["condition"] for one in counted)
    assert conditional["shown"]["of"] == 6, "each was drawn of a case that is red with its edit"


def test_a_coincidence_that_no_row_has_is_a_hole(conditional: Any) -> None:
    holes = [one for one in conditional["faults"] if one["fate"] == "survived"]
    assert holes
    assert all(one["shown_by"].startswith("bitgate verify weighted_sums_f32_") for one in holes)
    assert conditional["score"] < 1


def test_a_seed_draws_the_same_ones_again(repository: UserCheckout, conditional: Any) -> None:
    code, out, err = repository.run(*CONDITIONAL, "--seed=4", "--record=again.jsonl", "--json", "-j1")
    assert code == 0, err
    names = [one["name"] for one in conditional["faults"]]
    assert sorted(one["name"] for one in json.loads(out)["faults"]) == sorted(names)


def test_a_record_keeps_conditions(repository: UserCheckout, conditional: Any) -> None:
    code, out, _ = repository.run(*CONDITIONAL, "--seed=4", "--record=conditional.jsonl")
    assert code == 0
    [*_, hole] = [one for one in conditional["faults"] if one["fate"] == "survived"]
    assert f"where {hole['condition']}" in out
    assert f"red: {hole['shown_by']}" in out


def test_what_was_tried_before_an_interrupt_is_kept(repository: UserCheckout, all_mutants: Any) -> None:
    record = repository.folder / "cut.jsonl"
    arguments = ("--drawn=30", "--operator=constant", "--operator=arithmetic", f"--record={record}")
    process = repository.start(*arguments)
    end = time.monotonic() + PATIENCE_SECONDS
    while not record.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, err
    assert f"go on with --record {record}" in err
    kept = len(record.read_text().splitlines())
    code, _, err = repository.run(*arguments)
    assert code == 0, err
    assert f"{kept} mutants were tried before" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--operator=relation",), "did you mean 'relational'?"),
        (("--target=gfx942",), "gfx942 is not present on this machine"),
        (("--file=nothing*",), "no such mutant in --file nothing*"),
        (("--kernel=no_such",), "no kernel is called 'no_such'"),
        (("--record=suites/sums/cases.toml",), "not a record of `bitgate faults mutate --record`"),
    ],
)
def test_what_cannot_be_asked_for(repository: UserCheckout, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = repository.run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
