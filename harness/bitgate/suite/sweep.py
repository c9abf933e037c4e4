"""Sweeps: named lists of problems to measure over. A sweep is a case table of problems alone; ``docs/suites.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from bitgate.core.errors import UsageError, near
from bitgate.core.project import Project
from bitgate.core.table_fields import FieldError
from bitgate.model import Problem, ProblemError, case_id, parse_case_id
from bitgate.suite.expand import expand
from bitgate.suite.row import CaseRow
from bitgate.suite.table import DEFAULT_SET, about, load_set, set_names

FOLDER = "sweeps"
"""Of a folder of suites. It holds no case table of the name that suites have, so no tier runs it."""

_OF_RUNS = ("fills", "seeds", "schedules")


@dataclass(frozen=True)
class SweepShape:
    """One problem of a sweep, under a name that no other of the sweep has."""

    name: str
    problem: Problem
    place: str
    """``file:line`` of its row."""


@dataclass(frozen=True)
class Sweep:
    """Its shapes in the order of the file. ``source`` says where they come from, ``note`` what was reconstructed."""

    name: str
    title: str
    source: str
    note: str
    shapes: tuple[SweepShape, ...]

    def with_dtype(self, dtypes: str) -> Sweep:
        """Return the same problems in other types: ``bf16``, ``f16_f32_f16``. UsageError where a problem has no such
        form."""
        return replace(self, shapes=tuple(replace(one, problem=_retyped(one, dtypes)) for one in self.shapes))


def read_sweep(text: str, project: Project) -> Sweep:
    """Read a file, or one by its name in the folder ``sweeps`` of a project's suites or of bitgate's.

    UsageError names file, row and field, and what to do: for what no case table may hold, for what says how a problem
    is run and not which, and for a name or a problem that it has twice.
    """
    path = _file(text, project)
    try:
        said = about(path)
        rows = [(name, row) for name in set_names(path) for row in load_set(path, name)]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if "title" not in said:
        raise UsageError(f"{path}: title is missing: write title = '...', what the sweep is, above its rows")
    shapes = tuple(shape for name, row in rows for shape in _shapes(row, "" if name == DEFAULT_SET else name))
    if not shapes:
        raise UsageError(f"{path}: no rows: write [[case]] with a name, and a case or a shape")
    for what, values in (
        ("the name", [one.name for one in shapes]),
        ("the problem", [case_id(one.problem) for one in shapes]),
    ):
        _check_once(what, values, shapes)
    return Sweep(path.stem, said["title"], said.get("source", ""), said.get("note", ""), shapes)


def sweeps(project: Project) -> dict[str, Path]:
    """Return sweeps by name; a project's before bitgate's."""
    files = (file for shelf in reversed(project.shelves) for file in sorted((shelf / FOLDER).glob("*.toml")))
    return {file.stem: file for file in files}


def _file(text: str, project: Project) -> Path:
    known = sweeps(project)
    path = Path(text)
    if path.suffix == ".toml" or path.name != text:
        if not path.is_file():
            raise UsageError(f"{path}: no such file; give a sweep's file, or a name: {', '.join(known)}")
        return path
    if text not in known:
        raise UsageError(f"no sweep is called '{text}': {near(text, known)}; or give a file, ./NAME.toml")
    return known[text]


def _shapes(row: CaseRow, of_set: str) -> Iterator[SweepShape]:
    """Named after the row, the set if it has a name, and what sets them apart."""
    plain = CaseRow(row.origin, row.why, row.axes, row.locked, stated=row.stated)
    steps = [*row.axes, *row.locked[0]]
    odd = [one.name for one in fields(CaseRow) if getattr(row, one.name) != getattr(plain, one.name)]
    for name in (*odd, *(name for name in _OF_RUNS if name in steps)):
        name = {"refused": "expect"}.get(name, name)
        raise FieldError(row.origin, name, "says how a problem is run; a sweep lists problems only, so remove it")
    problems = [candidate.problem for candidate in expand(row)]
    for suffix, problem in zip(_what_differs(problems), problems, strict=True):
        yield SweepShape(" ".join(filter(None, (row.name, of_set, suffix))), problem, row.origin.place)


def _what_differs(problems: list[Problem]) -> list[str]:
    """Return, of several problems of one row, the parts of their ids that not all have: ``fwd n32``."""
    words = [[p.operation.name, *_parts(case_id(p).removeprefix(f"{p.operation.name}_"))] for p in problems]
    common = set(words[0]).intersection(*words) if words else set()
    return [" ".join(word for word in each if word not in common) for each in words]


def _parts(words: str) -> list[str]:
    """Split ``g1n32_y3x3`` into g1, n32, y3x3."""
    return [part for word in words.split("_") for part in re.split(r"(?<=\d)(?=[a-wyz])", word)]


def _check_once(what: str, values: list[str], shapes: tuple[SweepShape, ...]) -> None:
    first: dict[str, SweepShape] = {}
    for value, shape in zip(values, shapes, strict=True):
        if (other := first.setdefault(value, shape)) is not shape:
            raise UsageError(f"{shape.place}: {what} {value} is at {other.place} already; remove or rename one")


def _retyped(shape: SweepShape, dtypes: str) -> Problem:
    problem = shape.problem
    name = problem.operation.name
    rest = case_id(problem).removeprefix(f"{name}_{problem.dtypes}")
    try:
        return parse_case_id(f"{name}_{dtypes}{rest}")
    except ProblemError as error:
        raise UsageError(f"{shape.place}: {shape.name} in {dtypes}: {error}") from None
