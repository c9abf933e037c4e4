"""What an operation states by its own code is checked: each mistake by which a wrong kernel could pass is one line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bitgate.core.errors import NoBoundError, UsageError
from bitgate.model import F32_ACCUMULATION, Fill
from bitgate.model.dtype import TensorTypes
from bitgate.model.sized import Sized, SizedProblem, read, written
from bitgate.numerics.certificate import certify
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.reference import exact_results
from bitgate.verify.bounds import bounded_results, round_safe
from bitgate.verify.problem_data import prepare_operands, reference_kind


@dataclass(frozen=True)
class Sizes:
    r: int
    c: int


def integers(problem, seed):
    return {"x": np.random.default_rng(seed).integers(1, 9, (problem.sizes.r, problem.sizes.c))}


def reals(problem, seed):
    return {"x": np.random.default_rng(seed).random((problem.sizes.r, problem.sizes.c), np.float32)}


class MeanSquare(Sized):
    """y[r] = the mean of x[r,c] squared, last[r] = the last place of the row's maximum."""

    name = "toy_mean_square"
    sizes = Sizes
    fills = (
        Fill("exact", "sums of small squares, divided by a power of two", integers, exact=True),
        Fill("bold", "claimed, and not so", reals, exact=True),
        Fill("decimal", "real numbers", reals),
    )

    def tensors(self, sizes):
        yield read("x", r=sizes.r, c=sizes.c)
        yield written("y", r=sizes.r)
        yield written("last", dtype="i32", r=sizes.r)

    def reference(self, problem, inputs):
        x = inputs["x"]
        return {"y": (x * x).sum(axis=1) / x.shape[1], "last": x.shape[1] - 1 - x[:, ::-1].argmax(axis=1)}

    def bound(self, problem, inputs, accumulation):
        return {"y": 40 * 2.0**-24 * np.square(inputs["x"]).mean(axis=1)}


def of(operation: Sized, dtype: str = "f32", r: int = 4, c: int = 32) -> SizedProblem:
    return SizedProblem(operation, TensorTypes.parse(dtype), Sizes(r, c))


def stated(**members) -> Sized:
    """The operation with other members."""
    return type("Other", (MeanSquare,), members)()


def data(problem: SizedProblem, fill: str = "exact"):
    return make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill))


def certificate(problem: SizedProblem, fill: str = "exact"):
    return certify(problem, plan_fill(problem, F32_ACCUMULATION, fill), data(problem, fill), F32_ACCUMULATION)


def test_density_and_sensitivity_are_measured() -> None:
    """Of a sum of squares each element shows; a larger tensor is not tried."""
    small, large = certificate(of(MeanSquare())), certificate(of(MeanSquare(), c=2**16))
    assert (small.holds, small.density, small.sensitivity) == (True, 1.0, 1.0)
    assert small.note.endswith("; 8 of 8 sampled elements show if lost")
    assert (large.holds, large.density, large.sensitivity) == (True, 1.0, None)
    assert large.note.endswith("; sensitivity not measured")


def test_the_certificate_of_operands_is_measured_when_it_is_asked_for() -> None:
    """A stored digest needs none. What they claim is checked at once."""
    problem = of(MeanSquare())
    operands, size = prepare_operands(problem, F32_ACCUMULATION, "exact", 0)
    assert size == 4 * 32 * 4
    assert "certificate" not in vars(operands)
    assert operands.certificate == certificate(problem)
    with pytest.raises(UsageError, match="'bold' claims exact bits"):
        prepare_operands(problem, F32_ACCUMULATION, "bold", 0)


def test_a_claim_of_exact_bits_is_refuted_by_the_accumulator() -> None:
    with pytest.raises(UsageError, match="'bold' claims exact bits, and the reference in f32 and in f64 differ in"):
        certificate(of(MeanSquare(), c=1000), "bold")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda x: {"y": x.sum(axis=1)}, "gives no last"),
        (lambda x: {"y": x.sum(axis=1, keepdims=True), "last": x[:, 0]}, "gives y as 4x1, not as 4"),
        (lambda x: {"y": 1.0, "last": x[:, 0]}, "gives y as a single number, not as 4"),
        (lambda x: {"y": x[:, 0] * 1j, "last": x[:, 0]}, "gives y as complex128: give numbers"),
        (lambda x: {"y": x[:, 0], "last": x[:, 0] * np.nan}, "nan of last at [0] is no i32"),
        (lambda x: x[:, 0], "gives ndarray: give a mapping from roles to arrays"),
        (lambda x: {"y": x[:, 99]}, "IndexError: index 99 is out of bounds"),
    ],
)
def test_a_reference_that_gives_no_result_is_refused(given, said: str) -> None:
    problem = of(stated(reference=lambda self, problem, inputs: given(inputs["x"])))
    with pytest.raises(UsageError, match=re.escape(f"the reference of toy_mean_square: {said}")):
        exact_results(problem, data(problem))


