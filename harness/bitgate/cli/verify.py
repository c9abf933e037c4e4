"""``bitgate verify CASE...``: cases through the spine, with diagnosis; prints verdicts, records nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from bitgate.errors import UsageError
from bitgate.exact.fill import FILLS
from bitgate.kernel.arguments import find_instance
from bitgate.problem import ConvProblem, ProblemError
from bitgate.problem.foreign import controls_of, is_foreign, problems_of
from bitgate.record import Outcome, Verdict, to_event
from bitgate.verify.planned import PlannedCase

if TYPE_CHECKING:
    from bitgate.verify.running import Run
    from bitgate.verify.session import Session

app = typer.Typer(add_completion=False)

REFERENCES = ("auto", "exact", "ordered", "gpu", "checksum", "none")

OF_VERIFICATION = ("none", "auto", "gpu")
"""The reference that CK's verification mode means: 0 none, 1 on the CPU, 2 the naive kernel on the device."""


@dataclass(frozen=True)
class Asked:
    """The command line, read."""

    problems: tuple[tuple[ConvProblem, str], ...]
    """Each with the reference that it is compared with."""
    kernel: str | None
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str
    load: tuple[Path, ...]
    isolate: bool
    laws: bool
    time_limit: float
    dump: Path | None
    verbose: bool


