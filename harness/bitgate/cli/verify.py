"""``bitgate verify CASE...``: cases through the pipeline, with diagnosis; prints verdicts, records nothing."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from bitgate.cli.args import options_named
from bitgate.cli.fuzz import print_failure
from bitgate.cli.launcher import DaemonOption, LauncherOption, SanitizerOption, set_launcher, set_sanitizer
from bitgate.core import compute_sanitizer, emulation
from bitgate.core.choices import REFERENCES
from bitgate.core.errors import UsageError, meant
from bitgate.core.progress import print_progress
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.core.settings import MOST_SECONDS
from bitgate.core.untrusted import message, printable
from bitgate.interop import Refused, in_words, reasons
from bitgate.interop.requests import CommandOptions, RequestedCase, requested_by, requested_in
from bitgate.kernel.loading import to_load, with_operations
from bitgate.kernel.resolved import NO_KERNEL
from bitgate.model import parse_case_id
from bitgate.numerics.fill import FILLS, fill_names
from bitgate.results.record import Outcome, Verdict, to_event, verdict_on
from bitgate.results.record.identity import MOST_SEED
from bitgate.results.report.result import extent_line
from bitgate.runtime.host import RACE
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repetition import Repetition

if TYPE_CHECKING:
    from bitgate.tools.fuzz.failure import ShrunkFailure
    from bitgate.verify.process import CaseProcess
    from bitgate.verify.this_process import ThisProcess

app = typer.Typer(add_completion=False)

MOST_NAMED = 20
MOST_REASONS = 3
"""Cases that are named, and reasons of a case, before the rest is counted."""


@dataclass(frozen=True)
class VerifyArguments:
    """The command line, read."""

    problems: tuple[RequestedCase, ...]
    kernel: str | None
    options: tuple[tuple[str, str], ...]
    seed: int
    schedule: str
    project: Project
    isolate: bool
    in_process: bool
    laws: bool
    concurrent: bool
    time_limit: float
    shrink: float
    """Seconds to shrink the first red verdict of each case for; 0: it is not shrunk."""
    dump: Path | None
    verbose: bool
    repetition: Repetition


@app.command()
def verify(
    cases: Annotated[
        list[str] | None,
        typer.Argument(metavar="CASE...", help="Name case ids, or quoted CK, MIOpen or benchdnn lines."),
    ] = None,
    case_list: Annotated[
        Path | None,
        typer.Option("--cases", metavar="FILE", help="Read more of them from a list; report refused lines last."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Choose kernels by family.instance [all but references]."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = None,
    launcher: LauncherOption = "",
    launcher_daemon: DaemonOption = "",
    sanitizer: SanitizerOption = "",
    fill: Annotated[str | None, typer.Option(help=f"Fill with {', '.join(FILLS)} [exact].")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Draw the data from this seed.")] = 0,
    schedule: Annotated[
        str, typer.Option(help="Order host threads: forward, reverse, lockstep, random:N.")
    ] = "forward",
    race: Annotated[
        bool, typer.Option("--race", help="Watch each access for races, name both threads; host only.")
    ] = False,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    reference: Annotated[str | None, typer.Option(help=f"Compare with {', '.join(REFERENCES)}.")] = None,
    load: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Load your kernels; run them alone unless --kernel is given."),
    ] = None,
    isolate: Annotated[
        bool, typer.Option("--isolate", help="Run each case in a separate process (always with --load).")
    ] = False,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run kernels in this process, to debug; never ends with 0.")
    ] = False,
    laws: Annotated[bool, typer.Option("--laws", help="Check by laws alone, without a reference.")] = False,
    concurrent: Annotated[
        bool, typer.Option("--concurrent", help="Launch each case beside another launch of its library too.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=0.1, max=MOST_SECONDS, help="End a case after these seconds; builds do not count.")
    ] = 600.0,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Run each case N times; red if any run is.")] = 1,
    until_red: Annotated[
        bool, typer.Option("--until-red", help="With --repeat: stop a case at its first red run.")
    ] = False,
    shrink: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, max=MOST_SECONDS, help="Shrink each case's first red verdict this long."
        ),
    ] = 0.0,
    dump: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write inputs, result and reference as .npy files.")
    ] = None,
    fail_on_refused: Annotated[
        bool, typer.Option("--fail-on-refused", help="Exit with 1 if a line of --cases is refused.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print tensors, descriptors, launches (stderr with --json).")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Run cases and compare every bit with a CPU reference.

    A foreign line is one of ckProfiler, a CK example, MIOpenDriver or benchdnn; data and reference default to what it
    says. Kernels that --load names run alone, each case in a separate process. A law takes no reference.
    --shrink seeks the smallest case that fails alike, and the nearest values that pass.

    Exit codes: 0 green, 1 a defect was found, or a named case was not compared, 2 usage or environment, also of one of
    several cases, 3 nothing was compared.
    """
    set_launcher(launcher, launcher_daemon, target)
    set_sanitizer(sanitizer)
    if reference is not None:
        _one_of("reference", reference, REFERENCES)
    if fill is not None:
        _one_of("fill", fill, fill_names())
    stated = CommandOptions(reference, "exact" if laws and fill is None else fill)
    project = with_operations(find().loading(to_load(load)))
    named = [entry for case in cases or () for entry in requested_by(case, stated)]
    listed, refused = requested_in(case_list, stated) if case_list is not None else ([], [])
    if not named and not listed:
        raise UsageError(_nothing_to_do(case_list, refused))
    asked = VerifyArguments(
        problems=(*named, *listed),
        kernel=kernel,
        options=tuple(sorted(options_named(option).items())),
        seed=seed,
        schedule=_schedule(schedule, race),
        project=project,
        isolate=isolate or bool(project.declarations),
        in_process=in_process,
        laws=laws,
        concurrent=concurrent,
        time_limit=time_limit,
        shrink=shrink,
        dump=dump,
        verbose=verbose,
        repetition=Repetition(repeat, until_red),
    )
    if laws and (dump or verbose or reference is not None):
        raise UsageError("--laws knows no reference: leave --reference, --dump and --verbose out")
    if laws and concurrent:
        raise UsageError("--laws and --concurrent exclude each other")
    if until_red and repeat == 1:
        raise UsageError("--until-red needs --repeat N")
    if in_process and isolate:
        raise UsageError("--in-process and --isolate exclude each other")
    explained: set[str] = set()
    """Builds that failed, which are explained once."""
    verdicts: list[list[Verdict]] = [[] for _ in asked.problems]
    """Of each case that was named."""
    errors: list[str] = []
    shrunk: list[ShrunkFailure] = []
    ran = _verdicts(asked, target, sys.stderr if json_output else sys.stdout)
    for number, of_case in groupby(ran, key=lambda numbered: numbered[0]):
        refusing: list[Verdict] = []
        for _, verdict in of_case:
            if isinstance(verdict, UsageError):
                errors.append(message(str(verdict)))
                print(f"bitgate: {errors[-1]}", file=sys.stderr)
                continue
            if not isinstance(verdict, Verdict):
                shrunk.append(verdict)
                if not json_output:
                    print_failure(verdict)
                continue
            verdicts[number].append(verdict)
            if verdict.green and verdict.outcome is Outcome.REFUSED:
                refusing.append(verdict)
            elif not json_output:
                print_verdict(verdict, explained=verdict.reason in explained)
                explained |= {verdict.reason} if verdict.outcome is Outcome.BUILD_FAILED else set()
        if not json_output:
            print_refusals(refusing)
    code = 2 if errors else exit_code(*verdicts)
    if refused and fail_on_refused and code in (0, 3):
        code = 1
    if in_process and code == 0:
        code = 3
        print("bitgate: kernels ran in this very process (--in-process), which vouches for nothing", file=sys.stderr)
    summary = summary_of(verdicts) | {"exit": code, "refused_lines": len(refused)}
    counted = Counter(one.note for one in asked.problems if one.note)
    notes = [f"{count} x {note}" for note, count in counted.most_common()]
    if json_output:
        document = {
            "verdicts": [to_event(verdict) for of_case in verdicts for verdict in of_case],
            "refused": [reason.as_json() for reason in reasons(refused)],
            **({"shrunk": [one.as_json() for one in shrunk]} if shrink else {}),
            "notes": notes,
            "errors": errors,
            "summary": summary,
        }
        print(json.dumps(document, indent=2))
        return code
    for line in uncompared(verdicts):
        print(line)
    print(closing(summary))
    for line in [*in_words(refused, len(listed)), *(f"note: {note}" for note in notes)]:
        print(line)
    from bitgate.cli.faults_locate import locating

    if command := next(filter(None, (locating(one) for of_case in verdicts for one in of_case)), ""):
        print(f"the line of a defect: {command}")
    return code


