"""``bitgate exec``: any HIP program on the host runtime."""

from __future__ import annotations

import json
import re
import signal
import sys
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.core.errors import UsageError

if TYPE_CHECKING:
    from bitgate.runtime.program import ProgramExit

app = typer.Typer(add_completion=False)

WAVES = (32, 64)


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def execute(
    program: Annotated[
        list[str], typer.Argument(metavar="PROGRAM [ARGS]", help="Run this program, as bitgate-hipcc has built it.")
    ],
    schedule: Annotated[
        list[str] | None,
        typer.Option(metavar="S", help="Order threads: forward, reverse, lockstep, random:N [each]."),
    ] = None,
    wave: Annotated[
        int | None, typer.Option(help="Run waves of 64 or 32 lanes [64; of a .cu program 32].", show_default=False)
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on after a fault; report each kernel and line once.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document; the program's output on stderr.")
    ] = False,
) -> int:
    """Run a HIP program on CPU threads and report incidents.

    Incidents are faults, refused calls, and races of a --race build. Without --schedule the order is forward; of
    several schedules each has one run, and the program should print the same under all.

    Exit codes: 0 sound; 1 an incident, the program itself failed, or it printed something else under another schedule;
    2 it cannot be started; 130 interrupted.
    """
    from bitgate.kernel.build import Builder
    from bitgate.runtime.host import parse_schedule
    from bitgate.runtime.program import WatchedRuntime

    schedules = schedule or ["forward"]
    for one in schedules:
        parse_schedule(one)
    if wave not in (None, *WAVES):
        raise UsageError(f"--wave {wave}: a wave has {' or '.join(map(str, WAVES))} lanes")
    builder = Builder("host")
    watched = WatchedRuntime(builder.runtime(), builder.program_watch(), wave or 0, keep_going)
    caught = as_json or len(schedules) > 1
    runs = [watched.run(program, one, caught=caught) for one in schedules]
    findings = [finding for run in runs for finding in _findings(run)] + _differences(runs)
    if caught:
        stream = sys.stderr if as_json else sys.stdout
        stream.buffer.write(runs[0].out)
        stream.flush()
    if as_json:
        typer.echo(json.dumps({"runs": [_as_json(run) for run in runs], "findings": [f.words for f in findings]}))
    for finding in findings if not as_json else ():
        print(f"bitgate exec: {finding.words}", file=sys.stderr)
    return int(any(finding.is_red for finding in findings))


@dataclass(frozen=True)
class _Finding:
    words: str
    is_red: bool = True


def _findings(run: ProgramExit) -> list[_Finding]:
    """List what the runtime saw in one run."""
    under = f"under {run.schedule}: "
    found = [_Finding(f"{under}{text}") for text in run.incidents]
    if run.count > len(run.incidents):
        found.append(_Finding(f"{under}{run.count} incidents in all"))
    if run.code < 0:
        found.append(_Finding(f"{under}ended by {_signal(-run.code)}"))
    elif run.code:
        found.append(_Finding(f"{under}ended with exit code {run.code}"))
    elif not run.reported:
        found.append(_Finding(f"{under}ended without an ordinary exit: what the runtime saw is not known"))
    if run.waiting:
        found.append(_Finding(f"{under}work was never done, since nothing waited for it: {run.waiting}", is_red=False))
    return found


_NUMBER = rb"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_UNIT = rb"(?:[num\xc2\xb5]*s|[mun]?secs?|(?:milli|micro|nano)?seconds?|[KMGT]i?B/s(?:ec)?|[KMGT]?FLOP/?[sS])\b"
_NAMED = rb"\b(?:time|elapsed)(?: time)?(?: (?:of|for|in|taken)\b[\w ]*)?\s*(?:\([\w ]*\))?\s*[:=]\s*"
_TIMES = re.compile(
    rb"%(number)s\s*[(\[]?\s*%(unit)s|[(\[]\s*%(unit)s\s*[)\]]\s*[:=]?\s*%(number)s|%(named)s%(number)s"
    % {b"number": _NUMBER, b"unit": _UNIT, b"named": _NAMED},
    re.IGNORECASE,
)
"""Times and rates in a line: a number with its unit, and one after ``time of ... =``."""


def _differences(runs: list[ProgramExit]) -> list[_Finding]:
    """List where a run printed something else than the first; times alone are no defect."""
    found = []
    for run in runs[1:]:
        if run.out != runs[0].out:
            first, other = runs[0].out.splitlines(), run.out.splitlines()
            places = [at for at, (a, b) in enumerate(zip_longest(first, other)) if a != b]
            red = [at for at in places if not (at < min(len(first), len(other)) and _is_timed(first[at], other[at]))]
            at = next(iter([*red, *places]), len(first))
            said = " and ".join(
                f"'{_quoted(lines, at)}' under {which.schedule}" for lines, which in ((first, runs[0]), (other, run))
            )
            what = "times are not compared" if places and not red else "the order of threads shows"
            found.append(_Finding(f"{what}: line {at + 1} is {said}", is_red=not places or bool(red)))
    return found


def _is_timed(line: bytes, other: bytes) -> bool:
    """Return whether two lines differ in their times alone."""
    return _TIMES.sub(b"", line) == _TIMES.sub(b"", other)


def _quoted(lines: list[bytes], at: int) -> str:
    return lines[at].decode(errors="replace")[:80] if at < len(lines) else ""


def _signal(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _as_json(run: ProgramExit) -> dict[str, Any]:
    return {
        "schedule": run.schedule,
        "code": run.code,
        "incidents": list(run.incidents),
        "count": run.count,
        "waiting": run.waiting,
    }
