"""``bitgate verify CASE...``: cases through the spine, with diagnosis; prints verdicts, records nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.errors import UsageError
from bitgate.exact.fill import FILLS
from bitgate.problem import ConvProblem, ProblemError
from bitgate.problem.foreign import problems_of
from bitgate.record import Outcome, Verdict, to_event
from bitgate.verify.planned import PlannedCase

app = typer.Typer(add_completion=False)

REFERENCES = ("auto", "exact", "ordered", "gpu")


@dataclass(frozen=True)
class Asked:
    """The command line, read."""

    problems: tuple[ConvProblem, ...]
    kernel: str | None
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str
    reference: str
    load: tuple[Path, ...]
    isolate: bool
    laws: bool
    time_limit: float
    dump: Path | None


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
    reference: Annotated[str, typer.Option(help=f"{', '.join(REFERENCES)}.")] = "auto",
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
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run cases and compare every bit with a CPU reference.

    Exit codes: 0 green, 1 a defect was found, 2 usage or environment, 3 nothing was compared.
    """
    asked = Asked(
        problems=tuple(problem for case in cases for problem in _problems(case)),
        kernel=kernel,
        options=_options(option or []),
        fill=_one_of("fill", fill, FILLS),
        seed=seed,
        schedule=schedule,
        reference=_one_of("reference", reference, REFERENCES),
        load=tuple(load or ()),
        isolate=isolate or bool(load and not laws),
        laws=laws,
        time_limit=time_limit,
        dump=dump,
    )
    if laws and (isolate or dump or reference != "auto"):
        raise UsageError(
            "--laws knows no reference and needs the case in this process: leave --reference, --dump and --isolate out"
        )
    if asked.isolate and asked.dump:
        raise UsageError("--dump needs the case in this process: leave --isolate out (it goes with --load)")
    verdicts: list[Verdict] = []
    for verdict in _verdicts(asked, target):
        verdicts.append(verdict)
        if not json_output:
            _print(verdict)
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


def _verdicts(asked: Asked, target: str | None) -> Iterator[Verdict]:
    from bitgate.metamorphic.hold import hold
    from bitgate.verify.dump import Dump
    from bitgate.verify.isolate import verify_isolated
    from bitgate.verify.selection import candidates, select_for
    from bitgate.verify.session import Session
    from bitgate.verify.spine import verify as verify_one

    session = Session(target, load=asked.load)
    options = dict(asked.options)
    chosen = candidates(asked.kernel, options, session.target.name, asked.load)
    for problem in asked.problems:
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
                reference=asked.reference,
                expect=expect,
            )
            if asked.laws:
                yield hold(planned, session)
            elif asked.isolate:
                yield verify_isolated(planned, asked.load, time_limit=asked.time_limit)
            else:
                yield verify_one(planned, session, Dump(asked.dump / planned.id) if asked.dump else None)


def _problems(case: str) -> tuple[ConvProblem, ...]:
    try:
        return problems_of(case)
    except ProblemError as error:
        raise UsageError(str(error)) from None


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


def _print(verdict: Verdict) -> None:
    """One line for a verdict; for a red one what is wrong, its first cells, and how to run it again."""
    key = verdict.key
    where = f"{key.kernel}.{key.instance}" + "".join(f" {name}={value}" for name, value in key.options)
    colour, plain = _COLOURS.get(verdict.outcome, "31") if sys.stdout.isatty() else "", verdict.outcome.value
    shown = f"\x1b[{colour}m{plain}\x1b[0m" if colour else plain
    dispatch = verdict.dispatch
    ran = f"  {dispatch['path']}, gemms_count {dispatch['gemms_count']}" if dispatch else ""
    print(f"{shown}  {key.case}  {where}{ran}  {verdict.seconds.get('total', 0.0) * 1e3:.1f} ms")
    if verdict.outcome is Outcome.REFUSED and verdict.green:
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
