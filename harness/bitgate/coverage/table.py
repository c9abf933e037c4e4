"""A team's list of test cases, whatever file it comes from: rows with names, and what the file speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bitgate.coverage.assume import PLAIN, Assumptions
from bitgate.errors import UsageError
from bitgate.operation import DtypeSet
from bitgate.operation.foreign import Refused
from bitgate.operations.convolution import CONVOLUTIONS, ConvProblem, Pass, default_layout, default_weight_layout

EVERYTHING = frozenset({"dtypes", "layout", "wei_layout", "numd", "gap", "split_k", "in_op", "wei_op"})


@dataclass(frozen=True)
class Row:
    name: str
    problem: ConvProblem


@dataclass(frozen=True)
class Table:
    """``stated``: the columns (see ``assume.COLUMNS``) that the file gives; what it leaves out has default values in
    the rows and takes no part as a factor. ``refused`` are lines that no row came of, ``notes`` what else could
    not be read."""

    source: str
    rows: tuple[Row, ...]
    stated: frozenset[str]
    notes: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Question:
    """What a reader needs beside the path: rows wanted (``--where``), and the pass of rows that name none."""

    where: tuple[tuple[str, str], ...] = ()
    direction: Pass | None = None


def empty_table() -> Table:
    """No cases: what a table is generated from nothing against."""
    return Table("nothing", (), EVERYTHING)


Reader = Callable[[Path, Question], Table]


def shape_problem(
    direction: Pass,
    numbers: tuple[int, int, int, int],
    spatial: tuple[tuple[int, ...], ...],
    dtypes: str = "f16",
    layout: str = "",
    wei_layout: str = "",
) -> ConvProblem:
    """A plain problem from (G, N, K, C) and (filter, input, stride, dilation, left pads, right pads)."""
    ndim = len(spatial[1])
    g, n, k, c = numbers
    filter_, input_, stride, dilation, left_pad, right_pad = spatial
    return ConvProblem(
        direction=direction,
        dtypes=DtypeSet.parse(dtypes),
        layout=layout or default_layout(ndim),
        wei_layout=wei_layout or default_weight_layout(ndim),
        g=g,
        n=n,
        k=k,
        c=c,
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        left_pad=left_pad,
        right_pad=right_pad,
    )


_SPELLINGS = {
    Pass.BWD_DATA: ("bwd_data", "bwddata", "backward_data"),
    Pass.BWD_WEIGHT: ("bwd_weight", "bwdweight", "backward_weight"),
    Pass.FWD: ("fwd", "forward"),
}


def pass_spoken_of(path: Path, text: str) -> Pass:
    """The pass that the file's name tells, else the one that its text names most often, else bwd_data."""
    for content in (path.name.lower(), text.lower()):
        counts = {direction: sum(content.count(word) for word in words) for direction, words in _SPELLINGS.items()}
        best = max(counts, key=lambda direction: counts[direction])
        if counts[best]:
            return best
    return Pass.BWD_DATA


def read_table(path: Path, question: Question, readers: dict[str, Reader], fallback: Reader) -> Table:
    """The table of a file by its suffix. UsageError if it is missing or holds no case."""
    if not path.is_file():
        raise UsageError(
            f"{path}: no such file; give a .toml or .csv table, CK's gtest source, or a list of command lines"
        )
    try:
        table = _convolutions(readers.get(path.suffix.lower(), fallback)(path, question))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    return _with_rows(table, question)


def together(source: str, tables: Iterable[Table], question: Question) -> Table:
    """Tables of ours as one, in which each problem is one row. UsageError if they hold no case."""
    rows: dict[str, Row] = {}
    refused: list[Refused] = []
    for table in map(_convolutions, tables):
        refused += table.refused
        for row in table.rows:
            rows.setdefault(repr(row.problem), row)
    return _with_rows(Table(source, tuple(rows.values()), EVERYTHING, refused=tuple(refused)), question)


def _with_rows(table: Table, question: Question) -> Table:
    if not table.rows:
        wanted = " and ".join(f"{name}={value}" for name, value in question.where)
        notes = [*(f"{line.where}: {line.reason}" for line in table.refused), *table.notes]
        why = f" with {wanted}" if wanted else f": {notes[0]}" if notes else ""
        raise UsageError(f"{table.source}: no case found{why}; nothing to cover")
    return table


def _convolutions(table: Table) -> Table:
    """Without matrix products: the factors are a convolution's."""
    rows = tuple(row for row in table.rows if row.problem.operation.name in CONVOLUTIONS)
    others = (row.name for row in table.rows if row.problem.operation.name not in CONVOLUTIONS)
    products = tuple(Refused(name, "a matrix product has none of the factors") for name in others)
    return replace(table, rows=rows, refused=table.refused + products)


def spread(table: Table, assumptions: Assumptions) -> Iterator[Row]:
    """The rows as they run under the assumptions: once for each assumed value of a column that the table lacks."""
    for row in table.rows:
        for problem in assumptions.spread(row.problem, table.stated):
            yield Row(row.name, problem)


def counted_columns(stated: frozenset[str], assumptions: Assumptions) -> frozenset[str]:
    """Columns whose factors take part: those that vary by statement or by assumption. A quantity of PLAIN that nobody
    mentions is known to be plain, so that its other values are holes."""
    varied = {name for name, values in assumptions.columns.items() if len(values) > 1}
    fixed = {name for name, values in assumptions.columns.items() if len(values) == 1}
    return frozenset((stated | varied | PLAIN) - fixed)