def exit_code(*cases: Sequence[Verdict]) -> int:
    """Return the exit code for the verdicts of each named case: 1 if one is red or a case was not compared, 3 if none
    was."""
    verdicts = [verdict for of_case in cases for verdict in of_case]
    if any(not verdict.green and verdict.outcome is not Outcome.NOT_RUN for verdict in verdicts):
        return 1
    if not any(verdict.compared for verdict in verdicts):
        return 3
    compared = all(any(verdict.compared for verdict in of_case) for of_case in cases)
    return 0 if compared and all(verdict.green for verdict in verdicts) else 1


def _verdicts(
    asked: VerifyArguments, target: str | None, trace: TextIO
) -> Iterator[tuple[int, Verdict | ShrunkFailure | UsageError]]:
    """Yield verdicts, or a mistake of the user's that forbids one, with the number of their case: at least one for
    every case. With ``shrink`` the first red verdict of a case is followed by the smallest one that fails alike."""
    from bitgate.runtime.targets import best, named
    from bitgate.tools.fuzz.failure import is_failure
    from bitgate.verify.emulated import begin, say
    from bitgate.verify.process import CaseProcess, Opening
    from bitgate.verify.this_process import ThisProcess

    where = named(target) if target else best()
    compute_sanitizer.check(where.name, where.platform, in_process=asked.in_process)
    if asked.schedule == RACE and where.kind == emulation.EMULATED:
        emulation.watch_races()
    begin(where, say)
    shrunk: set[int] = set()
    kind = ThisProcess if asked.in_process else CaseProcess
    opening = Opening(where.name, asked.project, repetition=asked.repetition)
    with kind(opening, progress=print_progress) as process:
        last: Verdict | None = None
        for number, planned in _planned(asked, where.name):
            if planned.no_kernel:
                yield number, verdict_on(planned, where, Outcome.NOT_RUN, planned.no_kernel)
                continue
            if asked.isolate and not _may_follow(planned, last):
                process.end()
            try:
                last = verdict = _verdict(asked, planned, process, trace)
                yield number, verdict
                if asked.shrink and number not in shrunk and is_failure(verdict):
                    shrunk.add(number)
                    yield number, _shrunk(asked, planned, verdict, process)
            except UsageError as error:
                if not process.is_running or len(asked.problems) == 1:  # no other case would fare better
                    raise
                if asked.isolate:
                    process.end()
                yield number, error


