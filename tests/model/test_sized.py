"""An operation of sizes and tensors alone: its case ids, problems, coverage, shrinking and data, and the same of the
stand-in by which processes know it that no owner's code may enter."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel import user_operation
from bitgate.kernel.python_files import load_operations
from bitgate.model import F32_ACCUMULATION, ProblemError, case_id, human, parse_case_id, registry
from bitgate.model.space.details import Cut
from bitgate.numerics.certificate import certify
from bitgate.numerics.digest import digest
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import exact_reference

FILE = Path(__file__).with_name("sized_operations.py")
BIASED = (("f16_bf16_f32", "_biased"), ("f16_f32", ""))
GAPPED = "toy_attention_f16_b2h8kv1s8_left_gapks8_gapyh16"
CASE = "toy_attention_f16_b2h8kv2s512_right_causal"


@pytest.fixture(params=[user_operation.add_here, user_operation.add_owned], ids=["here", "in a child"])
def known(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's operations, as a process for kernels knows them, and as any other does."""
    monkeypatch.setattr(registry, "_added", {})
    request.param([FILE])


@pytest.mark.usefixtures("known")
def test_a_problem_that_no_memory_holds_can_be_spoken_of() -> None:
    """Its sums have one term; what it needs is reported before anything is made of it."""
    problem = parse_case_id("toy_outer_i8_n2147483647")
    assert problem.operation.numerics.terms(problem) == 1


@pytest.mark.usefixtures("known")
class TestCaseIds:
    @pytest.mark.parametrize(
        "case",
        [
            CASE,
            "toy_attention_f16_b2h8kv2s512_left_gap",
            "toy_attention_f32_f16_b1h1kv1s1_left",
            "toy_outer_i8_n3",
            GAPPED,
        ],
    )
    def test_they_round_trip(self, case: str) -> None:
        assert case_id(parse_case_id(case)) == case

    def test_what_has_a_default_may_be_left_out(self) -> None:
        assert case_id(parse_case_id("toy_attention_f16_b2h8")) == "toy_attention_f16_b2h8kv1s8_left"

    def test_types_that_agree_are_named_once(self) -> None:
        assert case_id(parse_case_id("toy_attention_f16_f16_b2h8")) == "toy_attention_f16_b2h8kv1s8_left"

    def test_people_read_them_too(self) -> None:
        assert human(parse_case_id(f"{CASE}_gap")) == "toy_attention f16 b=2 h=8 kv=2 s=512 right causal strided"
        assert human(parse_case_id(GAPPED)) == "toy_attention f16 b=2 h=8 kv=1 s=8 left gap k s+8 gap y h+16"

    @pytest.mark.parametrize(
        ("case", "said"),
        [
            ("toy_attention_b2h8", "after toy_attention stand types"),
            ("toy_attention_f16_h8b2", "expected b..h..kv..s.. after the types, found 'h8b2'"),
            (
                "toy_attention_f16_b2h8_casual",
                "'casual' is not a part of a case id (left, right, causal, gap, gap<",
            ),
            ("toy_attention_f16_b2h8_left_right", "'right' is not a part of a case id"),
            ("toy_attention_f16_b0h8", "b = 0 is outside 1.."),
            ("toy_attention_f16_b1h8kv3", "h = 8 is no multiple of kv = 3"),
            ("toy_attention_f16_b1h8_gapyt8", "gapyt8: tensor y has no axis 't': b h s are its axes"),
            ("toy_attention_f16_f16_f32_b1h8", "types f16_f16_f32: give one, or 2 for k, y"),
        ],
    )
    def test_an_error_names_the_part_that_is_wrong(self, case: str, said: str) -> None:
        with pytest.raises(ProblemError, match=re.escape(said)):
            parse_case_id(case)


