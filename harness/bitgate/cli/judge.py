"""``bitgate judge SUBMISSION --task TASK``: a kernel of unknown authors, held to a task; records nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.cli.args import bytes_stated
from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.untrusted import message, printable
from bitgate.results.record.identity import MOST_SEED

app = typer.Typer(add_completion=False)


@app.command()
def judge(
    submission: Annotated[Path, typer.Argument(metavar="SUBMISSION", help="Judge this Python file.")],
    task: Annotated[str, typer.Option(metavar="TASK", help="Name an operation, case ids, or a task's file.")],
    tier: Annotated[str, typer.Option(help="Take an operation's cases of this tier.")] = "smoke",
    problems: Annotated[int, typer.Option(min=1, max=1000, help="Judge on at most this many problems.")] = 16,
    own: Annotated[bool, typer.Option("--own", help="Judge on the sizes of the task's file alone.")] = False,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="Pass this to generate_input; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Draw from this seed [another each time].")] = None,
    memory: Annotated[str, typer.Option(metavar="BYTES", help="Limit the memory of its process.")] = "8G",
    time_limit: Annotated[float, typer.Option(min=0.1, help="End a case after these seconds.")] = 120.0,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Judge a submission on a task; its process has no expected value.

    A submission defines custom_kernel, ModelNew or FAMILY. A task's file defines Model and get_inputs, or ref_kernel
    and generate_input.

    Exit codes: 0 right, 1 wrong, 2 usage or environment, 3 nothing was compared.
    """
    from bitgate.tools.judge.run import JudgeRequest, as_text, judge

    if task.endswith(".py") and not Path(task).is_file():
        raise UsageError(f"--task {task}: no such file")
    request = JudgeRequest(
        submission, task, tier, problems, seed, own, _inputs(inputs), bytes_stated("--memory", memory), time_limit
    )

    def hear(one: Any, verdict: Any) -> None:
        if not json_output:
            reason = "" if verdict.green else verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason
            print(f"{verdict.outcome.value:8} {verdict.key.case}  {one.fill}  ({one.group})", flush=True)
            if reason:
                print(f"  {message(reason)}", flush=True)

    report = judge(request, hear, print_progress)
    if json_output:
        print(as_text(report))
    else:
        print(_closing(report))
    code: int = report["exit"]
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
    summary = report["summary"]
    lines = [f"sandbox: {', '.join(report['sandbox'])}", *(f"note: {printable(note)}" for note in report["notes"])]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary["outcomes"].items())
    first = f": {message(report['diagnosis'])}" if report["diagnosis"] else ""
    return "\n".join([*lines, f"{report['verdict']}{first}; {counts}; {report['time']}; seed {report['seed']}"])