def _may_follow(planned: PlannedCase, last: Verdict | None) -> bool:
    """Return whether an isolated case may run in the process of the one before: nothing was launched there, and
    nothing of the case will be, unless it is the first that is."""
    if last is None or last.outcome is Outcome.BUILD_FAILED:
        return True
    return bool(planned.refused) and last.outcome is Outcome.REFUSED and last.green


def _planned(asked: VerifyArguments, target: str) -> Iterator[tuple[int, PlannedCase]]:
    """Yield what is to be verified by the number of its case; one without a kernel if none does its operation."""
    from bitgate.verify.selection import candidates, planned_on

    chosen = candidates(asked.kernel, dict(asked.options), target, asked.project, modules=True)
    for number, wanted in enumerate(asked.problems):
        case = PlannedCase(
            wanted.problem,
            replace(NO_KERNEL, options=asked.options),
            fill=wanted.fill,
            seed=asked.seed,
            schedule=asked.schedule,
            target=target,
            reference=wanted.reference,
        )
        for planned in planned_on(case, chosen, asked.kernel, asked.project, may_refuse=True):
            yield number, planned


def _verdict(
    asked: VerifyArguments, planned: PlannedCase, process: CaseProcess | ThisProcess, trace: TextIO
) -> Verdict:
    from bitgate.verify.process import BITS, CONCURRENT, LAWS

    def tell(note: dict[str, Any]) -> None:
        print(*note["lines"], sep="\n", file=trace)

    return process.verify(
        planned,
        asked.time_limit * emulation.slowness(),
        by=LAWS if asked.laws else CONCURRENT if asked.concurrent else BITS,
        dump=asked.dump / planned.id if asked.dump else None,
        trace=tell if asked.verbose else None,
    )


