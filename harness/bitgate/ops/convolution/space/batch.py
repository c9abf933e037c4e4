"""Many convolution problems as columns of integers, so that 100,000 of them are classified in a second.

A factor is a function of such a batch. One problem is a batch of one; tests hold the column arithmetic here to the
definitions of the problem and of its decomposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from bitgate.model import ELEMENTWISE, DtypeSet
from bitgate.model.space.candidates import Candidates, Floats, Ints, Mask
from bitgate.model.space.quantity import DTYPE_SETS
from bitgate.model.space.quantity_columns import TILE
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.steps import AXES, LEAST, OPERATION_COLUMNS, PLAIN_VALUES, SPATIAL, steps_of

_KNOWN_TYPES = tuple(DtypeSet.parse(name) for name in DTYPE_SETS if name != "other")
_DTYPE_BYTES = np.array([*(max(t.inp.bytes, t.wei.bytes, t.out.bytes) for t in _KNOWN_TYPES), 4], dtype=np.int64)
"""Bytes of the widest of the three types; 4 for 'other'."""
OPERATION_NAMES = tuple(ELEMENTWISE)
_OPERATION_D = np.array([op.num_d for op in ELEMENTWISE.values()], dtype=np.int64)


@dataclass(frozen=True)
class Batch(Candidates):
    """A number of problems of one pass as columns.

    Scalars are int64 arrays (n,), spatial quantities (n, 3) with the last ``ndim`` axes in use and neutral values (1,
    pads 0) before them. dtypes, layout, wei_layout and the three operations are indices into DTYPE_SETS,
    INPUT_LAYOUTS[ndim], WEIGHT_LAYOUTS[ndim] and OPERATION_NAMES. gap is 1 if some tensor has one, else 0.
    """

    direction: Pass
    ndim: Ints
    g: Ints
    n: Ints
    k: Ints
    c: Ints
    filter: Ints
    input: Ints
    stride: Ints
    dilation: Ints
    left_pad: Ints
    right_pad: Ints
    dtypes: Ints
    layout: Ints
    wei_layout: Ints
    op: Ints
    in_op: Ints
    wei_op: Ints
    gap: Ints
    split_k: Ints

    def __len__(self) -> int:
        return len(self.g)

    @classmethod
    def from_problems(cls, problems: Sequence[ConvProblem]) -> Batch:
        """Return columns of problems that all have the same pass."""
        direction = problems[0].direction
        if any(p.direction is not direction for p in problems):
            raise ValueError("a batch holds one pass")
        columns: dict[str, Ints] = {
            name: np.array([getattr(p, name) for p in problems], dtype=np.int64)
            for name in ("ndim", "g", "n", "k", "c", "split_k")
        }
        columns["gap"] = np.array([bool(p.gap or p.gaps) for p in problems], dtype=np.int64)
        for name in SPATIAL:
            rows = [(LEAST[name],) * (AXES - p.ndim) + getattr(p, name) for p in problems]
            columns[name] = np.array(rows, dtype=np.int64)
        columns["dtypes"] = np.array([_dtype_code(p.dtypes) for p in problems], dtype=np.int64)
        columns["layout"] = np.array([INPUT_LAYOUTS[p.ndim].index(p.layout) for p in problems], dtype=np.int64)
        columns["wei_layout"] = np.array([WEIGHT_LAYOUTS[p.ndim].index(p.wei_layout) for p in problems], dtype=np.int64)
        for name in OPERATION_COLUMNS:
            codes = [OPERATION_NAMES.index(getattr(p, name).name) for p in problems]
            columns[name] = np.array(codes, dtype=np.int64)
        return cls(direction, **columns)

    def problem(self, row: int) -> ConvProblem:
        """Return row ``row`` as a problem ('other' types come back as f32, gaps of single axes as ``gap``)."""
        ndim = int(self.ndim[row])
        name = DTYPE_SETS[int(self.dtypes[row])]
        others: dict[str, Any] = {key: tuple(int(v) for v in getattr(self, key)[row, AXES - ndim :]) for key in SPATIAL}
        others |= {key: ELEMENTWISE[OPERATION_NAMES[int(getattr(self, key)[row])]] for key in OPERATION_COLUMNS}
        return ConvProblem(
            direction=self.direction,
            dtypes=DtypeSet.parse("f32" if name == "other" else name),
            layout=INPUT_LAYOUTS[ndim][int(self.layout[row])],
            wei_layout=WEIGHT_LAYOUTS[ndim][int(self.wei_layout[row])],
            g=int(self.g[row]),
            n=int(self.n[row]),
            k=int(self.k[row]),
            c=int(self.c[row]),
            gap=bool(self.gap[row]),
            split_k=int(self.split_k[row]),
            **others,
        )

    def columns(self) -> dict[str, Ints]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "direction"}

    def take(self, rows: Ints | Mask) -> Batch:
        return Batch(self.direction, **{name: column[rows] for name, column in self.columns().items()})

    def joined(self, other: Batch) -> Batch:
        both = other.columns()
        return Batch(self.direction, **{n: np.concatenate([c, both[n]]) for n, c in self.columns().items()})

    def smaller(self) -> Batch:
        steps = steps_of(self)
        columns = {name: np.repeat(column, len(steps), axis=0) for name, column in self.columns().items()}
        for index, step in enumerate(steps):
            for (name, axis), value in step.items():
                if axis < 0:
                    columns[name][index] = value
                else:
                    columns[name][index, axis] = value
        return Batch(self.direction, **columns)

    def crossed(self, other: Batch, rng: np.random.Generator) -> Batch:
        """Return children; spatial quantities cross only between equal dimensions."""
        same = self.ndim == other.ndim
        columns: dict[str, Ints] = {}
        for name, column in self.columns().items():
            mix = (rng.random(column.shape) < 0.3) & (same if column.ndim == 1 else same[:, None])
            columns[name] = np.where(mix, getattr(other, name), column)
        return Batch(self.direction, **columns)

    def with_columns(self, **columns: Ints) -> Batch:
        return Batch(self.direction, **{**self.columns(), **columns})

    @property
    def shapes(self) -> int:
        """The number of rows that differ in more than types, layouts, operations, gaps and split-K."""
        lengths = np.stack([self.ndim, self.g, self.n, self.k, self.c], axis=1)
        rows = np.concatenate([lengths, *(getattr(self, name) for name in SPATIAL)], axis=1)
        return len(np.unique(rows, axis=0))

    # Derived quantities, (n,) or (n, 3).

    @cached_property
    def used(self) -> Mask:
        """(n, 3): the axis is one of the problem's."""
        return np.arange(AXES)[None, :] >= (AXES - self.ndim)[:, None]

    @cached_property
    def window(self) -> Ints:
        return (self.filter - 1) * self.dilation + 1

    @cached_property
    def output(self) -> Ints:
        return (self.input + self.left_pad + self.right_pad - self.window) // self.stride + 1

    @cached_property
    def possible(self) -> Mask:
        """The problem exists: the window fits the padded image on every axis."""
        return every_axis(self.window <= self.input + self.left_pad + self.right_pad)

    @cached_property
    def felt_stride(self) -> Ints:
        """(n, 3): the stride where it has an effect: a single output is nowhere else with another one."""
        return np.where(self.output > 1, self.stride, 1)

    @cached_property
    def felt_dilation(self) -> Ints:
        """(n, 3): the dilation where it has an effect: a single tap has no distance to a next one."""
        return np.where(self.filter > 1, self.dilation, 1)

    @cached_property
    def exercised(self) -> Mask:
        """Every stride and dilation has an effect: the problem tries what it names."""
        return every_axis((self.felt_stride == self.stride) & (self.felt_dilation == self.dilation))

    @cached_property
    def gcd(self) -> Ints:
        return np.gcd(self.stride, self.dilation)

    @cached_property
    def tildes(self) -> Ints:
        """(n, 3): stride / gcd(stride, dilation), the residue classes of the axis."""
        return self.stride // self.gcd

    @cached_property
    def gemms_count(self) -> Ints:
        if self.direction is not Pass.BWD_DATA:
            return np.ones(len(self), dtype=np.int64)
        return product(np.minimum(self.filter, self.tildes))

    @cached_property
    def tap_range(self) -> tuple[Ints, Ints]:
        """Fewest and most taps of a sub-GEMM that is launched."""
        least = product(np.maximum(1, self.filter // self.tildes))
        most = product(-(-self.filter // self.tildes))
        return least, most

    @cached_property
    def reached(self) -> Ints:
        """(n, 3): cells of the axis of dx that at least one (output, tap) pair contributes to."""
        columns = (self.filter, self.input, self.stride, self.dilation, self.left_pad, self.output)
        return reached_cells(*(column.ravel() for column in columns)).reshape(self.input.shape)

    @cached_property
    def gemm(self) -> tuple[Ints, Ints, Ints, Ints]:
        """GemmM, GemmN, and the smallest and largest GemmK of a launch, per group."""
        taps, outputs = product(self.filter), product(self.output)
        if self.direction is Pass.FWD:
            return self.n * outputs, self.k, self.c * taps, self.c * taps
        if self.direction is Pass.BWD_WEIGHT:
            return self.k, self.c * taps, self.n * outputs, self.n * outputs
        begin = np.maximum(0, self.left_pad - self.dilation * (self.tildes - 1)) // self.stride
        h_tilde = self.output - (-self.dilation * (self.filter - 1) // self.stride)
        last = -(-(self.left_pad + self.input - 1) // self.stride) + 1
        slices = product(np.maximum(0, np.minimum(h_tilde, last) - begin))
        least, most = self.tap_range
        return self.n * slices, self.c, self.k * least, self.k * most

    @cached_property
    def elements(self) -> tuple[Ints, Ints, Ints]:
        """Logical elements of in, wei and out."""
        return (
            self.g * self.n * self.c * product(self.input),
            self.g * self.k * self.c * product(self.filter),
            self.g * self.n * self.k * product(self.output),
        )

    @cached_property
    def largest_bytes(self) -> Ints:
        """Bytes of the largest tensor, without gaps."""
        return np.asarray(np.maximum.reduce(self.elements) * _DTYPE_BYTES[self.dtypes], dtype=np.int64)

    @cached_property
    def num_d(self) -> Ints:
        return _OPERATION_D[self.op]

    @cached_property
    def cost(self) -> Floats:
        """The order of 'smallest problem': multiply-adds plus elements moved.

        Ties go to small numbers, then to the plain operation, layouts and split.
        """
        macs = self.g * self.n * self.k * self.c * product(self.output) * product(self.filter)
        tie = sum(getattr(self, name).sum(axis=1) for name in SPATIAL)
        size = macs.astype(np.float64) + np.add.reduce([e.astype(np.float64) for e in self.elements])
        plain = sum((getattr(self, name) != value).astype(np.int64) for name, value in PLAIN_VALUES.items())
        return np.asarray(size + 1e-3 * tie + 1e-5 * plain, dtype=np.float64)

    @cached_property
    def work(self) -> Floats:
        """Multiply-adds of a problem whose GEMM lengths, K of each tap, are filled up to whole tiles; of bwd_data all
        sub-GEMMs together."""

        def tiles(values: Ints) -> Floats:
            return (-(-values // TILE) * TILE).astype(np.float64)

        m, n, k, _ = self.gemm
        if self.direction is Pass.BWD_WEIGHT:
            return self.g * tiles(m) * tiles(n) * tiles(k)
        channels = self.c if self.direction is Pass.FWD else self.k
        return self.g * tiles(m) * tiles(n) * tiles(channels) * product(self.filter)


def product(values: Ints) -> Ints:
    """Return the product over the axes."""
    return np.asarray(values.prod(axis=-1), dtype=np.int64)


def every_axis(holds: Mask) -> Mask:
    """Return the problems for which it holds on all axes."""
    return np.asarray(holds.all(axis=1))


def some_axis(holds: Mask) -> Mask:
    """Return the problems for which it holds on an axis."""
    return np.asarray(holds.any(axis=1))


def reached_cells(filter_: Ints, input_: Ints, stride: Ints, dilation: Ints, pad: Ints, output: Ints) -> Ints:
    """Return, per axis, how many cells x of dx have a pair (o, f) with x = o * stride + f * dilation - pad.

    Tap f = tilde + T * dot moves the outputs of its residue class by dot * dilation / gcd window positions. So, tap by
    tap, only the positions after those of the previous dot are new.
    """
    gcd = np.gcd(stride, dilation)
    columns = np.stack([filter_, input_, stride, stride // gcd, dilation, dilation // gcd, pad, output])
    cells = np.zeros_like(input_)
    rows = np.arange(len(input_))
    for f in range(int(filter_.max(initial=0))):
        longer = columns[0] > f
        rows, columns = rows[longer], columns[:, longer]
        _, size, step, tildes, spread, shift, left, outputs = columns
        tilde, dot = f % tildes, f // tildes
        first = np.where(dot == 0, 0, np.maximum(dot * shift, (dot - 1) * shift + outputs))
        offset = tilde * spread - left
        low = np.maximum(first, -(offset // step))
        high = np.minimum(dot * shift + outputs - 1, (size - 1 - offset) // step)
        cells[rows] += np.maximum(0, high - low + 1)
    return cells


def _dtype_code(dtypes: DtypeSet) -> int:
    name = str(dtypes)
    return DTYPE_SETS.index(name) if name in DTYPE_SETS else DTYPE_SETS.index("other")