@pytest.mark.usefixtures("known")
class TestProblems:
    def test_tensors_are_packed_and_typed_in_order(self) -> None:
        tensors = parse_case_id("toy_attention_f32_f16_b2h4kv1s8").tensors
        assert {role: (tensor.dtype.name, tensor.lengths) for role, tensor in tensors.items()} == {
            "k": ("f32", (2, 4, 8)),
            "mask": ("i8", (8,)),
            "y": ("f16", (2, 4, 8)),
        }
        assert tensors["k"].strides == (32, 8, 1)

    def test_a_gap_follows_each_row(self) -> None:
        assert parse_case_id("toy_attention_f32_b2h4kv1s8_gap").tensors["y"].strides == (64, 16, 1)

    def test_a_gap_may_be_that_of_one_axis_of_one_tensor(self) -> None:
        """Axes count as they lie in memory: of a transposed tensor the first one has rows, too."""
        tensors = parse_case_id(GAPPED).tensors
        assert (tensors["k"].strides, tensors["y"].strides) == ((8 * 16, 16, 1), (8 * 8 + 16, 8, 1))
        assert parse_case_id("toy_transposed_f32_r3c5_gapxr8").tensors["x"].strides == (1, 11)
        with pytest.raises(ProblemError, match="c is the outermost axis of x"):
            parse_case_id("toy_transposed_f32_r3c5_gapxc8")

    def test_axes_may_lie_in_another_order_in_memory(self) -> None:
        """The gap follows each row of the axis that is the fastest there."""
        transposed = parse_case_id("toy_transposed_f32_r3c5_gap")
        assert {role: tensor.strides for role, tensor in transposed.tensors.items()} == {"x": (1, 11), "y": (13, 1)}
        assert transposed.tensors["x"].lengths == transposed.tensors["y"].lengths == (3, 5)

    def test_an_optional_tensor_is_there_or_not(self) -> None:
        present, absent = (parse_case_id(f"toy_biased_{types}_r3c5{flag}") for types, flag in BIASED)
        assert list(present.tensors) == ["x", "b", "y"]
        assert list(absent.tensors) == ["x", "y"]
        assert (present.attributes, absent.attributes) == ({"biased": 1}, {})
        space = present.operation.space
        assert space.typed(absent, space.types("f16_f32_bf16")) is absent
        assert str(space.typed(present, space.types("f16_f32_bf16")).dtypes) == "f16_f32_bf16"

    def test_kernels_are_told_what_no_length_tells(self) -> None:
        assert dict(parse_case_id(CASE).attributes) == {"kv": 2, "causal": 1, "side": "right"}
        assert dict(parse_case_id("toy_outer_f32_n4").attributes) == {}

    def test_they_travel_between_processes(self) -> None:
        problem = parse_case_id(CASE)
        assert pickle.loads(pickle.dumps(problem)) == problem


@pytest.mark.usefixtures("known")
class TestSpace:
    def test_each_size_is_a_factor(self) -> None:
        names = [factor.name for factor in registry.operation_called("toy_attention").space.factors]
        assert names == ["dtypes", "b", "h", "kv", "s", "causal", "side", "gap"]

    def test_tests_and_ledgers_name_the_sizes(self) -> None:
        said = registry.operation_called("toy_attention").space.properties
        problem = parse_case_id(CASE)
        assert {name: said[name].of(problem) for name in ("s", "causal", "side", "gap", "dtypes")} == {
            "s": 512,
            "causal": True,
            "side": "right",
            "gap": False,
            "dtypes": "f16",
        }
        assert said["side"].names == ("left", "right")

    def test_its_details_are_of_sizes_and_gaps(self) -> None:
        problem = parse_case_id(GAPPED)
        details = problem.operation.space.details(problem, Cut())
        assert (details["h"], details["h_mod"], details["side"]) == ("8-31", "8n", "left")
        assert (details["gap_k"], details["gap_y"], details["gaps"]) == ("s", "h", "several")

    def test_only_possible_problems_are_drawn(self) -> None:
        batch = registry.operation_called("toy_attention").space.candidates((1,), 40, (), "tiny")
        drawn = [batch.problem(int(row)) for row in np.flatnonzero(batch.possible)]
        assert drawn
        assert all(problem.sizes.h % problem.sizes.kv == 0 for problem in drawn)
        assert not batch.possible.all()

    def test_shrinking_keeps_an_optional_tensor_of_another_type(self) -> None:
        mixed, plain = (parse_case_id(f"toy_biased_{types}_r2c3_biased") for types in ("f16_bf16_f32", "f16"))
        assert "toy_biased_f16_r2c3" in {case_id(one) for one in plain.operation.space.smaller(plain)}
        assert all(one.sizes.biased for one in mixed.operation.space.smaller(mixed))

    def test_shrinking_goes_down_by_every_size(self) -> None:
        problem = parse_case_id("toy_attention_f16_b2h2kv1s2_right_causal_gap")
        smaller = {case_id(one) for one in problem.operation.space.smaller(problem)}
        assert "toy_attention_f16_b1h2kv1s2_right_causal_gap" in smaller
        assert "toy_attention_f16_b2h2kv1s2_right_gap" in smaller
        assert "toy_attention_f16_b2h2kv1s2_left_causal_gap" in smaller
        assert "toy_attention_f16_b2h2kv1s2_right_causal" in smaller


