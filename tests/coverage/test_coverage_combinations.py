"""t-way counting against brute force, and how holes are reported: smallest, widest, once for each path."""

from itertools import combinations

import numpy as np
import pytest

from bitgate.model.space.candidates import Ints
from bitgate.model.space.factor import Constants, Factor, classes, union
from bitgate.ops.convolution.space.batch import Batch
from bitgate.tools.coverage.combine import Combinations
from bitgate.tools.coverage.holes import Levels


@pytest.mark.parametrize("strength", [1, 2, 3, 4])
def test_present_finds_what_enumeration_finds(strength: int) -> None:
    rng = np.random.default_rng(5)
    sizes = (2, 4, 3, 2, 5)
    codes = np.stack([rng.integers(0, size, 12) for size in sizes], axis=1).astype(np.uint8)
    space = Combinations(sizes, strength)
    found = {space.decode(int(number)) for number in np.flatnonzero(space.present(codes))}
    expected = {
        tuple((f, int(row[f])) for f in factors) for row in codes for factors in combinations(range(5), strength)
    }
    assert found == expected
    assert {space.decode(int(number)) for number in space.index(codes).ravel()} == expected


def factor(name: str, *names: str, wide: tuple[str, ...] = ()) -> Factor:
    def classify(_: Batch, __: Constants) -> Ints:
        raise AssertionError("these tests give codes")

    wider = union("wide", f"{name} wide", *wide) if wide else ()
    return Factor(name, "made up", classes({n: f"{name} {n}" for n in names}), classify, wide=wider)


PATH = factor("path", "slow", "fast")
COUNT = factor("count", "1", "2", "3", wide=("2", "3"))
SIZE = factor("size", "small", "large")
EVERYTHING = np.array([[p, c, s] for p in range(2) for c in range(3) for s in range(2)], dtype=np.uint8)


def reported(rows: list[list[int]], strength: int = 3, pool: np.ndarray = EVERYTHING) -> set[tuple[str, ...]]:
    levels = Levels((PATH, COUNT, SIZE), pool, np.array(rows, dtype=np.uint8).reshape(-1, 3), strength)
    return {tuple(term.cls.words for term in hole.terms) for hole in levels.holes()}


def test_a_full_table_has_no_hole() -> None:
    assert reported(EVERYTHING.tolist()) == set()


def test_a_missing_pair_is_reported_once_and_no_triple_with_it() -> None:
    assert reported([row for row in EVERYTHING.tolist() if row[:2] != [1, 1]]) == {("path fast", "count 2")}


def test_a_union_is_reported_instead_of_its_members() -> None:
    assert reported([row for row in EVERYTHING.tolist() if not (row[0] == 1 and row[1] > 0)]) == {
        ("path fast", "count wide")
    }


def test_a_class_that_nobody_has_is_reported_for_each_path() -> None:
    assert reported([row for row in EVERYTHING.tolist() if row[2] == 0]) == {
        ("path slow", "size large"),
        ("path fast", "size large"),
    }


def test_a_path_that_nobody_takes_is_a_hole_of_one_class() -> None:
    assert reported([row for row in EVERYTHING.tolist() if row[0] == 0]) == {("path fast",)}


def test_impossible_combinations_are_no_holes() -> None:
    possible = np.array([row for row in EVERYTHING.tolist() if row[:2] != [1, 2]], dtype=np.uint8)
    assert reported(possible.tolist(), pool=possible) == set()


def test_a_missing_triple_shows_at_strength_three_only() -> None:
    rows = [row for row in EVERYTHING.tolist() if row != [1, 2, 1]]
    assert reported(rows, 2) == set()
    assert reported(rows, 3) == {("path fast", "count 3", "size large")}
