"""The columns that a table of shapes often leaves out, and how a value of one is put into a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.model.dtype import DtypeSet
from bitgate.model.elementwise import ELEMENTWISE, elementwise_named
from bitgate.model.problem import ProblemError

Put = Callable[[Any, str], Any]
"""A function of a problem and the text of a value, which returns the problem with it. ValueError says what is wrong."""


@dataclass(frozen=True)
class Column:
    """A column that tables may leave out.

    ``is_plain``: a table without the column means the plain operation on packed tensors. Otherwise the value is
    unknown, and its factors are left out, which is reported where ``is_reported``.
    """

    put: Put
    is_plain: bool = False
    is_reported: bool = True

    def put_if_possible(self, problem: Any, text: str) -> Any:
        """Return the problem with the value; None if there is no such problem. ValueError if it is no value at all."""
        try:
            return self.put(problem, text)
        except ProblemError:
            return None


def _dtypes(problem: Any, text: str) -> Any:
    return replace(problem, dtypes=DtypeSet.parse(text))


def _numd(problem: Any, text: str) -> Any:
    by_count = {"0": "pass", "1": "nd1"}
    if text not in by_count:
        raise UsageError(f"--assume numd={text}: give 0 or 1")
    return replace(problem, op=ELEMENTWISE[by_count[text]])


def _gap(problem: Any, text: str) -> Any:
    by_name = {"packed": False, "0": False, "strided": True, "1": True}
    if text not in by_name:
        raise UsageError(f"--assume gap={text}: give packed or strided")
    return replace(problem, gap=by_name[text])


def _split_k(problem: Any, text: str) -> Any:
    return replace(problem, split_k=-1 if text == "auto" else int(text))


def _layout(problem: Any, text: str) -> Any:
    return replace(problem, layout=text)


def _in_op(problem: Any, text: str) -> Any:
    return replace(problem, in_op=elementwise_named(text))


def _wei_op(problem: Any, text: str) -> Any:
    return replace(problem, wei_op=elementwise_named(text))


COMMON: dict[str, Column] = {
    "dtypes": Column(_dtypes),
    "layout": Column(_layout),
    "numd": Column(_numd, is_plain=True, is_reported=False),
    "gap": Column(_gap, is_plain=True, is_reported=False),
    "split_k": Column(_split_k),
    "in_op": Column(_in_op, is_reported=False),
    "wei_op": Column(_wei_op, is_reported=False),
}
"""The columns of problems that have fields ``dtypes``, ``layout``, ``op``, ``gap``, ``split_k``, ``in_op``,
``wei_op``."""

FIELD = {"numd": "op"}
"""The fields of columns whose names differ."""

_COLUMN = {field: name for name, field in FIELD.items()}


def column_of(field: str) -> str:
    """Return the name of the column that gives a problem's field."""
    return _COLUMN.get(field, field)
