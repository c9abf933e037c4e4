"""From classes back to shapes: the smallest problem, and a pool that misses nothing possible."""

from functools import lru_cache

import numpy as np
import pytest

from bitgate.model import human, operation_called
from bitgate.model.space.factor import Constants, classify
from bitgate.ops.convolution import CONVOLUTIONS, Pass, gemms_count
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.draws import witnesses
from bitgate.ops.convolution.space.factors import FACTORS
from bitgate.tools.coverage.assume import Assumptions
from bitgate.tools.coverage.combine import Combinations
from bitgate.tools.coverage.holes import Term
from bitgate.tools.coverage.solve import has, search, shrink
from bitgate.tools.coverage.survey import Scope

FACTOR = {factor.name: (index, factor) for index, factor in enumerate(FACTORS[Pass.BWD_DATA])}


def term(name: str, cls: str) -> Term:
    index, factor = FACTOR[name]
    position = factor.index(cls)
    return Term(index, factor.classes[position], (position,))


@lru_cache
def pool() -> Batch:
    return witnesses(Pass.BWD_DATA, (("gap", (0, 1)),))


@pytest.mark.parametrize(
    ("terms", "smallest"),
    [
        ([("path", "flat"), ("gemms_count", "2-8")], "bwd_data f32 NHWGC G=1 N=1 K=8 C=1 1x2 1x3 s2"),
        ([("path", "flat"), ("k_mod_vector", "!=0")], "bwd_data f32 NHWGC G=1 N=1 K=9 C=1 1x1 1x1"),
        ([("ndim", "1"), ("gemms_count", "33")], "K=1 C=1 33 "),
        ([("ndim", "3"), ("gemms_count", "33")], "K=1 C=1"),
        ([("pad", ">= filter"), ("stride", "3"), ("pad_sides", "differ")], "K=1 C=1"),
    ],
)
def test_the_smallest_problem_of_its_classes(terms: list[tuple[str, str]], smallest: str) -> None:
    wanted = has([term(*t) for t in terms], FACTORS[Pass.BWD_DATA], Constants())
    costly = pool().take(np.flatnonzero(wanted(pool()))[-40:-39])
    found = shrink(costly, wanted)
    assert wanted(found)[0]
    assert found.cost[0] <= costly.cost[0]
    assert smallest in human(found.problem(0))


def test_shrinking_giants_keeps_the_property_in_few_steps() -> None:
    wanted = has([term("path", "flat"), term("split_n", "yes")], FACTORS[Pass.BWD_DATA], Constants())
    found = shrink(pool().take(np.flatnonzero(wanted(pool()))[-1:]), wanted)
    assert 2**31 < found.largest_bytes[0] < 2**31 + 2**24


def test_search_finds_what_is_possible_and_nothing_else() -> None:
    def holds(name: str, cls: str) -> object:
        return has([term(name, cls)], FACTORS[Pass.BWD_DATA], Constants())

    found = search([holds("gemms_count", "33"), holds("n", ">=32"), holds("k_size", "1")], pool())  # type: ignore[list-item]
    assert found is not None
    assert gemms_count(found.problem(0)) == 33
    assert found.problem(0).n >= 32
    assert search([holds("gemms_count", "33"), holds("stride", "1")], pool()) is None  # type: ignore[list-item]


@pytest.mark.parametrize("direction", CONVOLUTIONS)
def test_no_pair_that_the_pool_lacks_is_possible(direction: Pass) -> None:
    """The pool decides what is possible; the search tries to refute it, pair by pair."""
    space = Scope(operation_called(direction.value), frozenset({"split_k", "layout"}), Assumptions())
    pairs = Combinations(tuple(len(factor.classes) for factor in space.factors), 2)
    constants = space.assumptions.constants
    missing = np.flatnonzero(~pairs.present(space.pool_codes))
    assert len(missing) < 0.2 * len(pairs)
    for number in missing:
        terms = [Term(f, space.factors[f].classes[c], (c,)) for f, c in pairs.decode(int(number))]
        single = [has([one], space.factors, constants) for one in terms]
        found = search(single, space.pool, generations=2, breed=300)
        assert found is None, f"{[t.cls.words for t in terms]}: {human(found.problem(0))}"


@pytest.mark.parametrize("direction", CONVOLUTIONS)
def test_every_class_has_a_witness(direction: Pass) -> None:
    space = Scope(
        operation_called(direction.value), frozenset({"dtypes", "layout", "wei_layout", "split_k"}), Assumptions()
    )
    codes = classify(space.pool, space.factors, Constants())
    for column, factor in enumerate(space.factors):
        names = {cls.name for cls in factor.classes}
        seen = {factor.classes[int(code)].name for code in np.unique(codes[:, column])}
        never = names - seen - ({"f64", "i8", "other"} | {n for n in names if "f8" in n} | {"bf16_f32_bf16"})
        assert not never, f"{factor.name}: no witness of {never}"
