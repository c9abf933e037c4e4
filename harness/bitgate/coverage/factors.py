"""The factors of a convolution test: what can differ between two problems so that a kernel behaves differently.

Raw factors are read off the problem, derived ones follow from the maths of its GEMMs. One table holds all: how each
is computed, its classes in order (the plain one first), which classes need gigabytes (plan-only), and whether host
code branches on it (dispatch). ``FACTORS[direction]`` is the list of a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitgate.coverage.assume import Constants
from bitgate.coverage.batch import DTYPE_SETS, Batch, Ints, product
from bitgate.problem import Pass

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Class:
    """One class of a factor; ``words`` read in a sentence. A plan-only class needs tensors of gigabytes."""

    name: str
    words: str
    plan_only: bool = False


@dataclass(frozen=True)
class Factor:
    """``classify`` gives each problem of a batch the index of its class. ``wide`` names unions of classes, so that a
    hole over all of them is told once. ``column``: the quantity a table must state for the factor to count."""

    name: str
    how: str
    classes: tuple[Class, ...]
    classify: Callable[[Batch, Constants], Codes]
    dispatch: bool = False
    wide: tuple[tuple[Class, tuple[str, ...]], ...] = ()
    column: str = ""
    passes: tuple[Pass, ...] = tuple(Pass)

    def index(self, name: str) -> int:
        return next(i for i, cls in enumerate(self.classes) if cls.name == name)

    @property
    def plan_only(self) -> NDArray[np.bool_]:
        return np.array([cls.plan_only for cls in self.classes])


def _classes(spec: Mapping[str, str], plan_only: tuple[str, ...] = ()) -> tuple[Class, ...]:
    return tuple(Class(name, words, name in plan_only) for name, words in spec.items())


def _wide(name: str, words: str, *members: str) -> tuple[tuple[Class, tuple[str, ...]], ...]:
    return ((Class(name, words), members),)


def _select(*conditions: NDArray[np.bool_]) -> Codes:
    """Index of the first condition that holds, else their number."""
    codes = np.full(len(conditions[0]), len(conditions), dtype=np.int64)
    for index in range(len(conditions) - 1, -1, -1):
        codes[conditions[index]] = index
    return codes


def _most(batch: Batch, values: Ints) -> Ints:
    """Largest value over the axes in use."""
    return np.asarray(np.where(batch.used, values, 0).max(axis=1))


def _differ(batch: Batch, *columns: Ints) -> Codes:
    """1 where one of the columns is not the same on all axes in use."""
    last = [column[:, -1:] for column in columns]
    unequal = [((column != end) & batch.used).any(axis=1) for column, end in zip(columns, last, strict=True)]
    return np.asarray(np.logical_or.reduce(unequal).astype(np.int64))


def _path(batch: Batch, constants: Constants) -> Codes:
    """bwd_data: the flat path's structural gate. Its guards (gemms_count, split-N, K % vector) are own factors, so
    that a guard nobody tests is a hole, whether or not a given kernel has that guard."""
    if batch.direction is Pass.BWD_DATA:
        flat = (batch.ndim == 2) & (batch.g == 1) & (batch.num_d == 0) & (batch.split_k == 1)
        return _select(~(flat & (batch.k >= constants.vector)))
    pointwise = (product(batch.filter) == 1) & ((batch.left_pad + batch.right_pad).sum(axis=1) == 0)
    return _select(~pointwise, pointwise & (product(batch.stride) > 1))


def _gemms_count(batch: Batch, _: Constants) -> Codes:
    count = batch.gemms_count
    return _select(
        (count == 1) & (product(batch.stride) == 1), count == 1, count <= 8, count <= 31, count == 32, count == 33,
        count <= 64,
    )  # fmt: skip


def _never_written(batch: Batch, _: Constants) -> Codes:
    share = product(batch.reached) / product(batch.input)
    return _select(share == 1, share >= 0.5)


def _filter(batch: Batch, _: Constants) -> Codes:
    unused = ~batch.used
    return _select(
        (unused | (batch.filter == 1)).all(axis=1),
        (unused | (batch.filter == 3)).all(axis=1),
        (batch.used & (batch.filter % 2 == 0)).any(axis=1),
    )


def _gcd(batch: Batch, _: Constants) -> Codes:
    shared = (batch.gcd > 1) & (batch.gcd < batch.stride)
    divides = (batch.gcd > 1) & (batch.gcd == batch.stride)
    return _select(~(shared | divides).any(axis=1), shared.any(axis=1))


def _pad(batch: Batch, _: Constants) -> Codes:
    pad = np.maximum(batch.left_pad, batch.right_pad)
    return _select((pad == 0).all(axis=1), (pad < batch.window).all(axis=1))


def _stride_image(batch: Batch, _: Constants) -> Codes:
    return _select(((batch.stride < batch.input) | ~batch.used).all(axis=1),
                   ((batch.stride <= batch.input) | ~batch.used).all(axis=1))  # fmt: skip


def _split_n(batch: Batch, constants: Constants) -> Codes:
    whole = batch.largest_bytes
    image = whole // batch.n
    return _select(whole <= constants.split_n_bytes, (image <= constants.split_n_bytes) & (batch.n > 1))


def _main_loop(batch: Batch, constants: Constants) -> Codes:
    _, _, least, most = batch.gemm
    return _select(most <= constants.tile[2], least > constants.tile[2])


def _tail(dimension: int) -> Callable[[Batch, Constants], Codes]:
    """A GEMM length against its tile; GemmK counts the sub-GEMM with the most taps."""

    def classify(batch: Batch, constants: Constants) -> Codes:
        length, tile = (batch.gemm[0], batch.gemm[1], batch.gemm[3])[dimension], constants.tile[dimension]
        return _select(length % tile == 0, length < tile)

    return classify


def _sized(column: str) -> Callable[[Batch, Constants], Codes]:
    def classify(batch: Batch, constants: Constants) -> Codes:
        values: Ints = getattr(batch, column)
        return _select(values >= constants.vector, values > 1)

    return classify


def _remainder(column: str) -> Callable[[Batch, Constants], Codes]:
    def classify(batch: Batch, constants: Constants) -> Codes:
        return np.asarray((getattr(batch, column) % constants.vector != 0).astype(np.int64))

    return classify


_TAIL = {"whole": "{} whole tiles", "< tile": "{} below one tile", "tail": "{} with a ragged last tile"}
_AXES = {"equal": "{} equal on all axes", "differ": "{} that differs between axes"}
_VECTOR = {"=0": "{} a multiple of the vector width", "!=0": "{} not a multiple of the vector width"}
_LENGTH = {">= vector": "{} of at least one vector", "< vector": "{} between 2 and the vector width", "1": "{}=1"}


def _spoken(spec: Mapping[str, str], word: str) -> tuple[Class, ...]:
    return _classes({name: words.format(word) for name, words in spec.items()})


_BWD = (Pass.BWD_DATA,)

_TABLE: tuple[Factor, ...] = (
    Factor("path", "flat: 2D, G = 1, no D tensor, split_k = 1, K of at least one vector",
           _classes({"grouped": "grouped path", "flat": "flat path"}), _path, dispatch=True, passes=_BWD),
    Factor("path", "which 1x1 specialisation can take the problem",
           _classes({"general": "general path", "1x1 strided": "1x1 strided path", "1x1": "1x1 path"}), _path,
           dispatch=True, passes=(Pass.FWD, Pass.BWD_WEIGHT)),
    Factor("ndim", "spatial dimensions", _classes({"2": "2D", "3": "3D", "1": "1D"}),
           lambda b, _: _select(b.ndim == 2, b.ndim == 3), dispatch=True),
    Factor("g", "groups", _classes({"1": "G=1", "2": "G=2", ">2": "G>2"}),
           lambda b, _: np.minimum(b.g, 3) - 1, dispatch=True, wide=_wide(">1", "G>1", "2", ">2")),
    Factor("n", "images", _classes({"1": "N=1", "2-31": "N in 2..31", ">=32": "N>=32"}),
           lambda b, _: _select(b.n == 1, b.n < 32), wide=_wide(">1", "N>1", "2-31", ">=32")),
    Factor("k_size", "K per group against the vector width", _spoken(_LENGTH, "K"), _sized("k"),
           wide=_wide("below", "K below one vector", "< vector", "1")),
    Factor("k_mod_vector", "K modulo the vector width", _spoken(_VECTOR, "K"), _remainder("k"), dispatch=True),
    Factor("c_size", "C per group against the vector width", _spoken(_LENGTH, "C"), _sized("c"),
           wide=_wide("below", "C below one vector", "< vector", "1")),
    Factor("c_mod_vector", "C modulo the vector width", _spoken(_VECTOR, "C"), _remainder("c"), dispatch=True),
    Factor("filter", "all axes 1, all axes 3, an even axis, other",
           _classes({"1": "1x1 filter", "3": "3x3 filter", "even": "even filter", "other": "filter neither 1, 3 nor even"}),
           _filter, wide=_wide("not 1", "filter larger than 1x1", "3", "even", "other")),
    Factor("stride", "largest stride", _classes({"1": "stride 1", "2": "stride 2", "3": "stride 3", ">3": "stride > 3"}),
           lambda b, _: np.minimum(_most(b, b.stride), 4) - 1, wide=_wide(">1", "stride > 1", "2", "3", ">3")),
    Factor("dilation", "largest dilation", _classes({"1": "dilation 1", "2": "dilation 2", ">2": "dilation > 2"}),
           lambda b, _: np.minimum(_most(b, b.dilation), 3) - 1, wide=_wide(">1", "dilation > 1", "2", ">2")),
    Factor("gcd", "gcd(stride, dilation): 1, a proper divisor of the stride on some axis, or the stride itself",
           _classes({"coprime": "stride and dilation coprime", "shared": "stride and dilation sharing a factor",
                     "divides": "stride > 1 that divides the dilation"}), _gcd,
           wide=_wide("not coprime", "stride and dilation not coprime", "shared", "divides")),
    Factor("pad", "largest pad against the dilated filter",
           _classes({"0": "no padding", "< filter": "padding below the filter", ">= filter": "padding of at least the filter"}),
           _pad, wide=_wide(">0", "padding", "< filter", ">= filter")),
    Factor("pad_sides", "left and right pads", _classes({"equal": "left pad = right pad", "differ": "left pad != right pad"}),
           lambda b, _: (b.left_pad != b.right_pad).any(axis=1).astype(np.int64)),
    Factor("stride_image", "stride against the image, on some axis",
           _classes({"<": "stride below the image", "=": "stride = image", ">": "stride > image"}), _stride_image,
           wide=_wide(">=", "stride >= image", "=", ">")),
    Factor("stride_axes", "isotropy of the stride", _spoken(_AXES, "stride"), lambda b, _: _differ(b, b.stride)),
    Factor("dilation_axes", "isotropy of the dilation", _spoken(_AXES, "dilation"), lambda b, _: _differ(b, b.dilation)),
    Factor("shape_axes", "isotropy of filter, image and pads", _spoken(_AXES, "shape"),
           lambda b, _: _differ(b, b.filter, b.input, b.left_pad)),
    Factor("dtypes", "types of in, wei, out", _classes({name: name for name in DTYPE_SETS}), lambda b, _: b.dtypes,
           column="dtypes"),
    Factor("layout", "memory order of the image tensors",
           _classes({"channels last": "channels last", "groups first": "groups first", "channels first": "channels first"}),
           lambda b, _: b.layout, column="layout"),
    Factor("wei_layout", "memory order of the weights", _classes({"c last": "weights with C last", "c before taps": "weights with C before the taps"}),
           lambda b, _: b.wei_layout, column="wei_layout"),
    Factor("numd", "D tensors of the element-wise operation", _classes({"0": "NumD=0", "1": "NumD=1"}), lambda b, _: b.num_d,
           dispatch=True, column="numd"),
    Factor("gap", "packed tensors, or rows with a gap behind them", _classes({"packed": "packed tensors", "strided": "strided tensors"}),
           lambda b, _: b.gap, column="gap"),
    Factor("split_k", "split-K as asked for", _classes({"1": "split_k=1", "2": "split_k=2", ">2": "split_k>2", "auto": "split_k auto"}),
           lambda b, _: _select(b.split_k == 1, b.split_k == 2, b.split_k > 2), dispatch=True, column="split_k",
           wide=_wide("not 1", "split-K", "2", ">2", "auto")),
    Factor("gemms_count", "prod over axes of min(F, stride / gcd(stride, dilation)); sparse: stride > 1",
           _classes({"1 dense": "gemms_count 1", "1 sparse": "gemms_count 1 with stride > 1", "2-8": "gemms_count 2 to 8",
                     "9-31": "gemms_count 9 to 31", "32": "gemms_count 32", "33": "gemms_count 33",
                     "34-64": "gemms_count 34 to 64", ">64": "gemms_count > 64"}), _gemms_count, dispatch=True, passes=_BWD,
           wide=_wide(">1", "gemms_count > 1", "2-8", "9-31", "32", "33", "34-64", ">64")),
    Factor("buckets", "grouped launches of 32 sub-GEMMs", _classes({"1": "one bucket", "2": "two buckets", ">2": "more than two buckets"}),
           lambda b, _: _select(b.gemms_count <= 32, b.gemms_count <= 64), dispatch=True, passes=_BWD,
           wide=_wide(">1", "more than one bucket", "2", ">2")),
    Factor("tilde", "residue classes prod(stride / gcd), and whether the filter fills them",
           _classes({"1": "one residue class", "filled": "all residue classes with taps", "empty": "residue classes without a tap"}),
           lambda b, _: _select(product(b.tildes) == 1, (b.filter >= b.tildes).all(axis=1)), passes=_BWD),
    Factor("dot", "taps of the sub-GEMMs of one problem", _classes({"equal": "sub-GEMMs of equal K", "unequal": "sub-GEMMs of unequal K"}),
           lambda b, _: (b.tap_range[0] != b.tap_range[1]).astype(np.int64), passes=_BWD),
    Factor("never_written", "share of dx that no output reaches",
           _classes({"0": "all of dx written", "<= 1/2": "up to half of dx never written", "> 1/2": "more than half of dx never written"}),
           _never_written, passes=_BWD, wide=_wide(">0", "dx cells that nothing writes", "<= 1/2", "> 1/2")),
    Factor("gemm_m", "GemmM modulo the tile", _spoken(_TAIL, "GemmM"), _tail(0)),
    Factor("gemm_n", "GemmN modulo the tile", _spoken(_TAIL, "GemmN"), _tail(1)),
    Factor("gemm_k", "GemmK modulo the tile", _spoken(_TAIL, "GemmK"), _tail(2)),
    Factor("main_loop", "K blocks of the sub-GEMMs: one in all, several in all, or both kinds in one launch",
           _classes({"none": "no main loop", "all": "a main loop", "mixed": "sub-GEMMs with and without main loop"}),
           _main_loop, dispatch=True, passes=_BWD),
    Factor("main_loop", "K blocks: one or several", _classes({"none": "no main loop", "all": "a main loop"}), _main_loop,
           dispatch=True, passes=(Pass.FWD, Pass.BWD_WEIGHT)),
    Factor("split_n", "largest tensor beyond the limit of one launch: batch split, or one image too large for that",
           _classes({"no": "no split-N", "yes": "split-N", "image": "one image beyond the split-N limit"}, ("yes", "image")), _split_n,
           dispatch=True, wide=_wide("beyond", "tensors beyond the split-N limit", "yes", "image")),
    Factor("bytes", "bytes of the largest tensor",
           _classes({"< 2 GiB": "tensors below 2 GiB", "= 2 GiB": "a tensor of exactly 2 GiB", "> 2 GiB": "a tensor above 2 GiB"},
                    ("= 2 GiB", "> 2 GiB")), lambda b, _: _select(b.largest_bytes < 2**31, b.largest_bytes == 2**31), dispatch=True,
           wide=_wide(">= 2 GiB", "a tensor of at least 2 GiB", "= 2 GiB", "> 2 GiB")),
)  # fmt: skip

FACTORS: dict[Pass, tuple[Factor, ...]] = {
    direction: tuple(factor for factor in _TABLE if direction in factor.passes) for direction in Pass
}


def classify(batch: Batch, factors: tuple[Factor, ...], constants: Constants) -> NDArray[np.uint8]:
    """Class indices, shape (len(batch), len(factors))."""
    codes = np.empty((len(batch), len(factors)), dtype=np.uint8)
    for column, factor in enumerate(factors):
        codes[:, column] = factor.classify(batch, constants)
    return codes
