"""The problems that an operation has: what is said of them, their classes, how they are drawn, what is smaller."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bitgate.model.dtype import DtypeSet
from bitgate.model.space.problem_property import COMMON as COMMON_PROPERTIES
from bitgate.model.space.problem_property import PropertyKind, attribute
from bitgate.model.space.row import ANY_SHAPE, AxisField, Lengths, ShapePattern

if TYPE_CHECKING:
    from bitgate.model.operation import Operation
    from bitgate.model.space.candidates import Candidates
    from bitgate.model.space.column import Column
    from bitgate.model.space.details import Cut
    from bitgate.model.space.factor import Codes, Factor
    from bitgate.model.space.neighbour import Nearby
    from bitgate.model.space.problem_property import Property
    from bitgate.model.space.quantity import Quantity
    from bitgate.model.space.threshold import Threshold

Domains = tuple[tuple[str, tuple[int, ...]], ...]
"""The values, as codes, that a question is about, by column, sorted by name."""

Bend = Callable[[Any], Any]
"""A change of a problem to one that more kernels take."""


class ProblemSpace:
    """The problem space of an operation, for case tables, coverage, fuzzing and shrinking.

    Everything follows from ``quantities``, and these from the fields of ``operation.problem_type``. An operation that
    knows better overrides member by member.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    # ------------------------------------------------------------------------------------------------ its quantities

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Lengths and choices, by which a problem is known; none if its problems are not to be varied."""
        from bitgate.model.space.quantity import quantities_of

        return () if self.operation.problem_type is None else quantities_of(self.operation.problem_type)

    def values_of(self, problem: Any) -> dict[str, Any]:
        """Return each quantity's value."""
        return {quantity.name: getattr(problem, quantity.name) for quantity in self.quantities}

    def problem_of(self, values: Mapping[str, Any]) -> Any:
        """Return the problem with these values of all quantities; ProblemError if there is none."""
        if self.operation.problem_type is None:
            raise TypeError(f"{self.operation}: state problem_type, or how a problem is made of its quantities")
        return self.operation.problem_type(**values)

    def lengths_of(self, problem: Any) -> dict[str, int]:
        """Return the lengths of a problem by name: those of its quantities."""
        from bitgate.model.space.quantity import lengths

        values = self.values_of(problem)
        return {one.name: values[one.name] for one in lengths(self.quantities) if type(values[one.name]) is int}

    def with_lengths(self, problem: Any, stated: Mapping[str, int]) -> Any:
        """Return the problem with other lengths; ProblemError if there is none."""
        return self.problem_of({**self.values_of(problem), **stated})

    @cached_property
    def salt(self) -> int:
        """Added to seeds, so that operations draw apart from each other."""
        return zlib.crc32(self.operation.name.encode())

    # --------------------------------------------------------------------------------- what tables and ledgers say

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        """The properties by which tests choose cases and ledgers of known bugs name them."""
        from bitgate.model.space.quantity import choices, lengths

        named = {length.name: attribute(length.name) for length in lengths(self.quantities)}
        flags = [c.name for c in choices(self.quantities) if c.is_flag]
        return {
            **COMMON_PROPERTIES,
            **named,
            **{name: attribute(name, PropertyKind.FLAG) for name in flags},
        }

    def keywords(self, problem: Any) -> tuple[str, ...]:
        """Return the words next to the case id that ``-k`` can select on."""
        return ()

    def layouts_of(self, problem: Any) -> str:
        """Return a problem's layouts in one line: what a kernel was verified with."""
        return str(problem.layout)

    axes: tuple[AxisField, ...] = ()
    """The fields of rows that only its problems have, in the order in which products are listed."""

    shape: ShapePattern = ANY_SHAPE
    """The form of its sizes in a row."""

    lengths: Lengths | None = None
    """Its sizes as fields of a row, where they may be given as fields."""

    layouts: Mapping[str, int] = {}
    """The spatial dimensions of the shapes that each layout is for. Rows list layouts of all dimensions at once."""

    def dimensions(self, shape: str) -> int:
        """Return the spatial dimensions of the shape of a row."""
        return 0

    # --------------------------------------------------------------------------------------------------- coverage

    leads: bool = False
    """True if a table that is generated from nothing is for this operation, where no other is named."""

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The factors that coverage combines; without any its problems are neither covered nor fuzzed."""
        from bitgate.model.space.quantity_factors import factors_of

        return factors_of(self.quantities)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The columns that tables may leave out, by name."""
        from bitgate.model.space.column import COMMON, column_of
        from bitgate.model.space.quantity import choices

        names = [column_of(choice.name) for choice in choices(self.quantities)]
        return {name: COMMON[name] for name in names if name in COMMON}

    def tiled(self, tile: tuple[int, int, int]) -> Mapping[str, int]:
        """Return how much of each length one tile (M, N, K) of a kernel takes, by the length's name."""
        from bitgate.model.space.quantity import lengths

        return {length.name: tile[length.tile] for length in lengths(self.quantities) if length.tile is not None}

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The edges at which host code branches; cases should be on both sides."""
        from bitgate.model.space.threshold import COMMON

        return COMMON

    def batch(self, problems: Sequence[Any]) -> Candidates:
        """Return problems as columns."""
        from bitgate.model.space.quantity_columns import QuantityColumns

        return QuantityColumns.of(self, list(problems))

    def domains(self, counted: frozenset[str], assumed: Mapping[str, tuple[str, ...]], rows: Sequence[Any]) -> Domains:
        """Return the values that a question is about, by column.

        They are the assumed values; for a counted column all values, but of types only those of the rows; else the
        plain value.
        """
        from bitgate.model.space.column import column_of
        from bitgate.model.space.quantity import choices

        found: dict[str, tuple[int, ...]] = {}
        for choice in choices(self.quantities):
            name = column_of(choice.name)
            every = tuple(range(len(choice.values)))
            if name in assumed and name in self.columns:
                plain = self._plain_problem()
                puts = (self.columns[name].put_if_possible(plain, value) for value in assumed[name])
                found[choice.name] = tuple(choice.code(self.values_of(put)[choice.name]) for put in puts if put)
            elif name == "dtypes" and name in counted:
                used = {row.dtypes for row in rows} or {self.types(text) for text in ("f32", "f16", "bf16")}
                found[choice.name] = tuple(sorted({choice.code(dtypes) for dtypes in used}))
            else:
                found[choice.name] = every if name in counted or name not in self.columns else (0,)
        return tuple(sorted(found.items()))

    def _plain_problem(self) -> Any:
        from bitgate.model.space.quantity import Length

        return self.problem_of({q.name: 8 if isinstance(q, Length) else q.values[0] for q in self.quantities})

    def witnesses(self, domains: Domains) -> Candidates:
        """Return many problems, small ones and boundary ones, cheapest first.

        A combination of classes is possible if a witness has it.
        """
        from bitgate.model.space.quantity_columns import witnesses

        return witnesses(self, domains)

    def everyday(self, domains: Domains) -> Candidates:
        """Return a sample of problems as users have them; where that is unknown, the witnesses."""
        return self.witnesses(domains)

    # ------------------------------------------------------------------------------------------ fuzzing and shrinking

    def candidates(self, seed: Sequence[int], size: int, layouts: Sequence[str], distribution: str) -> Candidates:
        """Return ``size`` random problems, mostly in the layouts that kernels take.

        ``distribution``: ``tiny`` or ``wide`` for a round of fuzzing, ``usual`` for what a kernel could meet.
        """
        from bitgate.model.space.quantity import choices
        from bitgate.model.space.quantity_columns import draw

        codes = {choice.name: tuple(range(len(choice.values))) for choice in choices(self.quantities)}
        codes.update(dict.fromkeys(self.drawn_apart, (0,)))
        for choice in choices(self.quantities):
            if choice.name == "layout" and (known := [choice.code(n) for n in layouts if n in choice.values]):
                codes["layout"] = tuple(known)
        return draw(self, seed, size, codes, large=distribution == "wide")

    def finer(self, batch: Any) -> Codes:
        """Return further classes that a round should have evenly and factors see only together: (len, columns)."""
        from bitgate.model.space.quantity import few_or_vectors, lengths

        columns = [few_or_vectors(batch.columns[length.name]) for length in lengths(self.quantities)]
        return np.stack(columns, axis=1).astype(np.uint8)

    # ------------------------------------------------------------------------------------------------- solved tiers

    def details(self, problem: Any, cut: Cut) -> Mapping[str, str]:
        """Return the classes of single lengths, axes and tensors, by factor, for an instance with this cut."""
        from bitgate.model.space.details import of_quantities

        return of_quantities(problem, self.quantities, cut)

    def fitted(self, problem: Any, cut: Cut, rng: np.random.Generator) -> Any:
        """Return the problem with some lengths around the tiles of an instance."""
        from bitgate.model.space.quantity import lengths
        from bitgate.model.space.variations import fitted_lengths

        places = {length.name: length.tile for length in lengths(self.quantities) if length.tile is not None}
        return self.problem_of({**self.values_of(problem), **fitted_lengths(problem, cut, places, rng)})

    drawn_apart: tuple[str, ...] = ("dtypes",)
    """Choices that are plain in ``candidates``: ``varied`` draws them."""

    def types(self, text: str) -> Any:
        """Parse the types of a problem as instances spell them; ValueError names the bad part."""
        return DtypeSet.parse(text)

    def typed(self, problem: Any, dtypes: Any) -> Any:
        """Return the problem in other types."""
        return replace(problem, dtypes=dtypes)

    def varied(self, problem: Any, dtypes: Sequence[Any], rng: np.random.Generator) -> Any:
        """Return the problem in one of the types, sometimes in another form that the draw does not have."""
        from bitgate.model.space.variations import with_single_gaps

        return with_single_gaps(self.typed(problem, dtypes[int(rng.integers(len(dtypes)))]))

    def operands(self, problem: Any) -> tuple[str, ...]:
        """Return the roles of the tensors whose data decide the result."""
        return tuple(role for role in problem.tensors if role not in problem.outputs)

    def bends(self, layouts: Sequence[str]) -> tuple[Bend, ...]:
        """Return the changes that make an instance of these layouts take a problem, to be applied in this order.

        They make choices plain, change the layout, and round lengths that tiles cut up to whole vectors.
        """
        from bitgate.model.space.quantity import choices, lengths

        every = list(choices(self.quantities))

        def plain(problem: Any) -> Any:
            values = {c.name: c.values[0] for c in every if c.name in ("gap", "gaps", "split_k")}
            return self.problem_of({**self.values_of(problem), **values})

        def laid_out(problem: Any) -> Any:
            fits = "layout" not in (c.name for c in every) or not layouts or problem.layout in layouts
            return problem if fits else self.problem_of({**self.values_of(problem), "layout": layouts[0]})

        def whole(problem: Any) -> Any:
            now = self.values_of(problem)
            cut = [q.name for q in lengths(self.quantities) if q.tile is not None]
            return self.problem_of({**now, **{name: -(-now[name] // 8) * 8 for name in cut}})

        return plain, laid_out, whole

    def smaller(self, problem: Any) -> Iterator[Any]:
        """Yield problems one step smaller, in no order."""
        from bitgate.model.space.quantity_columns import smaller

        return smaller(self, problem)

    def oddness(self, problem: Any) -> tuple[int, int]:
        """Return how much of the problem is not plain, and the sum of its numbers, to order equal work."""
        from bitgate.model.space.quantity_columns import oddness

        return oddness(self, problem)

    def nearby(self, problem: Any) -> Iterator[Nearby]:
        """Yield problems that differ in one quantity: one that passes shows that the quantity is part of a bug."""
        from bitgate.model.space.quantity_columns import nearby

        return nearby(self, problem)
