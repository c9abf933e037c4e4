"""Operations on the operands are factors of forward, for tables that speak of them; other passes know none."""

import csv
from pathlib import Path

from bitgate.model import OPERAND_ELEMENTWISE, operation_called
from bitgate.model.space.table import TableRequest
from bitgate.ops.convolution import Pass
from bitgate.ops.convolution.space.factors import FACTORS
from bitgate.tools.coverage.assume import Assumptions, all_columns
from bitgate.tools.coverage.generate import close
from bitgate.tools.coverage.readers import read
from bitgate.tools.coverage.survey import Scope, Survey, surveys

OPERANDS = ("in_op", "wei_op")
HEADER = ("N", "K", "C", "filter", "input", "pass")
NAMES = [factor.name for factor in FACTORS[Pass.FWD]]


def table(folder: Path, columns: tuple[str, ...], *rows: tuple[str, ...]) -> Path:
    path = folder / "shapes.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([(*HEADER, *columns), *(("1", "8", "8", "3", "9x9", "fwd", *row) for row in rows)])
    return path


def survey(path: Path, *assume: str) -> Survey:
    (found,) = surveys(read(path, TableRequest()), Assumptions.parse(assume, NAMES), 2)
    return found


def counted(found: Survey) -> set[str]:
    return {factor.name for factor in found.scope.factors} & set(OPERANDS)


def test_a_table_that_never_meets_both_operations_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, OPERANDS, ("pass", "pass"), ("relu", "pass"), ("pass", "scale"), ("scale", "pass"))
    found = survey(path)
    reported = [found.words(hole) for hole, _ in found.order]
    assert counted(found) == set(OPERANDS)
    assert "general path with relu on wei" in reported
    assert "an operation on in with wei scaled" in reported or "an operation on in with an operation on wei" in reported
    assert not [words for words in reported if "relu on in" in words and "path" in words]


def test_operations_that_a_table_lacks_count_only_if_assumed(tmp_path: Path) -> None:
    path = table(tmp_path, (), ())
    assert counted(survey(path)) == set()
    assert counted(survey(path, "in_op=pass,relu")) == {"in_op"}  # each row runs with either


def test_generated_forward_tables_have_operations_on_both_sides() -> None:
    assumptions = Assumptions.parse(["dtypes=f32", "layout=nhwgc"], ())
    rows = close(Survey(Scope(operation_called(Pass.FWD.value), all_columns(), assumptions), [], 2), 1.0, seed=1).rows
    for operand in OPERANDS:
        assert {getattr(row.problem, operand).name for row in rows} == {"pass", *OPERAND_ELEMENTWISE}


def test_only_forward_has_them() -> None:
    for direction, factors in FACTORS.items():
        assert ({factor.name for factor in factors} >= set(OPERANDS)) == (direction is Pass.FWD)
