"""What a table does not say: ``--assume NAME=VALUE[,VALUE...]``, and the constants of the kernels it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product

from bitgate.errors import UsageError
from bitgate.operation import ELEMENTWISE, DtypeSet, elementwise_named
from bitgate.operations.convolution import CONVOLUTIONS, ConvProblem, Pass
from bitgate.operations.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS


@dataclass(frozen=True)
class Constants:
    """Sizes that thresholds refer to: elements of a vector load, the GEMM tile M x N x K, and the bytes from which
    a batch is split (or addressed in 64 bits). The defaults are the common 16-bit instances of the field."""

    vector: int = 8
    tile: tuple[int, int, int] = (128, 128, 32)
    split_n_bytes: int = 2**31


def _vector(constants: Constants, text: str) -> Constants:
    return replace(constants, vector=_positive("vector", text))


def _tile(constants: Constants, text: str) -> Constants:
    parts = text.split("x")
    if len(parts) != 3:
        raise UsageError(f"--assume tile={text}: give M x N x K, such as tile=128x128x32")
    m, n, k = (_positive("tile", part) for part in parts)
    return replace(constants, tile=(m, n, k))


def _split_n_bytes(constants: Constants, text: str) -> Constants:
    return replace(constants, split_n_bytes=_positive("split_n_bytes", text))


_CONSTANTS = {"vector": _vector, "tile": _tile, "split_n_bytes": _split_n_bytes}


def _dtypes(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, dtypes=DtypeSet.parse(text))


def _layout(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, layout=_same_kind("layout", text, INPUT_LAYOUTS, problem.ndim))


def _wei_layout(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, wei_layout=_same_kind("wei_layout", text, WEIGHT_LAYOUTS, problem.ndim))


def _numd(problem: ConvProblem, text: str) -> ConvProblem:
    by_count = {"0": "pass", "1": "nd1"}
    if text not in by_count:
        raise UsageError(f"--assume numd={text}: give 0 or 1")
    return replace(problem, op=ELEMENTWISE[by_count[text]])


def _gap(problem: ConvProblem, text: str) -> ConvProblem:
    by_name = {"packed": False, "0": False, "strided": True, "1": True}
    if text not in by_name:
        raise UsageError(f"--assume gap={text}: give packed or strided")
    return replace(problem, gap=by_name[text])


def _split_k(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, split_k=-1 if text == "auto" else int(text))


def _in_op(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, in_op=elementwise_named(text))


def _wei_op(problem: ConvProblem, text: str) -> ConvProblem:
    return replace(problem, wei_op=elementwise_named(text))


COLUMNS: dict[str, Callable[[ConvProblem, str], ConvProblem]] = {
    "dtypes": _dtypes,
    "layout": _layout,
    "wei_layout": _wei_layout,
    "numd": _numd,
    "gap": _gap,
    "split_k": _split_k,
    "in_op": _in_op,
    "wei_op": _wei_op,
}
"""Quantities that a table of shapes often leaves out: name -> how a value of it is put into a problem."""

PLAIN = frozenset({"numd", "gap"})
"""A table that does not speak of these means the plain operation on packed tensors; the other columns are unknown
then, and their factors are left out."""


@dataclass(frozen=True)
class Assumptions:
    """``columns`` give every row these values (each row once a combination), ``classes`` restrict the field of
    interest to these classes of a factor, ``direction`` is the pass of rows that do not name one."""

    constants: Constants = Constants()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    direction: Pass | None = None

    @classmethod
    def parse(cls, texts: Iterable[str], factor_names: Sequence[str]) -> Assumptions:
        """From ``NAME=VALUE[,VALUE...]``. UsageError names what is unknown."""
        result = cls()
        for text in texts:
            name, _, values = (part.strip() for part in text.partition("="))
            if not name or not values:
                raise UsageError(f"--assume {text}: write NAME=VALUE, such as numd=0 or split_k=1,2")
            result = result._with(name, tuple(values.split(",")), factor_names)
        return result

    def _with(self, name: str, values: tuple[str, ...], factor_names: Sequence[str]) -> Assumptions:
        if name == "pass":
            if values[0] not in {p.value for p in CONVOLUTIONS}:
                raise UsageError(f"--assume pass={values[0]}: give one of {', '.join(p.value for p in CONVOLUTIONS)}")
            return replace(self, direction=Pass(values[0]))
        if name in _CONSTANTS:
            return replace(self, constants=_CONSTANTS[name](self.constants, values[0]))
        if name in COLUMNS:
            return replace(self, columns={**self.columns, name: values})
        if name in factor_names:
            return replace(self, classes={**self.classes, name: values})
        known = ["pass", *_CONSTANTS, *COLUMNS, *factor_names]
        nearest = get_close_matches(name, known, n=1)
        hint = f": did you mean {nearest[0]}?" if nearest else f"; known are {', '.join(known)}"
        raise UsageError(f"--assume {name}=...: no such quantity{hint}")

    def spread(self, problem: ConvProblem, stated: frozenset[str]) -> list[ConvProblem]:
        """The problem once for each combination of the assumed columns that the table does not state."""
        names = [name for name in self.columns if name not in stated]
        spread = []
        for values in product(*(self.columns[name] for name in names)):
            variant = problem
            for name, value in zip(names, values, strict=True):
                try:
                    variant = COLUMNS[name](variant, value)
                except ValueError as error:
                    raise UsageError(f"--assume {name}={value}: {error}") from None
            spread.append(variant)
        return spread


def _positive(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"--assume {name}={text}: give a positive number")
    return int(text)


def _same_kind(what: str, text: str, layouts: Mapping[int, tuple[str, ...]], ndim: int) -> str:
    """The layout of ``ndim`` dimensions that is the same kind as ``text`` (nhwgc -> ndhwgc in 3D)."""
    for names in layouts.values():
        if text in names:
            return layouts[ndim][names.index(text)]
    raise UsageError(f"--assume {what}={text}: known are {', '.join(n for names in layouts.values() for n in names)}")
