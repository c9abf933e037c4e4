"""A result that another operation, type or rounding gives is diagnosed by its name; what none of them gives is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import convolution

from bitgate.model import DTYPES
from bitgate.model.elementwise import applied
from bitgate.numerics.rounding import rounded
from bitgate.ops.convolution import ConvProblem
from bitgate.results.record import Diagnosis
from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.diagnose.conversions import converted
from bitgate.verify.poison import poison_bits

CASE = "fwd_bf16_nhwgc_g1n2k8c32_y3x3_h8x8_p1x1"
F8 = CASE.replace("bf16", "f8ocp")
I8 = CASE.replace("bf16", "i8")


class Way:
    """A convolution of small integers whose sums need more digits than its type has."""

    def __init__(self, case: str) -> None:
        self.problem: ConvProblem = convolution(case)
        generator = np.random.default_rng(3)
        tensors = self.problem.tensors
        self.operands = {
            role: generator.integers(-8, 9, tensors[role].lengths).astype(tensors[role].dtype.numpy)
            for role in self.problem.operands
        }
        self.dtype = tensors[self.problem.result].dtype

    def sums(self, **other: np.ndarray) -> np.ndarray:
        form = self.problem.operation.numerics.form(self.problem)
        assert form is not None
        return form.apply({role: np.asarray(a, np.float64) for role, a in {**self.operands, **other}.items()})

    def scene(self, result: np.ndarray, factors: dict[str, np.ndarray] | None = None) -> Scene:
        inputs = {**self.operands, **(factors or {})}
        reference = rounded(self.sums(**(factors or {})), self.dtype)
        poison = poison_bits(self.dtype)
        return Scene(self.problem, result, reference, poison, inputs, operands=self.operands)


def of(scene: Scene) -> Diagnosis:
    assert scene.count
    return diagnose(scene)


def test_a_rounding_towards_zero() -> None:
    way = Way(CASE)
    sums = way.sums().astype(np.float32)
    cut = (sums.view(np.uint32) & 0xFFFF0000).view(np.float32).astype(way.dtype.numpy)
    diagnosis = of(way.scene(cut))
    assert diagnosis.kinds == ("rounding",)
    assert diagnosis.sentence.startswith("numbers are cut off towards 0 instead of rounded to nearest even in y; ")


def test_ties_that_are_rounded_up() -> None:
    way = Way(CASE)
    sums = way.sums().astype(np.float32)
    half_up = ((sums.view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32).astype(way.dtype.numpy)
    assert "ties are rounded away from 0 instead of to even in y" in of(way.scene(half_up)).sentence


def test_a_number_beyond_the_largest_that_is_not_held_to_it() -> None:
    way = Way(F8)
    sums = way.sums()
    lost = np.where(np.abs(sums) > 448, np.nan, sums).astype(way.dtype.numpy)
    diagnosis = of(way.scene(lost))
    assert diagnosis.kinds[0] == "overflow"
    assert diagnosis.sentence.startswith("finite numbers beyond the largest become ")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda v: np.clip(np.rint(v), -127, 127), "numbers saturate at -127, not at -128"),
        (lambda v: np.clip(np.rint(v), 0, 127), "negative numbers saturate at 0"),
        (lambda v: np.rint(v).astype(np.int64).astype(np.int8), "wrap around"),
    ],
)
def test_ends_of_integers(wrong, words) -> None:
    way = Way(I8)
    diagnosis = of(way.scene(wrong(way.sums()).astype(np.int8)))
    assert diagnosis.kinds[0] == "overflow"
    assert words in diagnosis.sentence


def test_an_operand_without_its_operation() -> None:
    way = Way(f"{CASE}_weiscale")
    own = way.problem.operation.numerics.operation_of(way.problem, "wei")
    doubled = {"wei": rounded(applied(own, way.operands["wei"].astype(np.float32)), way.dtype)}
    scene = way.scene(rounded(way.sums(), way.dtype), doubled)
    assert of(scene).sentence.startswith("w is read without its operation, scale; ")


def test_an_alpha_in_a_narrower_type() -> None:
    way = Way("fwd_f64_nhwgc_g1n2k8c32_y3x3_h8x8_p1x1_scale_a1p2")
    right = way.scene(way.sums() * 1.2)
    narrow = way.sums() * float(np.float32(1.2))
    diagnosis = of(replace(right, result=narrow, reference=right.result, exact=False, ordered=True))
    assert diagnosis.kinds == ("rounding",)
    assert diagnosis.sentence.startswith("alpha = 1.2 is rounded to f32; ")


@pytest.mark.parametrize(
    ("result", "stored", "other"),
    [("bf8fnuz", "bf16", "bf8fnuz"), ("i8", "f16", "i8"), ("f32", "f16", "f32"), ("f16", "f32", "f16")],
)
def test_a_d_that_is_read_as_elements_of_another_width(result, stored, other) -> None:
    """Elements of 2 bytes are read as ones of 1 or 4; what follows D in memory is not known."""
    way = Way(f"fwd_{result}_nhwgc_g1n2k8c2_y1x1_h8x8_nd1_dt{stored}")
    tensor = way.problem.tensors["d0"]
    d = np.random.default_rng(4).integers(1, 40, tensor.lengths).astype(tensor.dtype.numpy)
    places = np.tensordot(tensor.strides, np.indices(tensor.lengths), 1)
    memory = np.empty(tensor.space, d.dtype)
    memory[places] = d
    held = np.pad(memory.view(np.uint8), (0, 3 * memory.nbytes), constant_values=77).view(DTYPES[other].numpy)
    sums = way.sums()
    scene = way.scene(rounded(sums + held[places].astype(np.float64), way.dtype), {"d0": d})
    right = rounded(sums + d.astype(np.float64), way.dtype)
    diagnosis = of(replace(scene, reference=right))
    assert diagnosis.kinds[0] == "epilogue"
    assert diagnosis.sentence.startswith(f"D, which is {stored}, is read as {other}; ")


@pytest.mark.parametrize(("stored", "other"), [("bf16", "f16"), ("f16", "bf16")])
def test_a_d_whose_bits_are_taken_for_another_type(stored, other) -> None:
    way = Way(f"fwd_f32_nhwgc_g1n2k8c32_y3x3_h8x8_p1x1_nd1_dt{stored}")
    tensor = way.problem.tensors["d0"]
    d = np.random.default_rng(4).integers(1, 9, tensor.lengths).astype(tensor.dtype.numpy)
    read = d.view(np.uint16).view(DTYPES[other].numpy)
    scene = way.scene((way.sums() + read.astype(np.float64)).astype(np.float32), {"d0": d})
    right = (way.sums() + d.astype(np.float64)).astype(np.float32)
    diagnosis = of(replace(scene, reference=right))
    assert diagnosis.kinds == ("epilogue",)
    assert diagnosis.sentence.startswith(f"D, which is {stored}, is read as {other}; ")


def test_silence_where_a_cell_is_simply_another_number() -> None:
    way = Way(CASE)
    result = rounded(way.sums(), way.dtype)
    result[0, 1, 3, 4, 4] = 77
    assert converted(way.scene(result)) is None


def test_silence_where_an_index_is_wrong() -> None:
    way = Way(CASE)
    moved = rounded(way.sums(**{"in": np.roll(way.operands["in"], 1, -1)}), way.dtype)
    assert converted(way.scene(moved)) is None


def test_subnormal_numbers_that_count_half() -> None:
    way = Way(F8)
    tiny = way.operands["in"].astype(np.float64)
    tiny[::2] *= 2.0**-9  # 8 of these are the least normal number
    way.operands["in"] = rounded(tiny, DTYPES["f8ocp"])
    held = way.operands["in"].astype(np.float64)
    halved = np.where(np.abs(held) < 2.0**-6, held / 2, held)
    sentence = of(way.scene(rounded(way.sums(**{"in": halved}), way.dtype))).sentence
    assert "x has subnormal numbers that count half" in sentence
