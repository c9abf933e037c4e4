"""Shapes that a command line of ``bitgate bench`` requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from bitgate.cli.bench_foreign import TimedProblem, listed, named_cases
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.interop import Refused
from bitgate.model import Problem, case_id
from bitgate.tools.bench.arm import TimedShape


def asked_for(
    cases: Sequence[str],
    case_list: Path | None,
    sweep: str | None,
    dtype: str | None,
    only: str | None,
    project: Project,
) -> tuple[list[TimedShape], list[TimedProblem], list[Refused]]:
    """Return what is to be timed, each problem once, how lines want that, and the refused lines of a list.

    UsageError where nothing is left, or a sweep or list cannot be read.
    """
    of_list, refused = listed(case_list) if case_list is not None else ([], [])
    wanted = [*named_cases(cases), *of_list]
    found = [*(TimedShape(one.problem) for one in wanted), *_swept(sweep, dtype, project)]
    if not found:
        first = f": {len(refused)} lines refused, {refused[0].where}: {refused[0].reason}" if refused else ""
        raise UsageError(f"no case to time{first}; name a case, or a sweep with --sweep, or a list with --cases")
    shapes = _each_once(found)
    for shape in shapes:
        if not shape.problem.outputs:
            raise UsageError(
                f"{case_id(shape.problem)}: has no result that a time could be held to; bitgate verify runs it"
            )
    if only is not None:
        shapes = _matching(shapes, only)
        kept: set[Problem] = {shape.problem for shape in shapes}
        wanted = [one for one in wanted if one.problem in kept]
    return shapes, wanted, refused


def _swept(sweep: str | None, dtype: str | None, project: Project) -> Iterator[TimedShape]:
    if sweep is None:
        if dtype is not None:
            raise UsageError("--dtype is about a sweep's problems: the types of a case are in its id")
        return
    from bitgate.suite.sweep import read_sweep

    read = read_sweep(sweep, project)
    for one in (read if dtype is None else read.with_dtype(dtype)).shapes:
        yield TimedShape(one.problem, one.name, read.name)


def _each_once(found: Iterable[TimedShape]) -> list[TimedShape]:
    """Keep each problem once, in the order of first occurrence, under the name that a sweep has for it."""
    shapes: dict[Problem, TimedShape] = {}
    for shape in found:
        if not shapes.get(shape.problem, TimedShape(shape.problem)).name:
            shapes[shape.problem] = shape
    return list(shapes.values())


def _matching(shapes: Sequence[TimedShape], glob: str) -> list[TimedShape]:
    found = [one for one in shapes if fnmatch(one.name, glob) or fnmatch(case_id(one.problem), glob)]
    if not found:
        names = [one.name or case_id(one.problem) for one in shapes]
        raise UsageError(f"--only '{glob}' matches none of {len(names)} shapes, such as {', '.join(names[:3])}")
    return found
