"""The problems that a GEMM has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from bitgate.model import ELEMENTWISE, DtypeSet
from bitgate.model.space import ProblemSpace, details, epilogues
from bitgate.model.space.details import Cut
from bitgate.model.space.neighbour import Nearby
from bitgate.model.space.problem_property import COMMON, GAP, Property, PropertyKind, attribute
from bitgate.model.space.quantity import D_FORM, GAPS, SHARED, Choice, Length, Quantity
from bitgate.model.space.row import ShapePattern
from bitgate.model.space.threshold import COMMON as COMMON_THRESHOLDS
from bitgate.model.space.threshold import Threshold, Way, blocks, remainder
from bitgate.model.space.variations import with_operand_operation
from bitgate.ops.gemm.problem import GEMM_LAYOUTS, GemmProblem

_SIZES = ("m", "n", "k")


class GemmSpace(ProblemSpace):
    """Lengths and choices are all there is to it; the rest follows."""

    shape = ShapePattern(r"(b\d+)?m\d+n\d+k\d+", "b2m64n64k32")
    layouts: Mapping[str, int] = dict.fromkeys(GEMM_LAYOUTS, 0)
    drawn_apart = ("dtypes", "in_op", "wei_op")

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        lengths = (Length(name, tile=place) for place, name in enumerate(_SIZES))
        names = ("op", "in_op", "wei_op", "gap", "split_k")
        return (
            Length("batch", tile=None),
            *lengths,
            SHARED["dtypes"],
            Choice("layout", GEMM_LAYOUTS),
            *(SHARED[name] for name in names),
            GAPS,
            D_FORM,
        )

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        return {
            "ndim": COMMON["ndim"],
            "num_d": Property(lambda problem: problem.op.num_d),
            "batch": attribute("batch"),
            **{name: attribute(name) for name in _SIZES},
            "split_k": attribute("split_k"),
            "gap": GAP,
            "layout": Property(lambda problem: problem.layout, PropertyKind.NAME, GEMM_LAYOUTS),
            "op": Property(lambda problem: problem.op.name, PropertyKind.NAME, tuple(ELEMENTWISE)),
            "dtypes": COMMON["dtypes"],
        }

    def keywords(self, problem: GemmProblem) -> tuple[str, ...]:
        return f"b{problem.batch}", problem.op.name

    def varied(self, problem: GemmProblem, dtypes: Sequence[DtypeSet], rng: np.random.Generator) -> GemmProblem:
        drawn = with_operand_operation(super().varied(problem, dtypes, rng), rng)
        varied: GemmProblem = epilogues.with_epilogue(drawn)
        return varied

    def smaller(self, problem: GemmProblem) -> Iterator[GemmProblem]:
        yield from epilogues.plainer(problem)
        yield from super().smaller(problem)

    def oddness(self, problem: GemmProblem) -> tuple[int, int]:
        special, numbers = super().oddness(problem)
        return special + epilogues.oddness(problem), numbers

    def nearby(self, problem: GemmProblem) -> Iterator[Nearby]:
        yield from epilogues.nearby(problem)
        yield from super().nearby(problem)

    def details(self, problem: GemmProblem, cut: Cut) -> Mapping[str, str]:
        m, n, k = (-(-size // tile) for size, tile in zip(problem.sizes, cut.tile, strict=True))
        own = {"tiles": details.grid(m, n), "steps": details.few_or_parity(k)}
        return {
            **super().details(problem, cut),
            **epilogues.classes(problem),
            **own,
            **details.slice_steps(problem.split_k, k),
            "slices": details.slices(problem.split_k, k),
        }

    def operands(self, problem: GemmProblem) -> tuple[str, ...]:
        return problem.operands

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        return (*_THRESHOLDS, *COMMON_THRESHOLDS)


def _columns(way: Way) -> int:
    return int(way.problem.sizes[1])


def _reduced(way: Way) -> int:
    return int(way.problem.sizes[2])


def _ragged(place: int, operand: int) -> Threshold:
    """Return the threshold of N or K against what a load takes at once."""
    name = _SIZES[place]
    return Threshold(
        f"{name}_vector",
        f"{name.upper()} in whole vectors",
        f"{name.upper()} with a ragged vector",
        0,
        lambda way: way.problem.sizes[place] % (way.vector or (1, 1, 1))[operand],
    )


_THRESHOLDS = (
    Threshold("batch", "one matrix", "several matrices", 1, lambda way: int(way.problem.batch)),
    Threshold("numd", "no D tensor", "a D tensor", 0, lambda way: int(way.problem.op.num_d)),
    _ragged(2, 0),
    _ragged(1, 1),
    Threshold("columns_tail", "whole tiles of columns", "a ragged tile of columns", 0, remainder(_columns, 1)),
    Threshold("columns", "one tile of columns", "several tiles of columns", 1, blocks(_columns, 1)),
    Threshold("k_tail", "whole tiles of K", "a ragged tile of K", 0, remainder(_reduced, 2)),
    Threshold("k_blocks", "one tile of K", "several tiles of K", 1, blocks(_reduced, 2)),
    Threshold("split_k", "K in one slice", "K in several slices", 1, lambda way: way.split_k),
)
