"""What is loaded runs alone: rows, tables that load, and what a kernel from elsewhere is not held to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel import PythonKernel
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import families
from bitgate.suite.planning import Setting, check_setting, for_table, plan_rows
from bitgate.suite.table import load_set, loads, set_names
from bitgate.verify.planned import PlannedCase

EXAMPLE = Path(__file__).parents[2] / "examples" / "pointwise" / "declaration.py"
SUITE = Path(__file__).parents[2] / "suites" / "conv_bwd_data"
ROW = """
[[case]]
name = "r"
why = "w"
case = "bwd_data_f16_nhwgc_n1k8c8_y3x3_h8x8"
"""


@pytest.fixture
def setting(family: KernelFamily) -> Setting:
    """``toy`` is loaded; ``ours`` is there as well and takes the same problems."""
    return Setting("host", "host", {"ours": replace(family, name="ours"), "toy": family}, loaded=frozenset({"toy"}))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "cases.toml"


def plan(table: Path, setting: Setting, text: str) -> list[PlannedCase]:
    table.write_text(text)
    return plan_rows(load_set(table), setting, suite="s")


def test_only_what_is_loaded_runs(table: Path, setting: Setting) -> None:
    assert {test.key.kernel for test in plan(table, setting, ROW)} == {"toy"}


def test_the_glob_decides_over_all(table: Path, setting: Setting) -> None:
    assert {test.key.kernel for test in plan(table, replace(setting, kernel="*"), ROW)} == {"ours", "toy"}
    assert {test.key.kernel for test in plan(table, replace(setting, kernel="ours*"), ROW)} == {"ours"}


def test_an_owners_row_that_nothing_loaded_takes_is_red(table: Path, setting: Setting) -> None:
    (test,) = plan(table, setting, ROW.replace("f16", "f64"))
    assert "toy: dtypes: f64 is not among what toy.v8 declares (f16, f32)" in test.no_kernel


def test_a_row_for_other_kernels_is_not_for_what_is_loaded(table: Path, setting: Setting) -> None:
    assert plan(table, setting, ROW + "kernels = 'ours*'") == []


def test_a_row_with_options_that_it_lacks_is_not_for_it(table: Path, setting: Setting) -> None:
    """``cu_count`` is an option of bitgate's own families: no mistake of the loaded one."""
    own = setting.families["ours"]
    other = replace(own, options=(*own.options, replace(own.options[0], name="cu_count", values=("228",))))
    setting = replace(setting, families={**setting.families, "ours": other})
    (nobody,) = plan(table, setting, ROW + "options = { cu_count = 228 }")
    assert nobody.no_kernel.endswith("toy has no such option: cu_count")
    (test, *_) = plan(table, setting, ROW + "options = { gate = 'off' }")
    assert test.key.options == (("gate", "off"),)


def test_a_harness_refusal_is_no_evidence_for_an_interface_row(table: Path, setting: Setting) -> None:
    (test,) = plan(table, setting, ROW.replace("f16", "f64") + "expect = { refused = 'dtypes' }")
    assert test.no_kernel, "no library would be asked: the row would be green whatever it does"


@pytest.mark.parametrize("place", ["{load}\n", "[defaults]\n{load}\n"])
def test_a_table_names_its_declarations(table: Path, place: str) -> None:
    row = ROW.replace("bwd_data_f16", "bwd_data_f32").replace("y3x3", "y1x1")
    table.write_text(place.format(load=f"load = ['{EXAMPLE}']") + row)
    assert loads(table) == (EXAMPLE,)
    assert set_names(table) == ("case",)
    setting = for_table(Setting("host", "host", families()), table)
    (test,) = plan_rows(load_set(table), setting, suite="s")
    assert test.key.kernel == "pointwise"


def test_declarations_are_named_relative_to_the_table(table: Path) -> None:
    (table.parent / "mine").mkdir()
    (table.parent / "mine" / "declaration.py").write_text("")
    table.write_text("load = 'mine'\n" + ROW)
    assert loads(table) == (table.parent / "mine",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("load = 7\n", "load: give a list of declarations"),
        ("load = []\n", "load: give a list of declarations"),
        ("load = ['']\n", "load: give a list of declarations"),
        ("load = ['nowhere.py']\n", "nowhere.py does not exist; declarations are named relative to the table"),
    ],
)
def test_a_load_that_cannot_be_is_refused(table: Path, text: str, message: str) -> None:
    table.write_text(text + ROW)
    with pytest.raises(UsageError, match=message):
        load_set(table)


def test_a_table_that_loads_and_then_names_others_is_refused(table: Path) -> None:
    table.write_text(f"load = ['{EXAMPLE}']\n{ROW}kernels = 'grouped_bwd_data*'\n")
    setting = for_table(Setting("host", "host", families()), table)
    with pytest.raises(UsageError, match="kernels: names none of what the table loads: pointwise"):
        plan_rows(load_set(table), setting, suite="s")


def test_two_families_of_one_name_are_refused(table: Path, family: KernelFamily) -> None:
    table.write_text(f"load = ['{EXAMPLE}']\n{ROW}")
    with pytest.raises(UsageError, match="another kernel family 'pointwise' is loaded already"):
        for_table(Setting("host", "host", {"pointwise": replace(family, name="pointwise")}), table)


def test_a_forgotten_load_is_hinted_at(table: Path, setting: Setting) -> None:
    hint = "a kernel of yours is known once it is loaded: load in bitgate.toml, --load FILE, or BITGATE_LOAD"
    with pytest.raises(UsageError, match=f"no kernel is called 'mine\\*'; {hint}$"):
        check_setting(replace(setting, kernel="mine*"))
    with pytest.raises(UsageError, match=f"kernels: no kernel is called 'mine'; {hint}$"):
        plan(table, setting, ROW + "kernels = 'mine'")


def test_zero_result_is_true_or_false(table: Path, setting: Setting) -> None:
    assert all(test.zero_result for test in plan(table, setting, ROW + "zero_result = true"))
    assert not any(test.zero_result for test in plan(table, setting, ROW))
    with pytest.raises(UsageError, match="zero_result: 1 is neither true nor false"):
        plan(table, setting, ROW + "zero_result = 1")


def test_suites_order_no_threads_of_python(setting: Setting) -> None:
    """The host runtime runs none of them: by schedules, a row of bitgate's own is the same case again."""
    rows = [row for row in load_set(SUITE / "cases.toml") if not row.kernels]
    toy = setting.families["toy"]
    python = replace(setting, families={"toy": replace(toy, sources=(), opens=PythonKernel(print))})
    orders = [{test.schedule for test in plan_rows(rows, one, suite="s")} for one in (setting, python)]
    assert orders == [{"forward", "reverse", "random:7"}, {"forward"}]
