"""Generated tables: full coverage read back from the file, reproducible; and a removed combination is found again."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.model import operation_called
from bitgate.model.space.table import NamedProblem, TableRequest
from bitgate.ops.convolution import Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.tools.coverage.assume import Assumptions, all_columns
from bitgate.tools.coverage.combine import Combinations
from bitgate.tools.coverage.generate import ClosingRows, close, write_rows
from bitgate.tools.coverage.readers import read
from bitgate.tools.coverage.survey import Scope, Survey, surveys


@lru_cache
def space() -> Scope:
    return Scope(operation_called(Pass.BWD_DATA.value), all_columns(), Assumptions())


@lru_cache
def smoke() -> ClosingRows:
    return close(Survey(space(), [], 2), until=1.0, seed=1)


def test_a_smoke_table_covers_every_pair_of_run_classes(tmp_path: Path) -> None:
    write_rows(tmp_path / "smoke.toml", smoke().rows, "nothing", 2, 1)
    (found,) = surveys(read(tmp_path / "smoke.toml", TableRequest()), Assumptions(), 2)
    assert found.levels.counts() == (smoke().total, smoke().total)
    assert len(smoke().rows) < 100
    text = (tmp_path / "smoke.toml").read_text()
    assert text.count("why = ") == len(smoke().rows)
    assert "first to cover" in text


def test_rows_are_reproducible_by_seed_and_differ_between_seeds() -> None:
    survey = Survey(space(), [], 2)
    one, again, other = (close(survey, until=0.7, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.rows != other.rows
    assert 0.7 * one.total <= one.covered < one.total


def test_rows_are_small() -> None:
    work = sorted(row.problem.flops // 2 for row in smoke().rows)
    assert work[len(work) // 2] < 100_000
    assert work[-1] < 1_000_000_000


def test_rows_for_a_table_close_only_its_holes() -> None:
    rows = [NamedProblem(f"{i}", row.problem) for i, row in enumerate(smoke().rows[:20])]
    rest = close(Survey(space(), rows, 2), until=1.0, seed=1)
    assert rest.covered == rest.total
    assert len(rest.rows) < len(smoke().rows)


def test_a_removed_combination_is_in_the_top_ten() -> None:
    """Ten tables from which a random pair of classes was removed, with all rows that have it. Factors of which a
    table without giant tensors has one class only (split_n, bytes) make no pair."""
    factors = space().factors
    varied = [i for i, factor in enumerate(factors) if (~factor.plan_only).sum() > 1]
    chosen = np.random.default_rng(11).choice(30_000, 250, replace=False)
    problems: list[Any] = [row.problem for row in smoke().rows] + [space().pool.problem(int(row)) for row in chosen]
    rows = [NamedProblem(str(i), problem) for i, problem in enumerate(problems)]
    codes = space().classify(Batch.from_problems(problems))
    pairs = Combinations(tuple(len(factors[i].classes) for i in varied), 2)
    there = np.flatnonzero(pairs.present(codes[:, varied]))
    found = 0
    for seed in range(10):
        number = int(np.random.default_rng(seed).choice(there))
        removed = [(varied[i], cls) for i, cls in pairs.decode(number)]
        kept = ~np.logical_and.reduce([codes[:, f] == cls for f, cls in removed])
        survey = Survey(space(), [row for row, keep in zip(rows, kept, strict=True) if keep], 2)
        names = {factors[f].name: factors[f].classes[cls].name for f, cls in removed}
        found += any(names.items() <= survey.factors_of(hole).items() for hole, _ in survey.order[:10])
    assert found >= 9


def test_closing_rows_exercise_the_strides_and_dilations_named() -> None:
    problems: list[Any] = [row.problem for row in smoke().rows]
    survey = Survey(space(), [], 2)
    problems += [ranked.problem for ranked in survey.ranked(exact=40)]
    assert any(p.strided for p in problems)
    assert any(max(p.dilation) > 1 for p in problems)
    for problem in problems:
        for output, stride in zip(problem.output, problem.stride, strict=True):
            assert output > 1 or stride == 1, problem
        for taps, dilation in zip(problem.filter, problem.dilation, strict=True):
            assert taps > 1 or dilation == 1, problem
