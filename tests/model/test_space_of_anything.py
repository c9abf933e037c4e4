"""A new operation gets coverage, fuzzing and shrinking for nothing: all follows from the fields of its problem."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

import numpy as np
import pytest
from tests.model.toy_operation import TOY, ToyProblem

from bitgate.model import DtypeSet
from bitgate.model.descent import descend
from bitgate.model.space.candidates import problems_of
from bitgate.model.space.factor import Constants, classify
from bitgate.model.space.quantity import Choice, Length, quantities_of
from bitgate.model.space.table import NamedProblem
from bitgate.tools.coverage.assume import Assumptions
from bitgate.tools.coverage.generate import close
from bitgate.tools.coverage.survey import Scope, Survey
from bitgate.tools.fuzz.draw import SIZES, draw_round

F32 = DtypeSet.parse("f32")
SPACE = TOY.space


def toy(groups: int, heads: int, columns: int, causal: bool = False) -> ToyProblem:
    return ToyProblem(F32, groups, heads, columns, causal)


def test_a_number_is_a_length_and_a_flag_a_choice():
    found = {quantity.name: type(quantity) for quantity in SPACE.quantities}
    assert found == {"dtypes": Choice, "groups": Length, "heads": Length, "columns": Length, "causal": Choice}


def test_a_field_whose_values_nobody_knows_must_be_stated():
    with pytest.raises(TypeError, match=r"mask: .* state `quantities`"):
        quantities_of(make_dataclass("Odd", [("mask", dict)]))


@pytest.mark.parametrize(
    ("columns", "name"),
    [(1, "1"), (2, "2"), (127, "~tile"), (128, "~tile"), (64, "2^n"), (65, "odd"), (66, "even"), (257, "large")],
)
def test_classes_of_a_length(columns: int, name: str):
    codes = classify(SPACE.batch([toy(1, 1, columns)]), SPACE.factors, Constants())[0]
    found = {f.name: f.classes[code].name for f, code in zip(SPACE.factors, codes, strict=True)}
    assert found["columns"] == name


def test_problems_round_trip_through_their_columns():
    problems: list[Any] = [toy(1, 4, 9), toy(2, 8, 128, causal=True)]
    batch: Any = SPACE.batch(problems)
    assert list(problems_of(batch)) == problems
    assert batch.possible.all()
    batch.columns["groups"][0] = 3
    assert SPACE.batch(problems).crossed(batch, np.random.default_rng(0)).possible.shape == (2,)
    assert not batch.take(np.array([0])).possible[0]


def test_a_table_is_surveyed_and_its_holes_are_closed():
    scope = Scope(TOY, frozenset({"dtypes"}), Assumptions())
    rows = [NamedProblem("a", toy(1, 8, 64)), NamedProblem("b", toy(2, 8, 65))]
    survey = Survey(scope, rows, 2)
    reported = [survey.words(hole) for hole, _ in survey.order]
    assert "causal" in reported
    assert "columns around the tile" in reported
    closing: Any = close(survey, 1.0, seed=1)
    assert closing.covered == closing.total
    assert all(row.problem.heads % row.problem.groups == 0 for row in closing.rows)


@pytest.mark.parametrize("size", SIZES[:5:2])
def test_rounds_are_drawn_again_by_their_seed(size):
    first, again = (draw_round(SPACE, (3, 1), size) for _ in range(2))
    assert list(problems_of(first)) == list(problems_of(again))
    assert 0 < len(first) <= size.problems
    assert first.work.max() <= size.work
    drawn: list[Any] = list(problems_of(first))
    assert {problem.causal for problem in drawn} == {False, True}


def test_steps_and_neighbours_lead_to_the_smallest_problem():
    def fails(problem: ToyProblem) -> bool:
        return problem.columns > 33 and problem.heads > 1

    def smaller(problem: ToyProblem) -> list[ToyProblem]:
        steps = [step for step in SPACE.smaller(problem) if step.flops <= problem.flops and step != problem]
        return sorted(steps, key=lambda step: (step.flops, SPACE.oddness(step)))

    found = descend(toy(4, 16, 300, causal=True), smaller, fails)
    assert found.minimal
    assert found.best == toy(1, 2, 34)
    passing = {near.quantity: near.new for near in SPACE.nearby(found.best) if not fails(near.problem)}
    assert set(passing) == {"columns", "heads"}


def test_properties_are_those_of_any_problem_and_its_own():
    said = {name: one.of(toy(2, 4, 8, causal=True)) for name, one in SPACE.properties.items() if name != "ndim"}
    assert said == {"dtypes": "f32", "groups": 2, "heads": 4, "columns": 8, "causal": True}
    assert SPACE.operands(toy(1, 1, 1)) == ("x",)


def test_problems_that_are_not_to_be_varied_have_no_factors():
    class Fixed(type(TOY)):  # type: ignore[misc]
        name = "fixed"
        problem_type = None

    space = Fixed().space
    assert space.quantities == space.factors == ()
    assert set(space.properties) == {"ndim", "dtypes"}
    assert space.columns == {}
