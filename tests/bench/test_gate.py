"""A change beside its base: red is what is slower twice, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xmlschema
from junitparser import JUnitXml
from msgspec.structs import replace
from tests.bench.timings import CASE, row

from bitgate.core import paths
from bitgate.results.record import UNKNOWN
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench import gate_report
from bitgate.tools.bench.gate import Gate, Ruling, Shape, judge
from bitgate.tools.bench.settings import Significance

QUICK = Significance(resamples=200)


def always(rows: list[Timing]) -> Callable[[Any], list[Timing]]:
    return lambda shapes: rows


class Bench:
    """Head takes ``factors`` times as long as the base, shape by shape, each time that it is measured."""

    def __init__(self, **factors: Sequence[float]) -> None:
        self.factors = factors
        self.asked: list[list[Shape]] = []
        self.draw = np.random.default_rng(0)

    def rows(self, names: Sequence[str], time: int) -> list[Timing]:
        said = {"A": {"build": "base"}, "B": {"build": "head"}}
        return [
            row(
                side,
                1e-3 * (self.factors[name][time] if side == "B" else 1) * self.draw.lognormal(0, 0.01, 20),
                name=name,
                run={"id": str(time)},
                **said[side],
            )
            for name in names
            for side in "AB"
        ]

    def again(self, shapes: Sequence[Shape]) -> list[Timing]:
        self.asked.append(list(shapes))
        return self.rows([name for _, name in shapes], 1)

    def judged(self, *more: Timing) -> Gate:
        return judge([*self.rows(list(self.factors), 0), *more], QUICK, self.again)


def rulings(gate: Gate) -> dict[str, str]:
    return {one.shape.name: one.ruling.value for one in gate.shapes}


@pytest.fixture
def bench() -> Bench:
    return Bench(steady=[1.0], slower=[1.1, 1.1], once=[1.1, 1.0], faster=[0.9, 0.9])


def test_red_is_what_is_slower_again_when_it_is_measured_alone(bench: Bench) -> None:
    gate = bench.judged()
    assert rulings(gate) == {
        "steady": "no slower",
        "slower": "slower",
        "once": "not confirmed",
        "faster": "faster",
    }
    assert bench.asked == [[(CASE, "slower"), (CASE, "once"), (CASE, "faster")]]
    assert gate.exit_code == 1


def test_what_is_not_slower_is_green_and_not_measured_again() -> None:
    bench = Bench(steady=[1.0], little=[1.01])
    assert bench.judged().exit_code == 0
    assert bench.asked == []


def test_faster_but_once_is_not_faster() -> None:
    gate = Bench(once=[0.9, 1.0], twice=[0.9, 0.9]).judged()
    assert rulings(gate) == {"once": "no slower", "twice": "faster"}
    assert gate.shapes[0].why == "faster at first, and not when it was measured again"


@pytest.mark.parametrize(("factor", "winner"), [(1.5, "A"), (0.6, "B")])
def test_the_same_build_on_both_sides_shows_no_difference(factor: float, winner: str) -> None:
    """Whatever the clock says of a busy machine. What Python launches is not known that well."""
    bench = Bench(small=[factor, factor])
    for loop, ruling in (("C", Ruling.SAME), ("Python", Ruling.SLOWER if winner == "A" else Ruling.FASTER)):
        same = {"fingerprint": {"build": "b1"}, "settings": {"loop": loop}}
        first, second = ([replace(one, **same) for one in bench.rows(["small"], time)] for time in (0, 1))
        (ruled,) = judge(first, QUICK, always(second)).shapes
        assert (ruled.shape.winner, ruled.ruling) == (winner, ruling)
        assert ("both sides are the same build" in ruled.why) == (loop == "C")


def test_slower_but_once_is_green() -> None:
    assert Bench(once=[1.1, 1.0]).judged().exit_code == 0


def test_what_is_wrong_is_red_at_once() -> None:
    bench = Bench(slower=[1.1, 1.1])
    wrong = row(
        "B", [], name="slower", instance="x2", status=TimingStatus.NOT_VERIFIED, verdict="MISMATCH", build="head"
    )
    gate = bench.judged(wrong)
    assert (rulings(gate), gate.exit_code, bench.asked) == ({"slower": "not verified"}, 1, [])
    assert gate.shapes[0].why == "grouped_fwd.x2 not verified: MISMATCH"


@pytest.mark.parametrize("status", [TimingStatus.NOT_VERIFIED, TimingStatus.FAILED, TimingStatus.REFUSED])
def test_without_a_base_that_works_a_kernel_is_new(status: TimingStatus) -> None:
    rows = [row("A", [], status=status, verdict="BUILD_FAILED"), row("B", [1e-3] * 20)]
    steady = Bench(steady=[1.0])
    gate = steady.judged(*rows)
    assert (rulings(gate), gate.exit_code) == ({"steady": "no slower", "": "no base"}, 0)
    assert gate.shapes[1].why
    assert rulings(steady.judged(rows[1])) == rulings(gate)


def test_a_gate_without_any_base_has_shown_nothing() -> None:
    rows = [row("A", [], status=TimingStatus.FAILED, reason="does not build"), row("B", [1e-3] * 20)]
    gate = judge(rows, QUICK, lambda shapes: [])
    assert (gate.shapes[0].ruling, gate.exit_code) == (Ruling.NO_BASE, 3)
    assert gate_report.headline(gate).startswith("too little data: 1 no base; nothing was compared")


def test_a_shape_that_nobody_takes_is_not_green() -> None:
    refused = [row(side, [], status=TimingStatus.REFUSED, reason="stride: not 1", name="odd") for side in "AB"]
    gate = Bench(steady=[1.0]).judged(*refused)
    assert (rulings(gate), gate.exit_code) == ({"steady": "no slower", "odd": "not timed"}, 3)
    assert "stride: not 1" in gate.shapes[1].why
    assert gate_report.github_lines(gate)[0].startswith("::warning title=not timed%3A odd")


def noisy(side: str, factor: float, **said: object) -> Timing:
    """Every other sample takes three times as long."""
    return row(side, [factor * (1e-3 if place % 2 else 3e-3) for place in range(20)], **said)


def test_what_seems_slower_twice_in_much_noise_is_not_green() -> None:
    rows = [noisy("A", 1.0), noisy("B", 1.2)]
    gate = judge(rows, Significance(resamples=200, level=1e-12), lambda shapes: rows)
    assert (gate.shapes[0].ruling, gate.exit_code) == (Ruling.TOO_LITTLE, 3)
    assert gate.shapes[0].shape.ratio > 1.1


@pytest.mark.parametrize("late", [lambda place: place % 4 == 0, lambda place: place > 14], ids=["at times", "at last"])
def test_what_stalls_now_and_then_is_not_as_fast(late: Callable[[int], bool]) -> None:
    """The median knows nothing of it."""
    draw = np.random.default_rng(5)
    seconds = 1e-3 * draw.lognormal(0, 0.01, 20)
    stalled = [one * (10 if late(place) else 1) for place, one in enumerate(1e-3 * draw.lognormal(0, 0.01, 20))]
    rows = [row("A", seconds), row("B", stalled)]
    gate = judge(rows, QUICK, lambda shapes: rows)
    assert (gate.shapes[0].ruling, gate.exit_code) == (Ruling.TOO_LITTLE, 3)
    assert gate.shapes[0].why == "now and then it takes over 1.5 times as long: 25 % more often"
    assert judge([row("A", stalled), row("B", seconds)], QUICK, lambda shapes: rows).exit_code == 0


@pytest.mark.parametrize(("again", "ruling"), [(1.0, Ruling.NOT_CONFIRMED), (1.5, Ruling.TOO_LITTLE)])
def test_what_seems_slower_is_measured_again(again: float, ruling: Ruling) -> None:
    draw = np.random.default_rng(3)
    first = [row(side, 1e-3 * factor * draw.lognormal(0, 0.3, 20)) for side, factor in (("A", 1), ("B", 1.1))]
    second = [row(side, 1e-3 * factor * draw.lognormal(0, 0.01, 20)) for side, factor in (("A", 1), ("B", again))]
    gate = judge(first, QUICK, lambda shapes: second)
    assert (gate.shapes[0].shape.winner, gate.shapes[0].ruling) == ("tie", ruling), gate.shapes[0]


def test_rounds_too_few_for_so_many_shapes_show_nothing() -> None:
    """Six rounds: their least p is 0.005, and of 41 shapes the first has to have 0.0012."""
    names = [f"shape {number}" for number in range(40)]
    steady = [row(side, [1e-3 + 1e-9 * place for place in range(6)], name=name) for name in names for side in "AB"]
    twice = [row("A", [1e-3] * 6, name="twice"), row("B", [2e-3] * 6, name="twice")]
    gate = judge([*steady, *twice], QUICK, lambda shapes: [])
    assert rulings(gate) == {**dict.fromkeys(names, "no slower"), "twice": "too little data"}
    assert "too few to show anything at 5 % over 41 shapes" in gate.shapes[-1].why
    assert gate.exit_code == 3


def test_a_shape_that_the_change_refuses_is_told() -> None:
    rows = [row("A", [1e-3] * 20), row("B", [], status=TimingStatus.REFUSED, reason="stride: not 1")]
    gate = judge(rows, QUICK, lambda shapes: [])
    assert (gate.shapes[0].ruling, gate.exit_code) == (Ruling.GONE, 3)
    assert "stride: not 1" in gate.shapes[0].why


def test_too_little_data_is_neither_green_nor_red() -> None:
    few = [row(side, [1e-3] * 5) for side in "AB"]
    gate = judge(few, QUICK, lambda shapes: [])
    assert (gate.shapes[0].ruling, gate.exit_code) == (Ruling.TOO_LITTLE, 3)
    late = [row("A", [], status=TimingStatus.OVER_BUDGET), row("B", [1e-3] * 20)]
    assert judge(late, QUICK, lambda shapes: []).exit_code == 3
    large = [
        row("A", [1e-3] * 20),
        row("B", [], status=TimingStatus.NOT_VERIFIED, verdict="NOT_RUN", reason="no memory"),
    ]
    assert judge(large, QUICK, lambda shapes: []).exit_code == 3
    assert judge([], QUICK, lambda shapes: []).exit_code == 3


def test_what_cannot_be_measured_again_is_not_decided() -> None:
    gate = judge(Bench(slower=[1.1]).rows(["slower"], 0), QUICK, lambda shapes: [])
    assert (gate.shapes[0].ruling, gate.exit_code) == (Ruling.TOO_LITTLE, 3)
    assert gate.shapes[0].why == "slower at first, then: it was not measured again"


def test_what_dies_when_it_is_measured_again_is_red() -> None:
    died = row("B", [], name="slower", status=TimingStatus.FAILED, reason="hung")
    gate = judge(Bench(slower=[1.1]).rows(["slower"], 0), QUICK, lambda shapes: [died])
    assert (gate.shapes[0].ruling, gate.shapes[0].why) == (Ruling.NOT_VERIFIED, "grouped_fwd.x1 failed: hung")


def test_a_terminal_is_told_of_what_there_is_to_say(bench: Bench) -> None:
    told = gate_report.text(bench.judged()).splitlines()
    assert [line.split("  ")[0] for line in told[1:4]] == ["slower", "not confirmed", "faster"]
    assert "% longer (" in told[1]
    assert "% less (" in told[3]
    assert told[-1].startswith("red: 1 slower, 1 not confirmed, 1 faster, 1 no slower; slower is 3 % or more")
    assert gate_report.text(judge([], QUICK, lambda shapes: [])) == "too little data: no shape was measured"


def test_kernels_that_the_change_leaves_as_they_are_are_told() -> None:
    """All of them, where the base is not the one that was meant."""
    rows = Bench(kept=[1.0], changed=[1.0], unknown=[1.0]).rows(["kept", "changed", "unknown"], 0)
    builds = {("changed", "B"): "b2", ("unknown", "A"): UNKNOWN, ("unknown", "B"): UNKNOWN}
    of_builds = [
        replace(one, fingerprint={"build": builds.get((one.name, one.side), "b1")}, settings={"loop": "C"})
        for one in rows
    ]
    gate = judge(of_builds, QUICK, lambda shapes: [])
    assert gate_report.headline(gate).startswith(
        "green: 3 no slower; on 1 of 3 compared base and head are the same build; slower is"
    )
    assert (gate.exit_code, gate.as_json()["same_builds"]) == (0, 1)


def test_a_pull_request_is_told_in_a_table(bench: Bench) -> None:
    told = gate_report.markdown(bench.judged()).splitlines()
    assert told[0].startswith("**red: ")
    assert told[4].startswith("| **slower** | slower | 1")
    assert {line.count("|") for line in told[2:]} == {8}


def test_a_forge_is_told_where_people_look(bench: Bench) -> None:
    (line,) = gate_report.github_lines(bench.judged())
    assert line.startswith("::error title=slower%3A slower::9.9 %25 longer (")
    assert "measured again" in line
    (line,) = gate_report.github_lines(judge([row(side, [1e-3] * 5) for side in "AB"], QUICK, lambda shapes: []))
    assert line.startswith("::warning title=too little data%3A ")


def test_dashboards_get_a_testcase_a_shape(bench: Bench, tmp_path: Path) -> None:
    new = row("B", [1e-3] * 20, name="new")
    wrong = row("B", [], name="wrong", status=TimingStatus.NOT_VERIFIED, verdict="MISMATCH")
    few = [row(side, [1e-3] * 5, name="few") for side in "AB"]
    file = tmp_path / "gate" / gate_report.JUNIT
    gate_report.write_junit(bench.judged(new, wrong, *few), file, "host")
    (suite,) = JUnitXml.fromfile(str(file))
    assert (suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) == ("bitgate.bench.host", 7, 1, 2, 1)
    results = {case.name.rpartition("__")[2].rstrip("]"): [one.type for one in case.result] for case in suite}
    assert results["slower"] == ["Slower"]
    assert results["wrong"] == ["NotVerified"]
    assert results["few"] == ["TooLittleData"]
    assert results["new"] == ["no_base"]
    assert results["once"] == results["faster"] == results["steady"] == []
    slower = next(case for case in suite if case.name.endswith("__slower]"))
    assert "again.ratio=1.09" in slower.system_out
    for schema in ("jenkins.xsd", "junit.xsd"):
        xmlschema.XMLSchema(paths.data_folder("reports") / schema).validate(file)
