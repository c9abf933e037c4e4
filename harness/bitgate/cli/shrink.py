"""``bitgate shrink CASE``: the smallest problem that fails as this one does, and the nearest that pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.cli.args import options_named, problems_named
from bitgate.cli.fuzz import print_failure
from bitgate.cli.launcher import DaemonOption, LauncherOption, opened
from bitgate.core.progress import print_progress
from bitgate.core.settings import MOST_SECONDS
from bitgate.results.record.identity import MOST_SEED

if TYPE_CHECKING:
    from bitgate.results.record import Verdict
    from bitgate.tools.fuzz.failure import ShrunkFailure
    from bitgate.verify.planned import PlannedCase

app = typer.Typer(add_completion=False)


@app.command()
def shrink(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Name a case id, or a quoted foreign command line.")],
    kernel: Annotated[str | None, typer.Option(help="Choose kernels by family.instance [all but references].")] = None,
    target: Annotated[str | None, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = None,
    fill: Annotated[str, typer.Option(help="Fill with exact, decimal, special, codes or probe.")] = "exact",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Draw the data from this seed.")] = 0,
    schedule: Annotated[
        str, typer.Option(help="Order host threads: forward, reverse, lockstep, random:N.")
    ] = "forward",
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels' declaration.")] = None,
    isolate: Annotated[
        bool,
        typer.Option("--isolate", help="Ask for each verdict in a separate process."),
    ] = False,
    seconds: Annotated[float, typer.Option(min=1, max=MOST_SECONDS, help="Shrink for at most these seconds.")] = 60.0,
    launcher: LauncherOption = "",
    launcher_daemon: DaemonOption = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Shrink a failing case, and name what makes it pass.

    Fewest multiply-adds are sought first, then simplest parameters. Of several instances that fail the first is shrunk.
    A verdict after one that was not sound always has a separate process. Exit codes: 0 it passes, 1 a defect was found
    and shrunk.
    """
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.tools.fuzz.failure import FuzzFailure, is_failure
    from bitgate.tools.fuzz.shrink import Shrinker
    from bitgate.verify.planned import PlannedCase
    from bitgate.verify.process import CaseProcess, Opening
    from bitgate.verify.selection import candidates, select_for

    project = with_operations(find().loading(to_load(load)))
    problems, options = problems_named(case), options_named(option)
    name = opened(launcher, launcher_daemon, target).name
    process = CaseProcess(Opening(name, project), progress=print_progress)

    def verdict_on(planned: PlannedCase) -> Verdict:
        try:
            return process.verify(planned)
        finally:
            if isolate:
                process.end()

    with process:
        chosen = candidates(kernel, options, name, project)
        green = silent = 0
        for problem in problems:
            compared = False
            selection = select_for(problem, chosen)
            for chosen_kernel, clause in (*((kernel, "") for kernel in selection.supporting), *selection.clauses):
                planned = PlannedCase(
                    problem,
                    chosen_kernel,
                    fill=fill,
                    seed=seed,
                    schedule=schedule,
                    target=name,
                    refused=clause,
                )
                verdict = verdict_on(planned)
                if is_failure(verdict):
                    return _print_failures(
                        [Shrinker(verdict_on, FuzzFailure(planned, verdict), seconds).run()], green, silent, as_json
                    )
                green += verdict.green
                compared = compared or verdict.compared
            silent += not compared
        return _print_failures([], green, silent, as_json)


def _print_failures(failures: list[ShrunkFailure], green: int, silent: int, as_json: bool) -> int:
    """Print the failures and return the exit code. ``silent`` is how many cases no kernel was compared on."""
    if as_json:
        document = {"failures": [failure.as_json() for failure in failures], "green": green, "not_compared": silent}
        print(json.dumps(document, indent=1))
    elif failures:
        print_failure(failures[0])
    else:
        uncompared = f"; cases not compared: {silent}" if silent else ""
        print(f"nothing to shrink: {green} verdicts, none red{uncompared}")
    return 1 if failures else 3 if silent else 0
