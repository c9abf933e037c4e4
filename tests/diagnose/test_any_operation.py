"""An operation that states nothing has its wrong results diagnosed all the same: by the rules of any operation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from bitgate.model import DTYPES, DtypeSet, Operation, Tensor
from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Role
from bitgate.results.record import Diagnosis
from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.poison import poison_bits


class Softmax(Operation):
    """As little as an operation can be."""

    name = "softmax"

    def parse(self, text: str, words: list[str]) -> Any:
        return Rows(int(words[0]), int(words[1]))

    def spell(self, problem: Any) -> str:
        return f"softmax_{problem.rows}_{problem.columns}"

    def human(self, problem: Any) -> str:
        return f"softmax of {problem.rows} rows"


class WordySoftmax(Softmax):
    """The same with one more rule."""

    @cached_property
    def diagnostics(self) -> Diagnostics:
        diagnostics = Diagnostics()
        diagnostics.rules = (one_row,)
        return diagnostics


def one_row(scene: Scene[Any]) -> Finding | None:
    (rows,) = scene.wrong_along(0).nonzero()
    return Finding("other", Role.PLACE, 0.9, f"only in row {rows[0]}", along="r") if len(rows) == 1 else None


@dataclass(frozen=True)
class Rows:
    rows: int
    columns: int
    operation: Operation = Softmax()  # noqa: RUF009
    dtypes = DtypeSet.parse("f32")
    layout, ndim, result, outputs, result_letters, in_place, flops, bytes = "", 0, "y", ("y",), "rc", (), 0, 0

    @property
    def tensors(self) -> dict[str, Tensor]:
        lengths, strides = (self.rows, self.columns), (self.columns, 1)
        return {name: Tensor(name, DTYPES["f32"], "rc", lengths, strides) for name in ("x", "y")}


def of_rows(rows: int, columns: int) -> Any:
    """The problem, which has less than the protocol asks for."""
    return Rows(rows, columns)


def diagnosis_of(problem: Any, result: np.ndarray, right: np.ndarray) -> Diagnosis:
    return diagnose(Scene.thinned(problem, result, right, poison=poison_bits(DTYPES["f32"])))


@pytest.fixture
def right() -> np.ndarray:
    return np.random.default_rng(0).random((5, 40), np.float32)


def test_a_tensor_is_named_by_role_and_a_box_by_its_letters(right: np.ndarray) -> None:
    wrong = right.copy()
    wrong[3, 7:9] = 0
    diagnosis = diagnosis_of(of_rows(5, 40), wrong, right)
    assert diagnosis.kinds == ("zero",)
    assert diagnosis.sentence == "2 of 200 cells of y are wrong, within r 3, c 7 to 8; they are zero"


def test_neighbours_are_sought_along_every_axis(right: np.ndarray) -> None:
    for axis, letter in enumerate("rc"):
        diagnosis = diagnosis_of(of_rows(5, 40), np.roll(right, 1, axis), right)
        assert diagnosis.kinds == ("shifted",)
        assert f"shifted by 1 along {letter}" in diagnosis.sentence


def test_of_a_large_result_some_columns_are_looked_at(monkeypatch: pytest.MonkeyPatch, right: np.ndarray) -> None:
    monkeypatch.setattr("bitgate.verify.diagnose.scene.CELLS", 100)
    wrong = right.copy()
    wrong[2] += 1
    scene = Scene.thinned(of_rows(5, 40), wrong, right, poison=0)
    assert scene.channels is not None
    assert scene.channels[-1] == 39
    assert scene.true_cell((2, len(scene.channels) - 1)) == (2, 39)
    assert "(of " in diagnose(scene).sentence


def test_the_only_wrong_cell_of_a_large_result_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitgate.verify.diagnose.scene.CELLS", 500)
    right = np.random.default_rng(0).random((5, 400), np.float32)
    for column in range(0, 400, 13):
        wrong = right.copy()
        wrong[2, column] = 0
        diagnosis = diagnosis_of(of_rows(5, 400), wrong, right)
        assert diagnosis.sentence.startswith("1 of ")
        assert f"within r 2, c {column};" in diagnosis.sentence, "by its place in the whole result"


def test_the_one_cell_where_two_large_runs_differ_is_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitgate.verify.diagnose.scene.CELLS", 500)
    right = np.random.default_rng(0).random((5, 400), np.float32)
    other = right.copy()
    other[1, 211] = 0
    scene = Scene.thinned(of_rows(5, 400), right, right, poison=0, other_run=other)
    assert diagnose(scene).kinds == ("race",)


def test_wrong_cells_everywhere_bring_no_more_columns(monkeypatch: pytest.MonkeyPatch, right: np.ndarray) -> None:
    monkeypatch.setattr("bitgate.verify.diagnose.scene.CELLS", 100)
    some, every = right.copy(), right + 1
    some[0, ::2] += 1
    looked_at = [Scene.thinned(of_rows(5, 40), wrong, right, poison=0).channels for wrong in (some, every)]
    assert looked_at[0] == looked_at[1]


def test_samples_of_very_many_wrong_cells_are_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.zeros((50, 400), np.float32)
    scene = Scene(of_rows(50, 400), right + 1, right, poison=0)
    every = list(scene.sample(20))
    monkeypatch.setattr("bitgate.verify.diagnose.scene.SPREAD", 100)
    assert list(Scene(of_rows(50, 400), right + 1, right, poison=0).sample(20)) == every
    assert len(every) == 20


def test_a_rule_of_its_own_is_asked_beside_them(right: np.ndarray) -> None:
    wrong = right.copy()
    wrong[3] = 0
    assert diagnosis_of(Rows(5, 40, WordySoftmax()), wrong, right).sentence == (
        "40 of 200 cells of y are wrong, only in row 3; they are zero"
    )


def test_a_trace_a_picture_and_a_launch_have_nothing_to_add() -> None:
    diagnostics, problem = Softmax().diagnostics, of_rows(5, 40)
    assert diagnostics.tensor_lines(problem)[0] == "x: dim 2, lengths {5, 40}, strides {40, 1}"
    assert (diagnostics.picture(problem), diagnostics.derived(problem), diagnostics.launch_errors(problem, None)) == (
        "",
        (),
        [],
    )
    assert diagnostics.companions(problem) == (problem,)
    assert diagnostics.measurement(problem, "fast", None, None) is None
