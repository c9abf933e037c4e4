"""The judging of a folder of submissions, each by a separate command, so that none can disturb the next."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from bitgate import __version__
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import shown
from bitgate.results.report.findings import some
from bitgate.tools.judge.conventions import CUSTOM, FUNCTION, MODEL, NEW_MODEL, names_in
from bitgate.tools.judge.run import DECLARATION, JudgeRequest
from bitgate.tools.judge.table import table_of

GRACE_SECONDS = 60.0
"""Time that a command gets beyond its budget."""
MOST_REPORT = 64 << 20


@dataclass(frozen=True)
class Entry:
    """One submission with its task: a file, or what ``--task`` says."""

    name: str
    submission: Path
    task: str


def judge_many(
    folder: Path, request: JudgeRequest, out: Path, resume: bool, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return the table of all submissions of a folder; each report is kept in ``out`` as soon as it is there.

    ``request.budget`` is for all of them together. UsageError for a folder without submissions.
    """
    entries, alone = entries_in(folder, request.task)
    if not entries:
        what = f"*.py that define {CUSTOM}, {NEW_MODEL} or {DECLARATION}"
        raise UsageError(f"{folder}: no submissions: it needs {what}" + ("" if request.task else ", next to a task"))
    out.mkdir(parents=True, exist_ok=True)
    until, reports, notes = monotonic() + request.budget, list[dict[str, Any]](), list[str]()
    if alone:
        notes.append(f"{len(alone)} have no task, and were not judged: {some(alone)}: give --task, or a task's file")
    for place, entry in enumerate(entries):
        file = out / f"{entry.name.replace('/', '__')}.json"
        mark = _mark(entry, request)
        if resume and (known := _kept(file, mark)) is not None:
            reports.append(known)
            continue
        if (left := until - monotonic()) <= 0:
            notes.append(f"{len(entries) - place} of {len(entries)} were not judged: the budget is spent: --resume")
            break
        progress(f"[{place + 1}/{len(entries)}] {entry.name}")
        report = _judged(entry, request, left)
        write_whole(file, json.dumps({"mark": mark, "report": report}, indent=1))
        reports.append(report)
    return table_of(reports, notes)


def entries_in(folder: Path, task: str) -> tuple[list[Entry], list[str]]:
    """Return the submissions of a folder and those below, and the names of those that have no task.

    UsageError for a folder that is none, or has two tasks.

    Without a ``task`` each is held to the one task's file in its own folder, or in the nearest folder above.
    """
    if not folder.is_dir():
        raise UsageError(f"--many {folder}: no such folder")
    tasks: dict[Path, Path] = {}
    found: list[Path] = []
    for file in sorted(folder.rglob("*.py")):
        if any(part.startswith((".", "__")) for part in file.relative_to(folder).parts):
            continue
        try:
            names = names_in(file)
        except UsageError:
            found.append(file)  # it is judged, and its report says what is wrong
            continue
        if {CUSTOM, NEW_MODEL, DECLARATION} & names:
            found.append(file)
        elif {MODEL, FUNCTION} & names:
            if file.parent in tasks:
                raise UsageError(f"{file.parent}: has two tasks, {tasks[file.parent].name} and {file.name}: keep one")
            tasks[file.parent] = file
    entries, alone = list[Entry](), list[str]()
    for file in found:
        name = str(file.relative_to(folder).with_suffix(""))
        near = next((tasks[one] for one in file.parents if one in tasks and one.is_relative_to(folder)), None)
        if task or near is not None:
            entries.append(Entry(name, file, task or str(near)))
        else:
            alone.append(name)
    return entries, alone


def _judged(entry: Entry, request: JudgeRequest, left: float) -> dict[str, Any]:
    """Return the report of a command; one that says that nothing was judged where it gave none."""
    words = ["judge", str(entry.submission), "--task", entry.task, "--json", "--tier", request.tier]
    words += ["--target", request.target]
    words += ["--problems", str(request.problems), "--samples", str(request.samples), "--memory", str(request.memory)]
    words += ["--time-limit", str(request.seconds), "--budget", str(max(1.0, left))]
    words += ["--own"] * request.own + ([] if request.seed is None else ["--seed", str(request.seed)])
    words += [word for one in request.dtypes for word in ("--dtype", one)]
    words += [word for name, value in request.arguments.items() for word in ("--input", f"{name}={json.dumps(value)}")]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bitgate", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=left + request.seconds + GRACE_SECONDS,
        )
        report: dict[str, Any] = json.loads(done.stdout)
        return report
    except subprocess.TimeoutExpired:
        why = "its command did not end in time"
    except ValueError:
        why = done.stderr.strip().rpartition("\n")[2] or f"its command ended with exit code {done.returncode}"
    known = {"submission": str(entry.submission), "task": entry.task, "verdict": "open", "exit": 2}
    return {**known, "diagnosis": shown(why.removeprefix("bitgate: ")), "time": None}


def _mark(entry: Entry, request: JudgeRequest) -> str:
    """Return what a kept report must have been made of."""
    of_task = _files_of(Path(entry.task)) if entry.task.endswith(".py") else []
    content = [_contents(_files_of(entry.submission)), _contents(of_task)]
    drawn = (request.tier, request.problems, request.own, request.samples, request.seed, dict(request.arguments))
    stated = (__version__, entry.task, content, request.target, drawn, request.dtypes)
    return sha256(repr(stated).encode()).hexdigest()


def _contents(files: Iterable[Path]) -> list[tuple[str, str]]:
    return [(file.name, sha256(file.read_bytes()).hexdigest()) for file in files]


def _files_of(submission: Path) -> list[Path]:
    """Return the files that a submission is made of: a declaration's whole folder, or a file and the modules next to it
    that it imports."""
    found, wanted = dict[Path, None](), [submission]
    while wanted:
        file = wanted.pop()
        if file in found or not file.is_file():
            continue
        found[file] = None
        try:
            names = names_in(file) if file.suffix == ".py" else set()
        except UsageError:
            continue
        if DECLARATION in names:
            wanted += [one for one in sorted(file.parent.rglob("*")) if "__pycache__" not in one.parts]
        beside = (file.parent / name for name in sorted(names))
        wanted += [one for place in beside for one in (place.with_suffix(".py"), place / "__init__.py")]
    return list(found)


def _kept(file: Path, mark: str) -> dict[str, Any] | None:
    """Return the report that is kept of the same submission and task; one that was not judged is judged again."""
    try:
        if file.stat().st_size > MOST_REPORT:
            return None
        kept = json.loads(file.read_text())
        report: dict[str, Any] = kept["report"]
        return report if kept["mark"] == mark and report["exit"] in (0, 1) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
