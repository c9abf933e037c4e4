"""Planning: which instances run a row, in which tier, under which id, in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.suite.durations import Durations
from bitgate.suite.planning import Setting, check_setting, keywords_of, line_of, plan_rows
from bitgate.suite.table import load_set
from bitgate.verify.planned import PlannedCase

Planner = Callable[..., list[PlannedCase]]

ROW = """[[case]]
name = "r"
why = "w"
pass = "bwd_data"
dtypes = ["f16", "f32"]
shape = ["n1k8c8_y3x3_h8x8", "n1k12c8_y3x3_h9x9_s2x2"]
"""


@pytest.fixture
def setting(family: KernelFamily) -> Setting:
    return Setting(target="host", platform="host", families={"toy": family})


@pytest.fixture
def plan(tmp_path: Path, setting: Setting) -> Planner:
    def _plan(text: str, **changes: object) -> list[PlannedCase]:
        path = tmp_path / "cases.toml"
        path.write_text(text)
        return plan_rows(load_set(path), replace(setting, **changes), suite="toy_suite")  # type: ignore[arg-type]

    return _plan


def instances(tests: list[PlannedCase]) -> Counter[str]:
    return Counter(test.key.instance for test in tests)


def test_every_instance_that_supports_a_case_runs_it(plan: Planner) -> None:
    # K=8 suits all vectors, K=12 those of 4 and 1; the last instance takes f16 only.
    assert instances(plan(ROW)) == {"v8": 2, "v4": 4, "v1": 2}


def test_one_draws_an_instance_a_case_and_all_get_their_turn(plan: Planner) -> None:
    row = ROW.replace('["n1k8c8_y3x3_h8x8", "n1k12c8_y3x3_h9x9_s2x2"]', '"n1k8c8_y3x3_h8x8"') + 'instances = "one"\n'
    tests = plan(row + f"seeds = {list(range(2))}\n")
    assert len(tests) == 4
    many = plan(
        "".join(row.replace("n1k8c8", f"n{n}k8c8").replace('name = "r"', f'name = "{n}"') for n in range(1, 25))
    )
    assert len(many) == 48
    assert set(instances(many)) == {"v8", "v4", "v1"}


def test_ids_are_safe_and_unique(plan: Planner) -> None:
    tests = plan(ROW + 'schedules = ["reverse", "random:3"]\nseeds = [0, 5]\noptions = { gate = ["on", "off"] }\n')
    ids = [test.id for test in tests]
    assert len(set(ids)) == len(ids) == 64
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_") for name in ids)
    assert "bwd_data_f16_nhwgc_g1n1k8c8_y3x3_h8x8_s1x1_d1x1_p0x0_q0x0__toy_v8_gate_off__exact_random_3_seed5" in ids


def test_settings_of_the_run_change_the_case_but_not_its_id(plan: Planner) -> None:
    plain, gated = plan(ROW), plan(ROW, options=(("gate", "off"),), seed=9, schedule="reverse")
    assert [test.id for test in plain] == [test.id for test in gated]
    assert {test.key.options for test in gated} == {(("gate", "off"),)}
    assert {(test.seed, test.schedule) for test in gated} == {(9, "reverse")}


def test_schedules_are_the_hosts_only(plan: Planner) -> None:
    row = ROW + 'schedules = ["reverse", "random:3"]\n'
    assert {test.schedule for test in plan(row)} == {"reverse", "random:3"}
    on_gpu = plan(row, platform="amd", target="gfx942")
    assert len(on_gpu) == len(plan(ROW, platform="amd", target="gfx942"))


def test_a_row_that_two_sets_plan_is_refused(plan: Planner) -> None:
    with pytest.raises(UsageError, match=r"cases.toml:8: \[\[case\]\] 's': plans .*, and so does .*:1: .*'r'"):
        plan(ROW + "\n" + ROW.replace('name = "r"', 'name = "s"'))


def test_smoke_keeps_a_part_and_regression_all(plan: Planner) -> None:
    row = ROW + 'tier = "smoke"\nsmoke = { dtypes = "f16", instances = "one" }\n'
    everything, smoke = plan(row), plan(row, tier="smoke")
    assert len(everything) == 8
    assert len(smoke) == 2
    assert [test.id for test in smoke] == [test.id for test in everything if test.tier == "smoke"]
    assert {str(test.problem.dtypes) for test in smoke} == {"f16"}


def test_a_tier_can_depend_on_the_kind_of_target(plan: Planner) -> None:
    row = ROW + 'tier = { host = "regression", gpu = "smoke" }\n'
    assert not plan(row, tier="smoke")
    assert len(plan(row, tier="smoke", platform="amd", target="gfx942")) == 8


def test_a_refusal_is_expected_of_kernels_that_predict_it(plan: Planner) -> None:
    tests = plan(ROW.replace('"n1k8c8_y3x3_h8x8", ', "") + "expect = { refused = 'vector' }\n")
    assert instances(tests) == {"v8": 2}
    assert {test.refused for test in tests} == {"vector"}


def test_a_case_that_nobody_runs_is_planned_as_such(plan: Planner) -> None:
    (test,) = plan(ROW.replace('["f16", "f32"]', '"bf16"').replace('"n1k8c8_y3x3_h8x8", ', ""))
    assert test.id.endswith("__no_kernel__exact")
    assert "no kernel instance supports it on host; toy: dtypes: bf16 is not among" in test.no_kernel
    (unrefused, *_) = plan(ROW + "expect = { refused = 'layout' }\n")
    assert "refuses it by clause 'layout'" in unrefused.no_kernel


def test_instances_of_another_wave_size_are_not_planned(plan: Planner, family: KernelFamily) -> None:
    wide = {"toy": replace(family, instances=tuple(replace(i, wave_size=64) for i in family.instances))}
    assert {bool(test.no_kernel) for test in plan(ROW, families=wide)} == {False}
    assert plan(ROW, families=wide, target="gfx1100") == [], "rows of wave-64 instances are not for a wave-32 target"


def test_a_platform_without_the_family_runs_nothing(plan: Planner) -> None:
    assert {bool(test.no_kernel) for test in plan(ROW, platform="nvidia", target="sm_90")} == {True}


def test_a_reference_runs_only_where_a_row_names_it(plan: Planner, family: KernelFamily) -> None:
    reference = {"toy": replace(family, is_reference=True)}
    assert {bool(test.no_kernel) for test in plan(ROW, families=reference)} == {True}
    assert not any(test.no_kernel for test in plan(ROW + 'kernels = "toy*"\n', families=reference))


def test_a_kernel_glob_narrows_and_leaves_no_hole(plan: Planner) -> None:
    assert instances(plan(ROW, kernel="toy.v8")) == {"v8": 2}
    assert instances(plan(ROW + 'instances = "one"\n', kernel="toy.v4")) == {"v4": 4}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "toy.v9"}, r"no kernel is called 'toy.v9'; did you mean 'toy.v\d'"),
        ({"options": (("gat", "on"),)}, r"no selected kernel has an option 'gat'; did you mean 'gate'"),
        ({"options": (("gate", "of"),)}, r"option gate=of: did you mean 'off'"),
    ],
)
def test_a_setting_that_nothing_knows_is_refused(setting: Setting, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_setting(replace(setting, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('kernels = "tyo*"', r"kernels: no kernel is called 'tyo\*'; did you mean 'toy'"),
        ('options = { gates = "on" }', r"options: no kernel of the row has an option 'gates'; did you mean 'gate'"),
        ('options = { gate = "half" }', r"options: gate = 'half': known are on, off"),
    ],
)
def test_a_row_that_names_what_nobody_has_is_refused(plan: Planner, field: str, message: str) -> None:
    with pytest.raises(UsageError, match=rf"'r': {message}"):
        plan(ROW + field + "\n")


def test_keywords_tell_the_derived_factors(plan: Planner) -> None:
    words = {frozenset(keywords_of(test)) for test in plan(ROW)}
    assert any({"g1", "gemms_count_4", "stride_gt_1", "grouped", "toy", "r"} <= found for found in words)
    assert any({"g1", "gemms_count_1", "stride_1", "flat"} <= found for found in words)


def test_recorded_seconds_come_along(plan: Planner) -> None:
    dear = "bwd_data_f32_nhwgc_g1n1k12c8_y3x3_h9x9_s2x2_d1x1_p0x0_q0x0"
    tests = plan(ROW, durations=Durations({f"{dear}__toy_v4__exact": 7.0}))
    assert {test.seconds for test in tests if test.case == dear} == {7.0}
    assert sum(line_of(test).seconds for test in tests) > 7.0


def test_of_a_selection_its_cases_alone_are_planned(plan: Planner) -> None:
    """With all that a case is planned on: what is left out of it is no different from what is left out elsewhere."""
    every = plan(ROW)
    chosen = next(test for test in every if test.key.instance == "v1")
    some = plan(ROW, selected=frozenset([chosen.id]), only_selected=True)
    assert some == [test for test in every if test.case == chosen.case]
    assert 0 < len(some) < len(every)
    assert plan(ROW, selected=frozenset(["another__v1__exact"]), only_selected=True) == []


def test_columns_next_to_a_selection_are_still_checked(plan: Planner) -> None:
    impossible = ROW.replace("n1k12c8_y3x3_h9x9_s2x2", "n1k12c8_y9x9_h3x3")
    with pytest.raises(UsageError, match="no output cell"):
        plan(impossible, selected=frozenset(), only_selected=True)