@pytest.mark.parametrize(
    ("given", "dtype", "said"),
    [
        (lambda x: {"x": x[0]}, "f32", "gives x as 32, not as 4x32"),
        (lambda x: {"y": x}, "f32", "gives no x: give each"),
        (lambda x: {"x": x * 1000 + 1}, "f16", "f16 does not hold"),
        (lambda x: {"x": x + 0.5}, "i8", "i8 does not hold 8.5 of x at [0, 0], and the fill claims exact bits"),
        (lambda x: {"x": np.where(x > 0, np.nan, 0)}, "i8", "nan of x at [0, 0] is no i8"),
    ],
)
def test_data_that_are_not_what_the_tensors_hold_are_refused(given, dtype: str, said: str) -> None:
    eight = np.full((4, 32), 8.0)
    fill = Fill("exact", "claimed", lambda problem, seed: given(eight), exact=True)
    with pytest.raises(UsageError, match=re.escape(f"the fill 'exact' of toy_mean_square: {said}")):
        data(of(stated(fills=(fill,)), dtype))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"y": np.full(4, np.inf)}, "inf of y at [0] bounds nothing: give finite numbers from 0 on"),
        ({"y": np.array([1, 1, -1, 1.0])}, "-1 of y at [2] bounds nothing"),
        ({"y": np.array([1, np.nan, 1, 1.0])}, "nan of y at [1] bounds nothing"),
        ({"y": 1e-3}, "gives y as a single number, not as 4"),
        ({"last": np.ones(4)}, "last is of i32, whose bits are right or wrong: leave it out"),
        ({"z": np.ones(4)}, "z is no output: y, last"),
    ],
)
def test_a_bound_that_bounds_nothing_is_refused(given, said: str) -> None:
    problem = of(stated(bound=lambda self, problem, inputs, accumulation: given))
    with pytest.raises(UsageError, match=re.escape(f"the bound of toy_mean_square: {said}")):
        bounded_results(problem, data(problem, "decimal"), F32_ACCUMULATION)


def test_real_numbers_without_a_bound_have_a_measured_error() -> None:
    problem = of(stated(bound=Sized.bound))
    with pytest.raises(NoBoundError, match="no bound stated: toy_mean_square does not state how far"):
        bounded_results(problem, data(problem, "decimal"), F32_ACCUMULATION)
    with pytest.raises(NoBoundError, match="no bound stated: toy_mean_square has no fill of real numbers"):
        data(of(stated(bound=Sized.bound, fills=MeanSquare.fills[:1])), "decimal")


def test_integers_of_data_without_a_claim_are_held_to_nothing() -> None:
    class Place(MeanSquare):
        def tensors(self, sizes):
            yield read("x", r=sizes.r, c=sizes.c)
            yield written("last", dtype="i32", r=sizes.r)

        bound = Sized.bound

    problem = of(Place())
    assert reference_kind(problem, certified=False, states_order=False) == "bounds"
    with pytest.raises(NoBoundError, match="toy_mean_square gives integers: take a fill that claims exact bits"):
        bounded_results(problem, data(problem, "decimal"), F32_ACCUMULATION)


def test_integers_that_a_bound_leaves_out_are_compared_by_bits() -> None:
    class Place(MeanSquare):
        def tensors(self, sizes):
            yield read("x", r=sizes.r, c=sizes.c)
            yield written("last", dtype="i32", r=sizes.r)

        def reference(self, problem, inputs):
            return {"last": inputs["x"].argmax(-1)}

        def bound(self, problem, inputs, accumulation):
            return {}

    problem = of(Place())
    inputs = data(problem, "decimal")
    results, bounds = bounded_results(problem, inputs, F32_ACCUMULATION)
    assert results["last"].logical.tolist() == inputs["x"].logical.argmax(-1).tolist()
    assert bounds == {}


def test_the_core_makes_decimals_for_what_states_a_bound() -> None:
    problem = of(stated(fills=MeanSquare.fills[:1]))
    cells = data(problem, "decimal")["x"].logical
    assert len(np.unique(cells)) == 4 * 32
    assert np.abs(cells).max() < 1


def test_cells_with_a_bound_of_one_pattern_are_compared_by_bits() -> None:
    """In f16 nearly all are; in f32, which holds what the bound leaves open, none is."""
    wide, narrow = of(MeanSquare(), "f32", r=400), of(MeanSquare(), "f16", r=400)
    found = {}
    for problem in (wide, narrow):
        tensors, bounds = bounded_results(problem, data(problem, "decimal"), F32_ACCUMULATION)
        found[str(problem.dtypes)] = tensors["y"].logical, bounds["y"]
    y, bound = found["f16"]
    safe = np.flatnonzero(bound.exact)
    assert 380 < len(safe) < 400
    assert round_safe({"y": bound}) == f"{len(safe)} of 400 cells are round-safe: compared by bits"
    wide_bound = replace(bound, slack=np.where(np.arange(400) < 3, 9.0, bound.slack), exact=np.zeros(400, bool))
    assert round_safe({"y": wide_bound}).endswith("; the bounds of 3 admit zero")
    other = y.copy()
    other[safe[0]] = np.nextafter(y[safe[0]], np.float16(np.inf))
    assert np.flatnonzero(bound.outside(other)).tolist() == [safe[0]]
    assert not found["f32"][1].exact.any()
