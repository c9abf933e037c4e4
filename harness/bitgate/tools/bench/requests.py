"""Other programs' lines as ``bitgate bench`` takes them: problems, how they are to be timed, and ckProfiler's line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.interop import (
    Found,
    PerfRequest,
    Refused,
    Understood,
    command_of,
    found_in_case,
    found_in_list,
    is_foreign,
    one_line,
    perf_of,
    program_of,
)
from bitgate.model import Problem, ProblemError, case_id
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench.arm import TimedShape
from bitgate.tools.bench.settings import Settings
from bitgate.verify.trace import format_perf

USUAL = Settings()


@dataclass(frozen=True)
class TimedProblem:
    """A problem to time, for ``count`` lines that ask for it alike; ``line`` and ``where`` are the first one's."""

    problem: Problem
    perf: PerfRequest = field(default_factory=PerfRequest)
    program: str = ""
    line: str = ""
    where: str = ""
    count: int = 1

    def as_json(self) -> dict[str, Any]:
        return {"case": case_id(self.problem), "line": self.line, "count": self.count, "notes": list(self.perf.notes)}


def named_cases(cases: Iterable[str]) -> list[TimedProblem]:
    """Return the problems of case ids and command lines. Raises UsageError for one that cannot be read or timed."""
    wanted: list[TimedProblem] = []
    for case in cases:
        try:
            for entry in found_in_case(case):
                wanted.append(_wanted(entry))
                if refusal := wanted[-1].perf.refusal:
                    raise UsageError(f"{one_line(case)}: {refusal}")
        except ProblemError as error:
            raise UsageError(str(error)) from None
    return merged(wanted)


def listed(path: Path) -> tuple[list[TimedProblem], list[Refused]]:
    """Return the problems of a list or a table, and its refused lines. Raises UsageError if it cannot be read."""
    try:
        entries = _of_cases(path) if path.suffix.lower() == ".toml" else found_in_list(path)
        wanted, refused = _sorted_out(entries)
    except OSError as error:
        raise UsageError(f"--cases {path} cannot be read: {error.strerror}") from None
    return merged(wanted), refused


def _of_cases(path: Path) -> Iterator[Found]:
    from bitgate.model.space.table import TableRequest
    from bitgate.tools.coverage.readers import read

    table = read(path, TableRequest())
    yield from (Understood(row.name, row.problem) for row in table.rows)
    yield from table.refused


def _sorted_out(entries: Iterable[Found]) -> tuple[list[TimedProblem], list[Refused]]:
    wanted: list[TimedProblem] = []
    refused: list[Refused] = []
    for entry in entries:
        if isinstance(entry, Refused):
            refused.append(entry)
            continue
        try:
            one = _wanted(entry)
        except ProblemError as error:
            refused.append(Refused(entry.where, str(error).removeprefix(f"{one_line(entry.line)}: ")))
            continue
        if one.perf.refusal:
            refused.append(Refused(entry.where, one.perf.refusal))
        else:
            wanted.append(one)
    return wanted, refused


def _wanted(entry: Understood) -> TimedProblem:
    program = program_of(entry.line) if is_foreign(entry.line) else ""
    # benchdnn's lines begin with an option or a descriptor.
    line = entry.line if program in ("", "benchdnn") else command_of(entry.line)
    perf = perf_of(entry)
    if perf.reference == "gpu" and (perf.fill != "exact" or getattr(entry.problem, "is_split", False)):
        perf = replace(perf, reference="auto")  # decimals are held to bounds, and the naive kernel takes no split-K
    return TimedProblem(entry.problem, perf, program, line, entry.where)


def merged(wanted: Iterable[TimedProblem]) -> list[TimedProblem]:
    """Return each problem once that is asked for in one way, in the order in which they first come."""
    found: dict[tuple[Problem, PerfRequest, str], TimedProblem] = {}
    for one in wanted:
        key = (one.problem, one.perf, one.program)
        found[key] = replace(found[key], count=found[key].count + one.count) if key in found else one
    return list(found.values())


def settings_of(base: Settings, perf: PerfRequest) -> Settings:
    """Settings as a line asks for them, where ``base`` is as usual: what is stated outside the line holds. A number of
    launches is timed launch by launch; a time is shared out among the samples."""
    fill = perf.fill if base.fill == USUAL.fill else base.fill
    reference = perf.reference if fill == perf.fill else USUAL.reference
    settings = replace(base, fill=fill, reference=reference, cold=base.cold or perf.cold)
    if base.samples == USUAL.samples and perf.launches is not None:
        return replace(settings, samples=perf.launches, batch_seconds=0.0)
    if perf.seconds is not None:
        return replace(settings, batch_seconds=perf.seconds / settings.samples)
    return settings


def by_settings(
    shapes: Iterable[TimedShape], wanted: Iterable[TimedProblem], base: Settings
) -> list[tuple[Settings, tuple[TimedShape, ...]]]:
    """Shapes that are timed alike together. Of a problem that several lines ask for the first says how."""
    asked: dict[Problem, PerfRequest] = {}
    for one in wanted:
        asked.setdefault(one.problem, one.perf)
    groups: dict[Settings, list[TimedShape]] = {}
    for shape in shapes:
        perf = asked.get(shape.problem)
        groups.setdefault(base if perf is None else settings_of(base, perf), []).append(shape)
    return [(settings, tuple(members)) for settings, members in groups.items()]


def notes(wanted: Iterable[TimedProblem]) -> list[str]:
    """Return what lines ask for and is done otherwise, each once."""
    return list(dict.fromkeys(note for one in wanted for note in one.perf.notes))


def repeated(wanted: Iterable[TimedProblem]) -> list[str]:
    """Return the lines that occur several times, each with its count, the most frequent first."""
    several = sorted((one for one in wanted if one.count > 1), key=lambda one: -one.count)
    return [f"{one.count} x {one.line or case_id(one.problem)}" for one in several]


def ck_profiler_lines(wanted: Iterable[TimedProblem], rows: Iterable[Timing]) -> Iterator[str]:
    """Yield ckProfiler's Perf line, by the mean time, of each kernel on each problem that a line of ckProfiler asks
    for."""
    found = list(rows)
    for one in wanted:
        if one.program == "ckProfiler":
            problem: Any = one.problem
            split = f", SplitK {problem.split_k}" if problem.is_split else ""
            for row in (row for row in found if row.case == case_id(problem) and row.status is TimingStatus.TIMED):
                milliseconds = 1e3 * sum(row.seconds) / len(row.seconds)
                yield f"{format_perf(problem, milliseconds, width=10)}, {row.key.name}{split}"


def requested_shapes(
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
