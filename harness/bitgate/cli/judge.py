"""``bitgate judge SUBMISSION --task TASK``: a kernel of unknown authors, held to a task; records nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.cli.args import bytes_stated, check_writable
from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.settings import MOST_SECONDS
from bitgate.core.targets import target_id
from bitgate.core.untrusted import message, printable
from bitgate.model import DTYPES
from bitgate.results.record.identity import MOST_SEED

app = typer.Typer(add_completion=False)


@app.command()
def judge(
    submission: Annotated[
        Path | None, typer.Argument(metavar="[SUBMISSION]", help="Judge this Python file, or folder of a declaration.")
    ] = None,
    task: Annotated[
        str, typer.Option("--task", metavar="TASK", help="Name an operation, case ids, or a task's file.")
    ] = "",
    many: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Judge all submissions of a folder; print a table.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the reports of --many here [out/judge].")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep the reports of --many that are there.")] = False,
    target: Annotated[str, typer.Option(help="Run it on this target.")] = "host",
    tier: Annotated[str, typer.Option(help="Take an operation's cases of this tier.")] = "smoke",
    problems: Annotated[
        int, typer.Option(min=1, max=1000, help="Judge on this many problems, or on own and tails.")
    ] = 16,
    own: Annotated[bool, typer.Option("--own", help="Judge on the sizes of the task's file alone.")] = False,
    dtype: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Judge a task's file in this type, too; repeatable.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="Pass this to generate_input; repeatable.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="Draw from this seed [another each time].")
    ] = None,
    samples: Annotated[int, typer.Option(min=0, max=1000, help="Take this number of samples of each time.")] = 10,
    memory: Annotated[
        str, typer.Option(metavar="BYTES", help="Limit the memory of its process [8G; on a GPU 64G].")
    ] = "",
    time_limit: Annotated[
        float, typer.Option(min=0.1, max=MOST_SECONDS, help="End a case after these seconds.")
    ] = 60.0,
    budget: Annotated[float, typer.Option(min=1, max=MOST_SECONDS, help="Begin no case after these seconds.")] = 600.0,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page of what was found.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Judge a submission on a task.

    Its process has no expected value.

    A submission defines custom_kernel, ModelNew or FAMILY. A task's file defines Model and get_inputs, or ref_kernel
    and generate_input.

    Exit codes: 0 right, 1 wrong, 2 usage or environment, 3 not all that decides was compared.
    """
    from bitgate.tools.judge.run import JudgeRequest

    check_writable(html)
    unknown = [one for one in dtype or () if one not in DTYPES or not DTYPES[one].is_float]
    if unknown:
        raise UsageError(f"--dtype {unknown[0]}: no type of reals: f64, f32, f16, bf16")
    request = JudgeRequest(
        submission=submission or Path(),
        task=task,
        target=target_id(target).name,
        tier=tier,
        problems=problems,
        seed=seed,
        own=own,
        arguments=_inputs(inputs),
        dtypes=tuple(dtype or ()),
        memory=bytes_stated("--memory", memory or ("8G" if target == "host" else "64G")),
        seconds=time_limit,
        budget=budget,
        samples=samples,
    )
    if many is not None:
        if submission is not None:
            raise UsageError(f"{submission}: --many takes the submissions from its folder: leave this out")
        return _many(many, request, out, resume, html, json_output)
    if submission is None or not task:
        raise UsageError("name a submission and its --task, or --many FOLDER")
    return _one(request, html, json_output)


def _one(request: Any, html: Path | None, json_output: bool) -> int:
    from bitgate.tools.judge.findings import as_text
    from bitgate.tools.judge.page import write_page
    from bitgate.tools.judge.run import judge

    def hear(one: Any, verdict: Any) -> None:
        if not json_output:
            reason = "" if verdict.green else verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason
            print(f"{verdict.outcome.value:8} {verdict.key.case}  {one.fill}  ({one.group})", flush=True)
            if reason:
                print(f"  {message(reason)}", flush=True)

    report = judge(request, hear, print_progress)
    if html is not None:
        write_page(html, report)
    print(as_text(report) if json_output else _closing(report))
    code: int = report["exit"]
    return code


def _many(folder: Path, request: Any, out: Path | None, resume: bool, html: Path | None, json_output: bool) -> int:
    from bitgate.core import paths
    from bitgate.tools.judge.many import judge_many
    from bitgate.tools.judge.page import write_table
    from bitgate.tools.judge.table import as_lines

    where = out or paths.out_dir() / "judge"
    table = judge_many(folder, request, where, resume, print_progress)
    if html is not None:
        write_table(html, table)
    print(json.dumps(table, indent=2) if json_output else "\n".join(as_lines(table)))
    code: int = table["exit"]
    return code


def _inputs(words: list[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--input {word}: write NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _closing(report: dict[str, Any]) -> str:
    summary, time = report["summary"], report["time"]
    lines = [f"sandbox: {', '.join(report['sandbox'])}", *(f"note: {printable(note)}" for note in report["notes"])]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary["outcomes"].items()) or "nothing was compared"
    first = f": {message(report['diagnosis'])}" if report["diagnosis"] else ""
    if time is None:
        clock = "untimed"
    elif time["wrong"]:
        clock = f"no time: {message(time['wrong'])}"
    else:
        clock = f"{time['ms']:.4g} ms by the device's events (trusted)"
        if time["kind"] == "bounded":
            clock = f"at most {time['ms']:.4g} ms (bounded from outside)"
    return "\n".join([*lines, f"{report['verdict']}{first}; {counts}; {clock}; seed {report['seed']}"])