def _shrunk(
    asked: VerifyArguments, planned: PlannedCase, verdict: Verdict, process: CaseProcess | ThisProcess
) -> ShrunkFailure:
    """Return the smallest case found that fails alike; each is judged as the case itself was."""
    from bitgate.tools.fuzz.failure import FuzzFailure
    from bitgate.tools.fuzz.shrink import Shrinker

    quiet = replace(asked, dump=None, verbose=False)

    def judge(smaller: PlannedCase) -> Verdict:
        try:
            return _verdict(quiet, smaller, process, sys.stderr)
        finally:
            if asked.isolate:
                process.end()

    return Shrinker(judge, FuzzFailure(planned, verdict), asked.shrink).run()


def _nothing_to_do(path: Path | None, refused: list[Refused]) -> str:
    if path is None:
        return "name a case, or a list of them with --cases FILE"
    first = f", {len(refused)} lines refused: {refused[0].where}: {refused[0].reason}" if refused else ""
    return f"--cases {path}: no case found{first}"


def _schedule(stated: str, race: bool) -> str:
    if race and stated != "forward":
        raise UsageError(f"--race runs threads in a special order: leave --schedule {stated} out")
    return RACE if race else stated


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    raise UsageError(f"--{what} {value}: {', '.join(known)} are known{meant(value, known, 0.3)}")


def print_verdict(verdict: Verdict, explained: bool = False) -> None:
    """Print one line for a verdict; for a red one that is not ``explained`` yet what is wrong, its first cells, and how
    to run it again."""
    key = verdict.key
    where = key.name + "".join(f" {name}={value}" for name, value in key.options)
    colour, plain = verdict.outcome.facts.colour if sys.stdout.isatty() else "", verdict.outcome.value
    shown = f"\x1b[{colour}m{plain}\x1b[0m" if colour else plain
    dispatch = verdict.dispatch
    count = f", gemms_count {dispatch['gemms_count']}" if "gemms_count" in dispatch else ""
    ran = printable(f"  {dispatch['path']}{count}") if dispatch else ""
    error = verdict.error
    held = f"  error {error['rms']:.1e} rms, {error['of_bound']:.0%} of the bound" if error else ""
    print(f"{shown}  {key.case}  {where}{ran}{held}  {verdict.seconds.get('total', 0.0) * 1e3:.1f} ms")
    if verdict.outcome in (Outcome.REFUSED, Outcome.NOT_RUN) and verdict.green:
        print(f"  {message(verdict.reason)}")
    if verdict.outcome is Outcome.PASS and not verdict.compared:
        print(f"  not compared: {verdict.reason}")
    if verdict.green or explained:
        return
    print(f"  {verdict.human}")
    print(f"  {message(verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason)}")
    if extent := extent_line(verdict):
        print(f"  {extent}")
    rows = verdict.diagnosis.evidence.get("first_wrong_cells", []) if verdict.diagnosis else []
    if rows:
        print(_table(rows, verdict))
    if verdict.view:
        from bitgate.results.report.page.characters import heat_map

        for line in heat_map(verdict.view, sys.stdout.encoding):
            print(f"    {line}")
    if verdict.repro:
        print(f"  again: {verdict.repro}")
    if verdict.foreign:
        print(f"  also:  {verdict.foreign}")


