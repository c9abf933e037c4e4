"""A run of suites in a child process, and its exit code: decided here, by the plan and the record that it left.

Suites bring Python into pytest: a conftest, a plugin, options in the environment. None of it runs in this process, and
none of it can make a run green that has not verified what was planned.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.settings import shown
from bitgate.worker.entry import TOKEN
from bitgate.worker.zygote_process import NO_TOKEN

if TYPE_CHECKING:
    from bitgate.results.report.summary import Summary

GREEN, RED, USAGE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130
OWN_CODES = (RED, USAGE, NOTHING, INTERRUPTED)
"""Codes of a child that are not green, and stand as they are."""

PLAN, RESULTS, REPORT = "plan.json", "results.jsonl", "junit.xml"
WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
LOOK_SECONDS = 0.2
FROM_KERNEL = 1
"""The least ``si_code`` of a signal that no process has sent: a terminal's Ctrl-C, which the child gets itself."""


@dataclass(frozen=True)
class SessionEnd:
    """The end of a child that ran pytest: its exit status, and what it reported of its run."""

    status: int
    reported: Mapping[str, Any]
    interrupted: bool

    @property
    def folder(self) -> Path | None:
        return Path(str(self.reported["folder"])) if "folder" in self.reported else None


def run_session(arguments: Sequence[str], *, stdout: int | None = None) -> tuple[int, Summary | None, Path | None]:
    """Run pytest with these arguments in a child; return the exit code, and summary and folder of its record if any.

    ``stdout`` is the descriptor that its output goes to. UsageError if the options in PYTEST_ADDOPTS cannot be split.
    """
    try:
        shlex.split(options := os.environ.get("PYTEST_ADDOPTS", ""))
    except ValueError as error:
        raise UsageError(f"PYTEST_ADDOPTS={shown(options)}: {error}: write options as a shell takes them") from None
    before = _plans()
    end = _child(arguments, stdout)
    folder = end.folder
    if folder is None or not (folder / PLAN).is_file() or _plans(folder).items() <= before.items():
        return _without_plan(end), None, None
    return *_by_record(end, folder), folder


def _plans(folder: Path | None = None) -> dict[Path, tuple[int, int]]:
    """Return the plans in the output folder, or in one: a plan that is written anew is another file."""
    out = paths.out_dir()
    found = [folder / PLAN] if folder else [*out.glob(f"*/{PLAN}"), *out.glob(f"*/*/{PLAN}")]
    plans = {}
    for plan in found:
        with suppress(OSError):
            status = plan.stat()
            plans[plan] = status.st_ino, status.st_mtime_ns
    return plans


def _without_plan(end: SessionEnd) -> int:
    if end.status in OWN_CODES:
        return end.status
    if end.interrupted:
        return INTERRUPTED
    if end.status == GREEN:
        why = "--collect-only, also in PYTEST_ADDOPTS, or a conftest that exits"
        print(f"bitgate: nothing was compared: pytest ended with 0 and planned nothing ({why})", file=sys.stderr)
        return NOTHING
    print(f"bitgate: pytest {_format_status(end.status)} before it had a plan", file=sys.stderr)
    return USAGE


def _by_record(end: SessionEnd, folder: Path) -> tuple[int, Summary]:
    """Return the exit code by plan and record, which are read anew. Reports that the child left out are written."""
    from bitgate.results.report.annotations import GitHubReport, on_github
    from bitgate.results.report.render import ledger_of_run, read_run, render
    from bitgate.results.report.report import ReportedRun
    from bitgate.results.report.summary import summarise

    early = bool(end.reported.get("early")) or end.interrupted or end.status == INTERRUPTED
    is_reported = _is_reported(folder) and "early" in end.reported
    tier, target = str(end.reported.get("tier", "")), str(end.reported.get("target", ""))
    night = read_run(folder, interrupted=early)
    summary = summarise([ledger_of_run(night, tier, target)], interrupted=early)
    if end.status in OWN_CODES and is_reported:
        return end.status, summary
    if is_reported and summary.exit_code == GREEN == end.status:
        return GREEN, summary
    summary = render(folder, tier=tier, target=target, interrupted=early, night=night)
    print(f"bitgate: pytest {_format_status(end.status)} before its run had ended", file=sys.stderr)
    print(f"bitgate: {summary.headline}; reports are in {folder}", file=sys.stderr)
    if on_github():
        GitHubReport().write(ReportedRun((), summary), folder, lambda line: print(line, file=sys.stderr))
    if end.interrupted:
        return INTERRUPTED, summary
    return (USAGE if end.status == USAGE else summary.exit_code or RED), summary


def _is_reported(folder: Path) -> bool:
    """Return whether the reports are of the whole record."""
    try:
        return (folder / REPORT).stat().st_mtime_ns >= (folder / RESULTS).stat().st_mtime_ns
    except OSError:
        return False


def _format_status(status: int) -> str:
    if status >= 0:
        return f"ended with {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def _child(arguments: Sequence[str], stdout: int | None) -> SessionEnd:
    """Run the child to its end. A signal to this process alone is passed on: the child writes its reports."""
    package = str(Path(__file__).resolve().parents[2])
    code = (  # the folder that it happens to be in is the first of -c, and no file there is imported
        f"import sys; own = [*sys.path]; sys.path[:] = [{package!r}, *filter(None, own)]; import bitgate;"
        f" del sys.path[0]; from bitgate.suite.session_entry import main; main(own, {sys.path!r})"
    )
    token = os.environ.get(TOKEN, "")
    environment = {**os.environ, TOKEN: token if len(token) == len(NO_TOKEN) else NO_TOKEN}
    hearing, telling = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    try:
        command = [sys.executable, "-c", code, str(telling), *arguments]
        with open(hearing, "rb") as heard:
            try:
                process = subprocess.Popen(command, pass_fds=(telling,), stdout=stdout, env=environment)
            finally:
                os.close(telling)
            interrupted = _wait(process)
            return SessionEnd(process.returncode, _facts(heard.read()), interrupted)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the child's end; return whether a signal was to end it."""
    interrupted = False
    while process.poll() is None:
        sent = signal.sigtimedwait(WATCHED, LOOK_SECONDS)
        if sent is None or sent.si_signo == signal.SIGCHLD:
            continue
        interrupted = True
        if sent.si_code < FROM_KERNEL:
            process.send_signal(sent.si_signo)
    return interrupted


def _facts(data: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in data.splitlines():
        with suppress(ValueError, TypeError):
            facts |= json.loads(line)
    return facts
