"""``--load FILE`` means mine: what runs, what is said of suites that it takes nothing of, and how a run ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import paths

POINTWISE = Path(__file__).parents[2] / "examples" / "pointwise" / "declaration.py"
ROW = """
[[case]]
name = "theirs"
why = "a toy"
case = "{case}"
tier = "smoke"
"""
TAKEN, OTHER = "bwd_data_f32_nhwgc_g1n1k2c2_y1x1_h3x3", "fwd_f32_nhwgc_g1n1k2c2_y1x1_h3x3"
MODULE = """
from bitgate.testing import cases

@cases("{suite}")
def test_it(planned, check, expect_dispatch):
    expect_dispatch(check(planned), {stated})
"""
RunHere = Callable[..., tuple[int, str]]


@pytest.fixture
def owners(suites: Any) -> Any:
    """Beside the toy suite, which is naive_conv's, two suites without kernels: ``mine`` and ``theirs``."""
    for name, case in (("mine", TAKEN), ("theirs", OTHER)):
        folder = suites.folder / "suites" / name
        folder.mkdir()
        (folder / "cases.toml").write_text(ROW.format(case=case))
        (folder / f"test_{name}.py").write_text(MODULE.format(suite=name, stated='path="pointwise"'))
    return suites


def kernels(suites: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for verdict in suites.verdicts:
        counts[verdict.key.kernel] = counts.get(verdict.key.kernel, 0) + 1
    return counts


def test_what_is_loaded_runs_and_nothing_else(owners: Any, run_here: RunHere) -> None:
    code, output = run_here(f"--load={POINTWISE}", "--deselect=suites/theirs")
    assert code == 0, output
    assert kernels(owners) == {"pointwise": 1}
    assert "pointwise took no case of theirs, toy" in output
    assert "pointwise took no case of theirs, toy" in (owners.out / "summary.md").read_text()


def test_a_row_of_mine_that_mine_does_not_take_is_red(owners: Any, run_here: RunHere) -> None:
    code, output = run_here(f"--load={POINTWISE}")
    assert code == 1, output
    assert owners.outcomes == ["NOT_RUN", "PASS"]
    assert "cases: 2 asked, 1 compared, 0 refused, 1 not run" in output


def test_a_glob_says_otherwise(owners: Any, run_here: RunHere) -> None:
    code, output = run_here(f"--load={POINTWISE}", "--kernel=*", "-k", "toy")
    assert code == 0, output
    assert kernels(owners) == {"naive_conv": 6}
    assert "took no case" not in output


def test_a_run_in_which_it_ran_nothing_ends_with_3(owners: Any, run_here: RunHere) -> None:
    code, output = run_here("suites/toy", f"--load={POINTWISE}", "--deselect=suites/mine", "--deselect=suites/theirs")
    assert code == 3, output
    assert not owners.verdicts
    assert "pointwise took no case of" in output


def test_the_environment_serves_plain_pytest(owners: Any, run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_LOAD", str(POINTWISE))
    code, output = run_here("--deselect=suites/theirs")
    assert code == 0, output
    assert kernels(owners) == {"pointwise": 1}


def test_a_table_may_name_its_declarations(owners: Any, run_here: RunHere) -> None:
    """Its rows run on them; the toy suite's run as ever."""
    table = owners.folder / "suites" / "mine" / "cases.toml"
    table.write_text(f"load = ['{POINTWISE}']\n{table.read_text()}")
    code, output = run_here("--deselect=suites/theirs")
    assert code == 0, output
    assert kernels(owners) == {"pointwise": 1, "naive_conv": 6}
    (own,) = [verdict for verdict in owners.verdicts if verdict.key.kernel == "pointwise"]
    assert f"--load {POINTWISE}" in own.repro
    code, output = run_here("--deselect=suites/theirs", "--kernel=pointwise*")
    assert code == 0, output
    assert kernels(owners) == {"pointwise": 1}


def test_with_workers_as_without(owners: Any) -> None:
    table = owners.folder / "suites" / "mine" / "cases.toml"
    table.write_text(f"load = ['{POINTWISE}']\n{table.read_text()}")
    done = owners.run("-n2", "--deselect=suites/theirs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert kernels(owners) == {"pointwise": 1, "naive_conv": 6}


@pytest.mark.parametrize("way", ["--kernel=mine*", "a row"])
def test_a_forgotten_load_is_one_line_that_hints_at_it(owners: Any, run_here: RunHere, way: str) -> None:
    if way == "a row":
        table = owners.folder / "suites" / "mine" / "cases.toml"
        table.write_text(table.read_text() + "kernels = 'mine*'\n")
    code, output = run_here(*([way] if way.startswith("--") else []))
    assert code == 2
    (line,) = [line for line in output.splitlines() if "ERROR" in line]
    assert "no kernel is called 'mine*'" in line
    assert line.endswith(
        "a kernel of yours is known once it is loaded: load in bitgate.toml, --load FILE, or BITGATE_LOAD"
    )


def test_an_owners_test_holds_the_way_that_it_states(owners: Any, run_here: RunHere) -> None:
    module = owners.folder / "suites" / "mine" / "test_mine.py"
    module.write_text(module.read_text().replace('path="pointwise"', 'path="flat"'))
    code, output = run_here(f"--load={POINTWISE}", "--deselect=suites/theirs")
    assert code == 1
    assert "the dispatch record says {'path': 'pointwise'}; stated is {'path': 'flat'}" in output


def test_bitgates_tests_hold_a_loaded_kernel_to_bits_alone(owners: Any, run_here: RunHere) -> None:
    """The table is bitgate's own, and so is the statement, which is not true of this kernel."""
    module = owners.folder / "suites" / "mine" / "test_mine.py"
    module.write_text(MODULE.format(suite="conv_bwd_data", stated="launches=1000"))
    ids = owners.folder / "ids"
    code, output = run_here("suites/mine", f"--load={POINTWISE}", "--collect-only", "-q", "--deselect=suites/theirs")
    pointwise = [line.partition("[")[2].rstrip("]") for line in output.splitlines() if "__pointwise_f32__" in line]
    ids.write_text(pointwise[0])
    code, output = run_here("suites/mine", f"--load={POINTWISE}", f"--select={ids}")
    assert code == 0, output
    assert kernels(owners) == {"pointwise": 1}


@pytest.mark.parametrize(
    ("stated", "message"),
    [("", "nothing is held"), ("launches=2", "the dispatch record says {'launches': 1}; stated is {'launches': 2}")],
)
def test_a_way_that_is_not_stated_or_is_another_fails(
    suites: Any, run_here: RunHere, stated: str, message: str
) -> None:
    plain, held = (
        "check):\n    check(planned)",
        f"check, expect_dispatch):\n    expect_dispatch(check(planned), {stated})",
    )
    suites.write(module=(plain, held))
    code, output = run_here("-k", "first", "-x")
    assert code == 1
    assert message in output


def test_a_test_that_needs_a_statement_refuses_rows_without(suites: Any, run_here: RunHere) -> None:
    suites.write(module=('@cases("toy")', '@cases("toy", needs="dispatch")'))
    code, output = run_here()
    assert code == 2
    assert "'first': dispatch: is missing, and the set's test holds each row to it; state it" in output


LOOSE = "bwd_weight_bf16_nhwgc_g1n4k16c16_y3x3_h16x16_p1x1_sk64"
DECIMALS = "fills = 'decimal'\nkernels = 'grouped_bwd_weight.bf16_32x32x32_a1b1c1'\n"


@pytest.mark.parametrize(("stated", "code", "outcome"), [("", 1, "NOT_RUN"), ("zero_result = true\n", 0, "PASS")])
def test_a_bound_admitting_zero_fails_unless_the_row_states_it(
    owners: Any, run_here: RunHere, stated: str, code: int, outcome: str
) -> None:
    """Not a skipped test: no plan has it."""
    (owners.folder / "suites" / "mine" / "cases.toml").write_text(ROW.format(case=LOOSE) + DECIMALS + stated)
    module = owners.folder / "suites" / "mine" / "test_mine.py"
    module.write_text(
        module.read_text().replace("expect_dispatch(check(planned), path=", "dict(verdict=check(planned), path=")
    )
    ended, output = run_here("suites/mine", "-k", "mine")
    assert (ended, owners.outcomes) == (code, [outcome]), output
    assert (" 1 failed" in output) == (outcome == "NOT_RUN")


def test_the_summary_counts_cases(
    owners: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bitgate.cli.main import run

    monkeypatch.chdir(owners.folder)
    monkeypatch.setenv("BITGATE_OUT", str(owners.folder / "out"))
    options = ["-n", "0", "--target", "host", "--load", str(POINTWISE), "--json"]
    assert run(["run", "suites", *options, "-p", "no:faulthandler"]) == 1
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert [summary[name] for name in ("asked", "compared", "refused", "not_run")] == [2, 1, 0, 1]
    assert paths.out_dir() == owners.folder / "out"