def print_refusals(refusing: Sequence[Verdict]) -> None:
    """Print a case's refusals in one line: how many kernels there are, and the most frequent reasons."""
    if len(refusing) == 1:
        print_verdict(refusing[0])
    elif refusing:
        counts = Counter(verdict.reason for verdict in refusing)
        counted_reasons = "; ".join(f"{count} x {reason}" for reason, count in counts.most_common(MOST_REASONS))
        rest = f"; {len(counts) - MOST_REASONS} other reasons (all: --json)" if len(counts) > MOST_REASONS else ""
        print(f"{Outcome.REFUSED.value}  {refusing[0].key.case}  {len(refusing)} kernels: {counted_reasons}{rest}")


def _table(rows: list[dict[str, Any]], verdict: Verdict) -> str:
    """Format the first wrong cells, under the letters of the wrong output's axes."""
    problem = parse_case_id(verdict.key.case)
    role = verdict.diagnosis.evidence.get("output") if verdict.diagnosis else None
    letters = problem.operation.diagnostics.letters(problem, role or problem.result)
    header = [*letters, "result", "reference"]
    lines = [header, *([*map(str, row["at"]), str(row["result"]), str(row["reference"])] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "    " + "  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines
    )


def summary_of(cases: Sequence[Sequence[Verdict]]) -> dict[str, Any]:
    """Count cases ``asked``, ``compared``, ``refused`` (by all kernels), ``not_run`` and with ``nothing_to_compare``,
    and their verdicts."""
    verdicts = [verdict for of_case in cases for verdict in of_case]
    counts = Counter(verdict.outcome.value for verdict in verdicts)
    said = [{verdict.outcome for verdict in of_case} for of_case in cases]
    return {
        "asked": len(cases),
        "compared": sum(any(verdict.compared for verdict in of_case) for of_case in cases),
        "refused": sum(outcomes == {Outcome.REFUSED} for outcomes in said),
        "not_run": sum(Outcome.NOT_RUN in outcomes <= {Outcome.NOT_RUN, Outcome.REFUSED} for outcomes in said),
        "nothing_to_compare": sum(map(_has_nothing, cases)),
        "verdicts": len(verdicts),
        "green": sum(verdict.green for verdict in verdicts),
        "red": sum(not verdict.green and verdict.outcome is not Outcome.NOT_RUN for verdict in verdicts),
        "outcomes": dict(counts),
    }


def _has_nothing(of_case: Sequence[Verdict]) -> bool:
    """Return whether a case passed though nothing of its results was compared."""
    passed = [verdict for verdict in of_case if verdict.outcome is Outcome.PASS]
    return bool(passed) and all(verdict.green and not verdict.compared for verdict in of_case)


def uncompared(cases: Sequence[Sequence[Verdict]]) -> list[str]:
    """Name the cases with nothing to compare, and why."""
    found = [next(one for one in of_case if one.outcome is Outcome.PASS) for of_case in cases if _has_nothing(of_case)]
    lines = [f"nothing to compare: {verdict.key.case}: {verdict.reason}" for verdict in found[:MOST_NAMED]]
    rest = len(found) - len(lines)
    return [*lines, f"nothing to compare: {rest} more (all: --json)"] if rest else lines


def _reason_of_exit(summary: dict[str, Any]) -> str:
    """Say what an exit code of 1 is for."""
    why = [f"{summary['red']} red verdicts"] if summary["red"] else []
    if missing := summary["asked"] - summary["compared"]:
        named = ("refused", "not_run", "nothing_to_compare")
        parts = ", ".join(f"{summary[name]} {name.replace('_', ' ')}" for name in named if summary[name])
        why.append(f"{missing} of {summary['asked']} cases not compared" + (f" ({parts})" if parts else ""))
    return " and ".join(why)


def closing(summary: dict[str, Any]) -> str:
    """Format the last line: the cases that were requested, and their verdicts."""
    columns = ("asked", "compared", "refused", "not_run", *["nothing_to_compare"] * bool(summary["nothing_to_compare"]))
    cases = ", ".join(f"{summary[name]} {name.replace('_', ' ')}" for name in columns)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary["outcomes"].items())
    nothing = "nothing is vouched for; " if summary["compared"] else "nothing was compared; "
    why = f"; exit code 1: {_reason_of_exit(summary)}" if summary["exit"] == 1 else ""
    return f"{nothing if summary['exit'] == 3 else ''}cases: {cases}; verdicts: {counts}{why}"