@app.command()
def verify(
    cases: Annotated[
        list[str],
        typer.Argument(
            metavar="CASE...", help="Case ids, or quoted ckProfiler, CK example, MIOpenDriver, benchdnn lines."
        ),
    ],
    kernel: Annotated[
        str | None, typer.Option(help="Glob over family.instance; default: every kernel that is no reference.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="host, or a gfx target; default: the best one present.")] = None,
    fill: Annotated[str, typer.Option(help=f"Data: {', '.join(FILLS)}.")] = "exact",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data.")] = 0,
    schedule: Annotated[str, typer.Option(help="Thread order on the host: forward, reverse, random:N.")] = "forward",
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A kernel option; repeatable.")] = None,
    reference: Annotated[
        str | None, typer.Option(help=f"{', '.join(REFERENCES)}; default: auto, or what a CK command line says.")
    ] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Declaration of your kernels.")] = None,
    isolate: Annotated[
        bool, typer.Option("--isolate", help="Each case in a process of its own (always so with --load).")
    ] = False,
    laws: Annotated[
        bool, typer.Option("--laws", help="Hold it to the laws of a convolution instead of a reference.")
    ] = False,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds that an isolated case may take.")] = 600.0,
    dump: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write inputs, result and reference as .npy.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tensors, descriptors and launches; on stderr beside --json.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run cases and compare every bit with a CPU reference.

    Exit codes: 0 green, 1 a defect was found, 2 usage or environment, 3 nothing was compared.
    """
    if reference is not None:
        _one_of("reference", reference, REFERENCES)
    asked = Asked(
        problems=tuple((problem, reference or wanted) for case in cases for problem, wanted in _problems(case)),
        kernel=kernel,
        options=_options(option or []),
        fill=_one_of("fill", fill, FILLS),
        seed=seed,
        schedule=schedule,
        load=tuple(load or ()),
        isolate=isolate or bool(load and not laws),
        laws=laws,
        time_limit=time_limit,
        dump=dump,
        verbose=verbose,
    )
    if laws and (isolate or dump or verbose or reference is not None):
        raise UsageError(
            "--laws knows no reference and needs the case in this process:"
            " leave --reference, --dump, --verbose and --isolate out"
        )
    if asked.isolate and (asked.dump or asked.verbose):
        what = "--dump" if asked.dump else "--verbose"
        raise UsageError(f"{what} needs the case in this process: leave --isolate out (it goes with --load)")
    verdicts: list[Verdict] = []
    for verdict in _verdicts(asked, target, sys.stderr if json_output else sys.stdout):
        verdicts.append(verdict)
        if not json_output:
            print_verdict(verdict)
    code = exit_code(verdicts)
    if json_output:
        summary = _summary(verdicts) | {"exit": code}
        print(json.dumps({"verdicts": [to_event(verdict) for verdict in verdicts], "summary": summary}, indent=2))
    elif len(verdicts) > 1 or code == 3:
        print(_closing(verdicts, code))
    return code


def exit_code(verdicts: list[Verdict]) -> int:
    """1 if anything is red, 3 if nothing was compared, else 0."""
    if any(not verdict.green for verdict in verdicts):
        return 1
    return 0 if any(verdict.compared for verdict in verdicts) else 3


def _verdicts(asked: Asked, target: str | None, trace: TextIO) -> Iterator[Verdict]:
    from bitgate.metamorphic.hold import hold
    from bitgate.verify.dump import Dump
    from bitgate.verify.isolate import verify_isolated
    from bitgate.verify.selection import candidates, select_for
    from bitgate.verify.session import Session
    from bitgate.verify.spine import verify as verify_one

    session = Session(target, load=asked.load)
    options = dict(asked.options)
    chosen = candidates(asked.kernel, options, session.target.name, asked.load)
    for problem, reference in asked.problems:
        selection = select_for(problem, chosen, options)
        # If no instance takes the problem each says why; else those that do not are none of this problem's business.
        for family, instance, expect in selection.supporting or selection.refusing:
            planned = PlannedCase(
                problem,
                family.name,
                instance.name,
                options=asked.options,
                fill=asked.fill,
                seed=asked.seed,
                schedule=asked.schedule,
                target=session.target.name,
                reference=reference,
                expect=expect,
            )
            if asked.laws:
                yield hold(planned, session)
            elif asked.isolate:
                yield verify_isolated(planned, asked.load, time_limit=asked.time_limit)
            else:
                dump = Dump(asked.dump / planned.id) if asked.dump else None
                yield verify_one(planned, session, dump, Trace(planned, session, trace) if asked.verbose else None)


class Trace:
    """Writes what the first launch of a case ran; the second, where there is one, runs the same."""

    def __init__(self, planned: PlannedCase, session: Session, file: TextIO) -> None:
        self._planned, self._session, self._file = planned, session, file
        self.runs: list[Run] = []

    def __call__(self, run: Run) -> None:
        from bitgate.verify.trace import launch_lines, summary_line, tensor_lines

        self.runs.append(run)
        if len(self.runs) > 1 or run.record is None:
            return
        planned, library = self._planned, self._session.library(self._planned.family)
        instance = find_instance(library.family, planned.instance)
        launches = launch_lines(planned.problem, instance, run.record, library.lds_bytes(instance))
        lines = [*tensor_lines(planned.problem), *launches, summary_line(run.record)]
        print(f"{planned.case}  {planned.kernel}", *lines, sep="\n", file=self._file)


def _problems(case: str) -> Iterator[tuple[ConvProblem, str]]:
    """The problems of a case, each with the reference that it is compared with if nothing else is said."""
    try:
        problems = problems_of(case)
        controls = controls_of(case) if is_foreign(case) else None
    except ProblemError as error:
        raise UsageError(str(error)) from None
    for problem in problems:
        yield problem, "auto" if controls is None else OF_VERIFICATION[controls.verification]


def _options(words: list[str]) -> tuple[tuple[str, str], ...]:
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {word}: write NAME=VALUE")
        options[name] = value
    return tuple(sorted(options.items()))


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    near = get_close_matches(value, known, n=1, cutoff=0.3)
    raise UsageError(f"--{what} {value}: {', '.join(known)} are known" + (f"; did you mean {near[0]}?" if near else ""))


def print_verdict(verdict: Verdict) -> None:
    """One line for a verdict; for a red one what is wrong, its first cells, and how to run it again."""
    key = verdict.key
    where = f"{key.kernel}.{key.instance}" + "".join(f" {name}={value}" for name, value in key.options)
    colour, plain = _COLOURS.get(verdict.outcome, "31") if sys.stdout.isatty() else "", verdict.outcome.value
    shown = f"\x1b[{colour}m{plain}\x1b[0m" if colour else plain
    dispatch = verdict.dispatch
    ran = f"  {dispatch['path']}, gemms_count {dispatch['gemms_count']}" if dispatch else ""
    error = verdict.error
    held = f"  error {error['rms']:.1e} rms, {error['of_bound']:.0%} of the bound" if error else ""
    print(f"{shown}  {key.case}  {where}{ran}{held}  {verdict.seconds.get('total', 0.0) * 1e3:.1f} ms")
    if verdict.outcome in (Outcome.REFUSED, Outcome.NOT_RUN) and verdict.green:
        print(f"  {verdict.reason}")
    if verdict.green:
        return
    print(f"  {verdict.human}")
    print(f"  {verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason}")
    rows = verdict.diagnosis.evidence.get("first_wrong_cells", []) if verdict.diagnosis else []
    if rows:
        print(_table(rows, verdict))
    print(f"  again: {verdict.repro}")
    if verdict.foreign:
        print(f"  also:  {verdict.foreign}")


_COLOURS = {Outcome.PASS: "32", Outcome.REFUSED: "33", Outcome.NOT_RUN: "33", Outcome.KNOWN_BUG: "33"}


def _table(rows: list[dict[str, Any]], verdict: Verdict) -> str:
    """The first wrong cells, under the letters of the result's axes."""
    letters = problems_of(verdict.key.case)[0].result_letters
    header = [*letters, "result", "reference"]
    lines = [header, *([*map(str, row["at"]), str(row["result"]), str(row["reference"])] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "    " + "  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines
    )


def _summary(verdicts: list[Verdict]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for verdict in verdicts:
        counts[verdict.outcome.value] = counts.get(verdict.outcome.value, 0) + 1
    return {
        "verdicts": len(verdicts),
        "compared": sum(verdict.compared for verdict in verdicts),
        "green": sum(verdict.green for verdict in verdicts),
        "outcomes": counts,
    }


def _closing(verdicts: list[Verdict], code: int) -> str:
    if code == 3:
        return "nothing was compared" + ("" if verdicts else ": no kernel that was asked for does this operation")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in _summary(verdicts)["outcomes"].items())
    return f"{len(verdicts)} verdicts: {counts}"