@pytest.mark.usefixtures("known")
class TestData:
    @pytest.mark.parametrize(
        ("case", "fill", "expected"),
        [
            ("toy_outer_f32_n3", "exact", lambda x, w: np.outer(x, w)),
            ("toy_diagonal_f32_n5", "exact", np.diagonal),
            ("toy_attention_f16_b1h2s8", "flat", lambda k, mask: np.full((1, 2, 8), 4.0)),
        ],
    )
    def test_the_reference_is_the_stated_maths(self, case: str, fill: str, expected) -> None:
        problem = parse_case_id(case)
        plan = plan_fill(problem, F32_ACCUMULATION, fill, seed=3)
        inputs = make_inputs(problem, plan)
        arrays = [host.logical.astype(np.float64) for host in inputs.values()]
        assert certify(problem, plan, inputs, F32_ACCUMULATION).holds
        np.testing.assert_array_equal(exact_reference(problem, inputs).logical, expected(*arrays))

    def test_a_stated_order_of_summation_is_kept(self) -> None:
        problem = parse_case_id("toy_biased_f32_r2c400_biased")
        inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "decimal"))
        expected = inputs["b"].logical.astype(np.float32).copy()
        for column in inputs["x"].logical.T:
            expected += column
        assert problem.operation.numerics.states_order
        np.testing.assert_array_equal(ordered_reference(problem, inputs).logical, expected)

    def test_a_stated_bound_is_asked_for(self) -> None:
        problem = parse_case_id("toy_attention_f16_b1h2s8")
        found = problem.operation.numerics.bound(problem, {"k": np.ones((1, 2, 8))}, F32_ACCUMULATION)
        assert found
        assert set(np.unique(found["y"])) == {2.0**-24}


def test_digests_do_not_depend_on_where_the_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for add in (user_operation.add_here, user_operation.add_owned):
        monkeypatch.setattr(registry, "_added", {})
        add([FILE])
        for case, fill in (("toy_outer_f32_n9", "exact"), ("toy_attention_f16_b1h2s8", "flat")):
            problem = parse_case_id(case)
            found.append(
                digest(exact_reference(problem, make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))))
            )
    assert found[:2] == found[2:]


HEADER = """
from dataclasses import dataclass
from bitgate.model.sized import Sized, read, written
@dataclass(frozen=True)
class Sizes:
    n: int
class Mine(Sized):
    name, sizes, is_product = "mine", Sizes, True
    def tensors(self, sizes):
        yield read("x", n=sizes.n)
        yield written("y", n=sizes.n)
OPERATIONS = (Mine(),)
"""
TENSORS = "\n    def tensors"
FILL = "\n    from bitgate.model import Fill\n    fills = (Fill"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("OPERATIONS = (Mine(),)", "", "defines no OPERATIONS"),
        ('"mine"', '"My op"', "Mine: name: a-z, 0-9 and _"),
        ("n: int", "n: float", "sizes: n: <class 'float'> is neither int, bool nor an Enum"),
        ("n: int", "f16: int", "sizes: 'f16': a name is of letters a-z"),
        ("n: int", "n: bool", "sizes: state an int at least"),
        ("n: int", "gap: int", "'gap' stands for something else already"),
        ("frozen=True", "frozen=False", "sizes: state a frozen dataclass"),
        ("Sizes, True", "Sizes, False", "mine: state is_product, a form, or fills"),
        (TENSORS, f"{FILL}('mine', 'why'),){TENSORS}", "mine: fill 'mine': state make"),
        (TENSORS, f"{FILL}('mine', '', print),){TENSORS}", "mine: fill 'mine': state the reason"),
        (TENSORS, f"{FILL}('My', 'why', print),){TENSORS}", "mine: fill 'My': a name is of a-z"),
        ("OPERATIONS", "1 / 0\nOPERATIONS", "ZeroDivisionError"),
        ("OPERATIONS", "import sys; sys.exit(3)\nOPERATIONS", "SystemExit: 3"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_what_to_write(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "operation.py"
    file.write_text(HEADER.replace(old, new))
    with pytest.raises(UsageError, match=re.escape(f"{file}: ")) as error:
        list(load_operations(file))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('yield read("x"', 'assert sizes.n < 3; yield read("x"', "tensors: line 10: AssertionError"),
        ("    def tensors", "    def check(self, sizes): import os; os._exit(7)\n    def tensors", "exit code 7"),
        ('        yield written("y", n=sizes.n)', "", "tensors: state one that is written"),
        ('written("y", n=sizes.n)', 'written("y", n=sizes.n + 1)', "axis n: 4 in y, 3 before it: a product counts"),
        ('written("y", n=sizes.n)', 'written("y", n=2); yield written("z", n=2)', "axis n: 2 in y, 3 before it"),
        (
            'written("y", n=sizes.n)',
            'written("y"); yield written("z")',
            "a product is one result: nothing says what z",
        ),
        ('read("x", n', 'read("x", order="m", n', "tensor x: order 'm': give each of n once"),
    ],
)
def test_code_that_fails_fails_in_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    monkeypatch.setattr(registry, "_added", {})
    file = tmp_path / "operation.py"
    file.write_text(HEADER.replace(old, new))
    user_operation.add_owned([file])
    with pytest.raises(UsageError, match=re.escape(str(file))) as error:
        parse_case_id("mine_f32_n3")
    assert said in str(error.value)


def test_a_name_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_added", {})
    file = tmp_path / "operation.py"
    file.write_text(HEADER.replace('"mine"', '"gemm"'))
    with pytest.raises(UsageError, match="bitgate itself has an operation 'gemm' already; rename yours"):
        user_operation.add_owned([file])
