"""Solved lists: lines that a case table includes as rows, each on the one instance that it names."""

from __future__ import annotations

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel.registry import families
from bitgate.suite.planning import Setting, plan_rows
from bitgate.suite.solved_list import GPU, SolvedCase, read_list, write_list
from bitgate.suite.table import load_set

CASE = "gemm_f32_rcr_b1m8n8k8"
KERNEL = "batched_gemm.f32_rcr_32x32x16_a1b1c1"
LINE = SolvedCase("smoke", CASE, KERNEL, "exact", (), "", "first m 8, n 8")


def rows_of(folder, *cases: SolvedCase):
    write_list(folder / "solved.txt", ["solved from 1"], cases)
    (folder / "cases.toml").write_text('[[solved]]\ninclude = "solved.txt"\n')
    return load_set(folder / "cases.toml", "solved")


def test_a_list_is_read_as_it_was_written(tmp_path):
    cases = {
        LINE,
        SolvedCase("regression", CASE, "reduction.f32_block", "late", (("most_blocks", "3"),), "", "first"),
        SolvedCase("smoke", CASE, KERNEL, "exact", (), "k_vector", "first clause k_vector"),
    }
    write_list(tmp_path / "solved.txt", ["a header"], cases)
    assert set(read_list(tmp_path / "solved.txt")) == cases


def test_a_line_is_a_row_on_its_one_instance(tmp_path):
    (row,) = rows_of(tmp_path, LINE)
    assert (row.axes["case"], row.kernels, row.why) == ((CASE,), (KERNEL,), "first m 8, n 8")
    assert row.origin.place.endswith("solved.txt:2")
    assert row.tier == {"host": "smoke", "gpu": "smoke"}


def test_a_line_for_gpus_is_regression_on_the_host(tmp_path):
    (row,) = rows_of(tmp_path, SolvedCase(GPU, CASE, KERNEL, "exact", (), "", "first wave 32"))
    assert row.tier == {"host": "regression", "gpu": "smoke"}


def test_what_a_line_refuses_is_its_row_s_clause(tmp_path):
    (row,) = rows_of(tmp_path, SolvedCase("smoke", CASE, KERNEL, "exact", (("a", "1"),), "k_vector", "first"))
    assert row.refused == "k_vector"
    assert row.options == {"a": ("1",)}


def test_lines_of_cases_that_are_not_asked_for_are_left_out(tmp_path):
    other = SolvedCase("smoke", "gemm_f32_rcr_b1m8n8k16", KERNEL, "exact", (), "", "first k 16")
    rows_of(tmp_path, LINE, other)
    (row,) = load_set(tmp_path / "cases.toml", "solved", among=frozenset({CASE}))
    assert row.axes["case"] == (CASE,)


def test_a_line_whose_case_has_another_id_is_named(tmp_path):
    """``--select`` finds lines by their text: one that is spelled in another way would be left out unseen."""
    rows = rows_of(tmp_path, SolvedCase("smoke", f"{CASE}_sk1", KERNEL, "exact", (), "", "first"))
    with pytest.raises(UsageError, match="write the list anew"):
        plan_rows(rows, Setting("host", "host", families()), suite="toy")


@pytest.mark.parametrize(
    "text", ["smoke only two", "never a b.c exact  # why", "smoke a bc exact  # why", "smoke a b.c d"]
)
def test_a_line_that_is_none_is_named(tmp_path, text):
    (tmp_path / "solved.txt").write_text(f"# header\n{text}\n")
    with pytest.raises(UsageError, match=r"solved\.txt:2: not like"):
        read_list(tmp_path / "solved.txt")


def test_a_word_that_is_no_option_is_named(tmp_path):
    (tmp_path / "solved.txt").write_text(f"smoke {CASE} {KERNEL} exact nonsense  # why\n")
    with pytest.raises(UsageError, match="'nonsense' is neither NAME=VALUE nor !CLAUSE"):
        read_list(tmp_path / "solved.txt")
