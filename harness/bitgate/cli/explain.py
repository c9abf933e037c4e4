"""``bitgate explain VERDICT|CASE``: what a verdict or a diagnosis means; how a problem decomposes."""

from __future__ import annotations

from typing import Annotated

import typer

from bitgate.cli.args import problems_named
from bitgate.core.errors import UsageError, meant
from bitgate.core.project_file import find
from bitgate.kernel.loading import with_operations
from bitgate.model import Problem, case_id, foreign_line, human
from bitgate.results.record import KIND_MEANING, KINDS, Outcome

app = typer.Typer(add_completion=False)


@app.command()
def explain(
    what: Annotated[
        str, typer.Argument(metavar="VERDICT|CASE", help="Name a verdict, a diagnosis kind, a case or a foreign line.")
    ],
) -> None:
    """Explain a verdict or a diagnosis, or draw a case."""
    words = {outcome.value: outcome.meaning for outcome in Outcome} | KIND_MEANING
    for spelling in (what, what.upper(), what.lower()):
        if spelling in words:
            print(f"{spelling}: {words[spelling]}")
            return
    if "_" not in what and " " not in what:
        hint = meant(what, [*words, *map(str.lower, words)], 0.5)
        known = f"verdict ({', '.join(Outcome)}), diagnosis kind ({', '.join(KINDS)})"
        raise UsageError(f"'{what}' is no {known} or case{hint}")
    with_operations(find())
    for problem in problems_named(what):
        _explain_case(problem)


def _explain_case(problem: Problem) -> None:
    diagnostics = problem.operation.diagnostics
    print(human(problem))
    print(f"id: {case_id(problem)}")
    line = foreign_line(problem)
    if line is not None:
        print(f"ckProfiler: {line}")
    for line in diagnostics.derived(problem):
        print(line)
    print(f"{problem.flops / 1e9:.3g} GFlop, {problem.bytes / 1e6:.3g} MB in and out")
    if picture := diagnostics.picture(problem):
        print(picture)
