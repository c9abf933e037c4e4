"""Runs of suites: what ends on the record, in the plan, in the reports, and in the exit code."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest

AS_IS = ("", "")
AGAIN = """def test_again(planned, check):
    check(planned)

@cases("toy")
def test_toy"""

TWICE = """@__import__("pytest").mark.parametrize("word", ["a", "b"])
def test_toy(word, """


def test_a_green_run_leaves_a_plan_a_record_and_reports(suites: Any, run_here: Any) -> None:
    code, said = run_here("--tier=smoke", "--junitxml=plain.xml")
    assert code == 0, said
    assert suites.outcomes == ["PASS"] * 4
    assert {item.id for item in suites.plan.cases} == {v.test.split("[")[1].rstrip("]") for v in suites.verdicts}
    assert {(item.test, item.key) for item in suites.plan.cases} == {(v.test, v.key) for v in suites.verdicts}
    assert {verdict.plan for verdict in suites.verdicts} == {suites.plan.id}
    assert suites.junit.tests == 4
    assert "GREEN: 4 verdicts on host (smoke)" in said
    assert (suites.out / "summary.md").is_file()
    assert (suites.folder / "plain.xml").is_file()
    assert not list(suites.out.glob("blackbox-*"))


def test_hypothesis_is_not_imported_by_a_run_without_it(suites: Any) -> None:
    """A fifth of a second at the end of each run, by its own plugin."""
    said = "import atexit, sys; atexit.register(lambda: print('hypothesis' in sys.modules))\n"
    (suites.folder / "suites" / "conftest.py").write_text(said)
    assert suites.run("-n0").stdout.endswith("False\n")
    (suites.folder / "suites" / "conftest.py").write_text(f"{said}import hypothesis\n")
    assert suites.run("-n0").stdout.endswith("True\n")


def test_regression_contains_smoke_and_resume_runs_the_rest(suites: Any, run_here: Any) -> None:
    assert run_here("--tier=smoke")[0] == 0
    code, said = run_here("-m", "regression", "--resume")
    assert code == 0
    assert "2 passed, 4 deselected" in said
    assert suites.outcomes == ["PASS"] * 6
    assert suites.junit.tests == 6
    assert len(suites.plan.cases) == 6


def test_a_fresh_run_keeps_the_record_before_it(suites: Any, run_here: Any) -> None:
    run_here("-k", "f64")
    run_here("-k", "f32")
    assert len(suites.verdicts) == 3
    assert (suites.out / "results.prev.jsonl").read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        (("-k", "gemms_count_4"), 2),
        (("-k", "g2 and not f64"), 1),
        (("-k", "stride_1"), 4),
        (("-k", "second"), 4),
        (("--kernel", "naive_conv.bwd_data_f64"), 3),
        (("-m", "smoke and not regression"), 0),
    ],
)
def test_factors_tiers_and_kernels_select(
    suites: Any, run_here: Any, arguments: tuple[str, ...], selected: int
) -> None:
    code, said = run_here("--collect-only", "-q", *arguments)
    assert len(re.findall(r"test_toy\[", said)) == selected
    assert code == (0 if selected else 3)
    assert not suites.out.exists()


def test_a_selection_is_by_exact_id(suites: Any, run_here: Any) -> None:
    chosen = "bwd_data_f32_nhwgc_g1n1k2c3_y1x1_h4x4_s1x1_d1x1_p0x0_q0x0__naive_conv_bwd_data_f32__exact"
    (suites.folder / "ids").write_text(f"# one\n{chosen}\n")
    assert run_here("--select", "ids")[0] == 0
    assert [item.id for item in suites.plan.cases] == [chosen]
    (suites.folder / "ids").write_text("# nothing\n")
    code, said = run_here("--select", "ids")
    assert code == 3, "a selection of nothing is no green run"
    (suites.folder / "ids").write_text(chosen[:-1])
    code, said = run_here("--select", "ids")
    assert code == 2
    assert f"no test is called '{chosen[:-1]}'; did you mean '{chosen}'" in said


def test_a_failed_assertion_after_the_gate_is_on_the_record(suites: Any, run_here: Any) -> None:
    suites.write(more="    assert planned.problem.g == 1\n")
    assert run_here()[0] == 1
    red = [verdict for verdict in suites.verdicts if not verdict.green]
    assert {verdict.key.case[:21] for verdict in red} == {"bwd_data_f32_nhwgc_g2", "bwd_data_f64_nhwgc_g2"}
    assert all(re.search("test_toy failed: .*assert 2 == 1", verdict.reason) for verdict in red)
    assert suites.junit.failures == 2


def test_a_test_of_one_line_is_shown_where_it_is_written(suites: Any, run_here: Any) -> None:
    written = "def test_toy(planned, check):\n    check(planned)"
    suites.write(
        module=(f'@cases("toy")\n{written}', 'from bitgate.testing import verified\ntest_toy = verified("toy")')
    )
    code, output = run_here("-v", "--tier=smoke")
    assert code == 0
    assert "suites/toy/test_toy.py::test_toy[" in output
    assert "<-" not in output


def test_a_case_that_nobody_runs_is_red(suites: Any, run_here: Any) -> None:
    suites.write(('"naive_conv*"', '"naive_conv.bwd_data_f32"'))
    assert run_here()[0] == 1
    reasons = {verdict.reason.split(";")[0] for verdict in suites.verdicts if not verdict.green}
    assert reasons == {"no kernel instance supports it on host"}


def test_help_tells_of_the_options_and_starts_nothing(suites: Any, run_here: Any) -> None:
    code, said = run_here("--help")
    assert code == 0
    assert "--case-timeout=SECONDS" in said
    assert not suites.out.exists()


def test_nothing_compared_is_not_green(suites: Any, run_here: Any) -> None:
    code, said = run_here("-k", "no_such_word")
    assert code == 3
    assert "nothing was compared" in said


@pytest.mark.parametrize(
    ("table", "module", "arguments", "message"),
    [
        (("shape", "shap"), AS_IS, (), "'first': shap: no such field; did you mean 'shape'?"),
        (AS_IS, ('"toy"', '"tyo"'), (), "tyo/cases.toml: no such case table"),
        (AS_IS, ('"toy"', '"toy", gemm=3'), (), "no factor is called 'gemm'; did you mean 'gemms_count'"),
        (AS_IS, ('"toy"', '"toy", g=[1, 5]'), (), "[[case]]: no case has g = 5, which a test asks for"),
        (AS_IS, ("def test_toy", AGAIN), (), "an id names one test only: give them other rows, @cases(SUITE#SET)"),
        (AS_IS, ("def test_toy(", TWICE), (), "test_toy, parametrized; an id names one test only: loop over the"),
        (AS_IS, AS_IS, ("--kernel", "naive_con"), "no kernel is called 'naive_con'; did you mean 'naive_conv'"),
        (AS_IS, AS_IS, ("--option", "x"), "--option x: write NAME=VALUE"),
        (AS_IS, AS_IS, ("--target", "gfx94"), "unknown target 'gfx94'"),
        (AS_IS, AS_IS, ("--target", "gfx942", "-nauto"), "gfx942 is not present on this machine"),
        (AS_IS, AS_IS, ("--tier", "smok"), "--tier smok: did you mean 'smoke'?"),
        (AS_IS, AS_IS, ("--schedule", "up"), "--schedule up: give forward, reverse, lockstep or random:N"),
        (AS_IS, AS_IS, ("--resum",), "unrecognized arguments: --resum (did you mean --resume?)"),
        (AS_IS, AS_IS, ("-n1", "--select", "none"), "--select none: no such file"),
    ],
)
def test_what_the_user_must_mend_ends_with_2_and_one_line(
    suites: Any,
    run_here: Any,
    table: tuple[str, str],
    module: tuple[str, str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    suites.write(table, module)
    code, said = run_here(*arguments)
    assert code == 2
    (line,) = [line for line in said.splitlines() if line.startswith("ERROR:")]
    assert message in line
    assert "Traceback" not in said
    assert not suites.out.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", ["-n0", "-n2", "--processes=2"])
def test_an_interrupted_run_keeps_what_it_has(suites: Any, number: signal.Signals, workers: str) -> None:
    behind_the_first = 'check):\n    os.path.getsize("out/host/results.jsonl") and time.sleep(100)'
    suites.write(module=("check):", behind_the_first))
    code, output = suites.interrupt(number, lambda: bool(suites.verdicts) and suites.is_at("toy"), workers)
    assert code == 130, output
    assert len(suites.verdicts) < 6
    assert {verdict.outcome.value for verdict in suites.verdicts} <= {"PASS"}
    assert suites.junit.tests == 6
    assert suites.junit.failures == 0
    assert "INTERRUPTED" in (suites.out / "summary.md").read_text()
    assert not list(suites.out.glob("blackbox-*")), "a resumed run would take the case for one that killed its process"


BROKEN = """
from dataclasses import replace
from pathlib import Path
from bitgate.kernel.registry import families

naive = families()["naive_conv"]
FAMILY = replace(naive, name="broken", sources=("broken.hip.cpp",), generated={}, folder=Path(__file__).parent)
"""


def builds_broken(said: str) -> bool:
    """The line may name other families before it."""
    return re.search(r"^building .*\bbroken\b", said, re.MULTILINE) is not None


def test_a_run_ending_at_its_first_red_case_builds_lazily(suites: Any) -> None:
    suites.write(
        ('name = "second"', 'name = "second"\nkernels = "broken*"'), ("check(planned)", "check(planned), 1 / 0")
    )
    (suites.folder / "declaration.py").write_text(BROKEN)
    (suites.folder / "broken.hip.cpp").write_text("#error not a kernel\n")
    of_both = ("--load=declaration.py", "--kernel=*", "--tier=smoke")
    assert builds_broken(suites.run(*of_both).stderr)
    assert suites.outcomes.count("BUILD_FAILED") == 2
    assert not builds_broken(suites.run(*of_both, "-x").stderr)
    assert len(suites.verdicts) == 1
    suites.write(('name = "second"', 'name = "second"\nkernels = "broken*"'))
    assert builds_broken(suites.run(*of_both, "-x").stderr)
    assert suites.outcomes.count("BUILD_FAILED") == 1


def test_github_is_told_the_row_of_each_red(suites: Any, run_here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of ours cannot be taken for another command, and nothing is printed elsewhere."""
    suites.write(module=("check(planned)", "check(planned)\n    assert not '100%\\n::stop-commands::x'"))
    code, said = run_here("--tier=smoke")
    assert (code, re.findall("^::.*", said, re.MULTILINE)) == (1, [])
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, said = run_here("--tier=smoke")
    lines = re.findall("^::.*", said, re.MULTILINE)
    assert code == 1
    assert len(lines) == 1  # four cases, one cause
    assert re.match(r"::error file=suites/toy/cases\.toml,line=\d+,title=MISMATCH on host%2C naive_conv\.", lines[0])
    assert "(4 cases, the first is " in lines[0]
