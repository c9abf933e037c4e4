"""The factors of a convolution test, raw ones read off the problem and derived ones that its GEMMs follow from.

One table holds all: how each is computed, its classes in order, which classes need gigabytes (plan-only), and whether
host code branches on it (dispatch). ``FACTORS[direction]`` is the list of a pass. Constraints between factors are not
listed: what is impossible follows from the maths of real problems (``pool.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bitgate.model.space.factor import Factor, classes, select, spoken, union
from bitgate.model.space.quantity import DTYPE_SETS
from bitgate.ops.convolution.problem import CONVOLUTIONS, Pass
from bitgate.ops.convolution.space import measures
from bitgate.ops.convolution.space.batch import every_axis, product, some_axis

_TAIL = {"whole": "{} whole tiles", "< tile": "{} below one tile", "tail": "{} with a ragged last tile"}
_AXES = {"equal": "{} equal on all axes", "differ": "{} that differs between axes"}
_VECTOR = {"=0": "{} a multiple of the vector width", "!=0": "{} not a multiple of the vector width"}
_LENGTH = {">= vector": "{} of at least one vector", "< vector": "{} between 2 and the vector width", "1": "{}=1"}

_BWD = (Pass.BWD_DATA,)


def _of_column(name: str, what: str, words: Mapping[str, str]) -> Factor:
    """Return a factor whose name is that of a column of the batch, and of a table."""
    return Factor(name, what, classes(words), lambda b, _: getattr(b, name), column=name)


_TABLE: tuple[Factor, ...] = (
    Factor(
        "path",
        "flat: 2D, G = 1, no D tensor, split_k = 1, K of at least one vector",
        classes({"grouped": "grouped path", "flat": "flat path"}),
        measures.path,
        dispatch=True,
        only=_BWD,
    ),
    Factor(
        "path",
        "which 1x1 specialisation can take the problem",
        classes({"general": "general path", "1x1 strided": "1x1 strided path", "1x1": "1x1 path"}),
        measures.path,
        dispatch=True,
        only=(Pass.FWD, Pass.BWD_WEIGHT),
    ),
    Factor(
        "ndim",
        "spatial dimensions",
        classes({"2": "2D", "3": "3D", "1": "1D"}),
        lambda b, _: select(b.ndim == 2, b.ndim == 3),
        dispatch=True,
        is_granted=True,
    ),
    Factor(
        "g",
        "groups",
        classes({"1": "G=1", "2": "G=2", ">2": "G>2"}),
        lambda b, _: np.minimum(b.g, 3) - 1,
        dispatch=True,
        wide=union(">1", "G>1", "2", ">2"),
        is_granted=True,
    ),
    Factor(
        "n",
        "images",
        classes({"1": "N=1", "2-31": "N in 2..31", ">=32": "N>=32"}),
        lambda b, _: select(b.n == 1, b.n < 32),
        wide=union(">1", "N>1", "2-31", ">=32"),
    ),
    Factor(
        "k_size",
        "K per group against the vector width",
        spoken(_LENGTH, "K"),
        measures.sized("k"),
        wide=union("below", "K below one vector", "< vector", "1"),
        is_granted=True,
    ),
    Factor("k_mod_vector", "K modulo the vector width", spoken(_VECTOR, "K"), measures.remainder("k"), dispatch=True),
    Factor(
        "c_size",
        "C per group against the vector width",
        spoken(_LENGTH, "C"),
        measures.sized("c"),
        wide=union("below", "C below one vector", "< vector", "1"),
    ),
    Factor("c_mod_vector", "C modulo the vector width", spoken(_VECTOR, "C"), measures.remainder("c"), dispatch=True),
    Factor(
        "filter",
        "all axes 1, all axes 3, an even axis, other",
        classes({"1": "1x1 filter", "3": "3x3 filter", "even": "even filter", "other": "filter neither 1, 3 nor even"}),
        measures.filter,
        wide=union("not 1", "filter larger than 1x1", "3", "even", "other"),
    ),
    Factor(
        "stride",
        "largest stride on an axis with several outputs",
        classes({"1": "stride 1", "2": "stride 2", "3": "stride 3", ">3": "stride > 3"}),
        lambda b, _: np.minimum(measures.most(b, b.felt_stride), 4) - 1,
        wide=union(">1", "stride > 1", "2", "3", ">3"),
    ),
    Factor(
        "dilation",
        "largest dilation on an axis with several taps",
        classes({"1": "dilation 1", "2": "dilation 2", ">2": "dilation > 2"}),
        lambda b, _: np.minimum(measures.most(b, b.felt_dilation), 3) - 1,
        wide=union(">1", "dilation > 1", "2", ">2"),
    ),
    Factor(
        "gcd",
        "gcd(stride, dilation): 1, a proper divisor of the stride on some axis, or the stride itself",
        classes(
            {
                "coprime": "stride and dilation coprime",
                "shared": "stride and dilation sharing a factor",
                "divides": "stride > 1 that divides the dilation",
            }
        ),
        measures.gcd,
        wide=union("not coprime", "stride and dilation not coprime", "shared", "divides"),
    ),
    Factor(
        "pad",
        "largest pad against the dilated filter",
        classes(
            {"0": "no padding", "< filter": "padding below the filter", ">= filter": "padding of at least the filter"}
        ),
        measures.pad,
        wide=union(">0", "padding", "< filter", ">= filter"),
    ),
    Factor(
        "pad_sides",
        "left and right pads",
        classes({"equal": "left pad = right pad", "differ": "left pad != right pad"}),
        lambda b, _: some_axis(b.left_pad != b.right_pad).astype(np.int64),
    ),
    Factor(
        "stride_image",
        "stride against the image, on some axis",
        classes({"<": "stride below the image", "=": "stride = image", ">": "stride > image"}),
        measures.stride_image,
        wide=union(">=", "stride >= image", "=", ">"),
    ),
    Factor(
        "stride_axes",
        "isotropy of the stride",
        spoken(_AXES, "stride"),
        lambda b, _: measures.differ(b, b.felt_stride),
    ),
    Factor(
        "dilation_axes",
        "isotropy of the dilation",
        spoken(_AXES, "dilation"),
        lambda b, _: measures.differ(b, b.felt_dilation),
    ),
    Factor(
        "shape_axes",
        "isotropy of filter, image and pads",
        spoken(_AXES, "shape"),
        lambda b, _: measures.differ(b, b.filter, b.input, b.left_pad),
    ),
    _of_column("dtypes", "types of in, wei, out", {name: name for name in DTYPE_SETS}),
    _of_column(
        "layout",
        "memory order of the image tensors",
        {"channels last": "channels last", "groups first": "groups first", "channels first": "channels first"},
    ),
    _of_column(
        "wei_layout",
        "memory order of the weights",
        {"c last": "weights with C last", "c before taps": "weights with C before the taps"},
    ),
    Factor(
        "numd",
        "D tensors of the element-wise operation",
        classes({"0": "NumD=0", "1": "NumD=1"}),
        lambda b, _: b.num_d,
        dispatch=True,
        column="numd",
        is_granted=True,
    ),
    *(
        Factor(
            f"{operand}_op",
            f"what each element of {operand} goes through before it is multiplied",
            classes({"pass": f"{operand} as it is", "scale": f"{operand} scaled", "relu": f"relu on {operand}"}),
            measures.operand(f"{operand}_op"),
            column=f"{operand}_op",
            only=(Pass.FWD,),
            wide=union("some", f"an operation on {operand}", "scale", "relu"),
        )
        for operand in ("in", "wei")
    ),
    _of_column(
        "gap",
        "packed tensors, or rows with a gap after them",
        {"packed": "packed tensors", "strided": "strided tensors"},
    ),
    Factor(
        "split_k",
        "split-K as asked for",
        classes({"1": "split_k=1", "2": "split_k=2", ">2": "split_k>2", "auto": "split_k auto"}),
        lambda b, _: select(b.split_k == 1, b.split_k == 2, b.split_k > 2),
        dispatch=True,
        column="split_k",
        wide=union("not 1", "split-K", "2", ">2", "auto"),
        is_granted=True,
    ),
    Factor(
        "k_slices",
        "how split-K divides the K blocks of the deepest sub-GEMM",
        classes(
            {
                "1": "one K slice",
                "auto": "K slices chosen by the kernel",
                "empty": "more K slices than K blocks",
                "even": "equal K slices",
                "uneven": "unequal K slices",
            }
        ),
        measures.k_slices,
        dispatch=True,
        column="split_k",
    ),
    Factor(
        "gemms_count",
        "prod over axes of min(F, stride / gcd(stride, dilation)); sparse: stride > 1",
        classes(
            {
                "1 dense": "gemms_count 1",
                "1 sparse": "gemms_count 1 with stride > 1",
                "2-8": "gemms_count 2 to 8",
                "9-31": "gemms_count 9 to 31",
                "32": "gemms_count 32",
                "33": "gemms_count 33",
                "34-64": "gemms_count 34 to 64",
                ">64": "gemms_count > 64",
            }
        ),
        measures.gemms_count,
        dispatch=True,
        only=_BWD,
        wide=union(">1", "gemms_count > 1", "2-8", "9-31", "32", "33", "34-64", ">64"),
    ),
    Factor(
        "buckets",
        "grouped launches of 32 sub-GEMMs",
        classes({"1": "one bucket", "2": "two buckets", ">2": "more than two buckets"}),
        lambda b, _: select(b.gemms_count <= 32, b.gemms_count <= 64),
        dispatch=True,
        only=_BWD,
        wide=union(">1", "more than one bucket", "2", ">2"),
    ),
    Factor(
        "tilde",
        "residue classes prod(stride / gcd), and whether the filter fills them",
        classes(
            {
                "1": "one residue class",
                "filled": "all residue classes with taps",
                "empty": "residue classes without a tap",
            }
        ),
        lambda b, _: select(product(b.tildes) == 1, every_axis(b.filter >= b.tildes)),
        only=_BWD,
    ),
    Factor(
        "dot",
        "taps of the sub-GEMMs of one problem",
        classes({"equal": "sub-GEMMs of equal K", "unequal": "sub-GEMMs of unequal K"}),
        lambda b, _: (b.tap_range[0] != b.tap_range[1]).astype(np.int64),
        only=_BWD,
    ),
    Factor(
        "never_written",
        "share of dx that no output reaches",
        classes(
            {
                "0": "all of dx written",
                "<= 1/2": "up to half of dx never written",
                "> 1/2": "more than half of dx never written",
            }
        ),
        measures.never_written,
        only=_BWD,
        wide=union(">0", "dx cells that nothing writes", "<= 1/2", "> 1/2"),
    ),
    Factor("gemm_m", "GemmM modulo the tile", spoken(_TAIL, "GemmM"), measures.tail(0)),
    Factor("gemm_n", "GemmN modulo the tile", spoken(_TAIL, "GemmN"), measures.tail(1)),
    Factor("gemm_k", "GemmK modulo the tile", spoken(_TAIL, "GemmK"), measures.tail(2)),
    Factor(
        "main_loop",
        "K blocks of the sub-GEMMs: one in all, several in all, or both kinds in one launch",
        classes({"none": "no main loop", "all": "a main loop", "mixed": "sub-GEMMs with and without main loop"}),
        measures.main_loop,
        dispatch=True,
        only=_BWD,
    ),
    Factor(
        "main_loop",
        "K blocks: one or several",
        classes({"none": "no main loop", "all": "a main loop"}),
        measures.main_loop,
        dispatch=True,
        only=(Pass.FWD, Pass.BWD_WEIGHT),
    ),
    Factor(
        "split_n",
        "largest tensor beyond the limit of one launch: batch split, or one image too large for that",
        classes({"no": "no split-N", "yes": "split-N", "image": "one image too large for split-N"}, ("yes", "image")),
        measures.split_n,
        dispatch=True,
        wide=union("beyond", "tensors that need split-N", "yes", "image"),
    ),
    Factor(
        "bytes",
        "bytes of the largest tensor",
        classes(
            {
                "< 2 GiB": "tensors below 2 GiB",
                "= 2 GiB": "a tensor of exactly 2 GiB",
                "> 2 GiB": "a tensor above 2 GiB",
            },
            ("= 2 GiB", "> 2 GiB"),
        ),
        lambda b, _: select(b.largest_bytes < 2**31, b.largest_bytes == 2**31),
        dispatch=True,
        wide=union(">= 2 GiB", "a tensor of at least 2 GiB", "= 2 GiB", "> 2 GiB"),
    ),
)

FACTORS: dict[Pass, tuple[Factor, ...]] = {
    direction: tuple(factor for factor in _TABLE if not factor.only or direction in factor.only)
    for direction in CONVOLUTIONS
}
