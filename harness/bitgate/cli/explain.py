"""``bitgate explain VERDICT|CASE``: the meaning of a verdict, and how a problem decomposes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.cli.args import check_writable, options_named, problems_named
from bitgate.core.errors import UsageError, meant
from bitgate.core.files import write_whole
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.kernel.loading import to_load, with_operations
from bitgate.model import Problem, case_id, foreign_line, human
from bitgate.results.record import KIND_MEANING, KINDS, Outcome

if TYPE_CHECKING:
    from bitgate.kernel.resolved import Kernel
    from bitgate.tools.explain import Explanation

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class KernelArguments:
    """The kernel on which a case is explained, and the cell; all None: the problem alone."""

    kernel: str | None
    target: str | None
    options: dict[str, str]
    cell: str | None
    svg: Path | None

    @property
    def is_about_a_kernel(self) -> bool:
        return any((self.kernel, self.target, self.options, self.cell is not None, self.svg))


@app.command()
def explain(
    what: Annotated[
        str, typer.Argument(metavar="VERDICT|CASE", help="Name a verdict, a diagnosis kind, a case or a foreign line.")
    ],
    kernel: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Explain it on this kernel [the first that takes it].")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Take the kernels of this target [host].")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels.")] = None,
    cell: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Name the block and thread that write this cell.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw sub-GEMMs, tiles and sums as SVG.")] = None,
) -> None:
    """Explain a verdict or a diagnosis, or draw a case.

    --cell takes one coordinate for each axis of the result: 0,0,5,3,4 of dx is group, image, channel, row, column.
    Threads are those that the kernel's declaration states; nothing runs.

    Exit codes: 0 explained, 2 usage: no such case or cell, or no kernel that takes it.
    """
    asked = KernelArguments(kernel, target, options_named(option), cell, svg)
    words = {outcome.value: outcome.meaning for outcome in Outcome} | KIND_MEANING
    for spelling in (what, what.upper(), what.lower()):
        if spelling in words:
            if asked.is_about_a_kernel:
                raise UsageError(f"'{what}' is no case: --kernel, --target, --option, --cell and --svg are for cases")
            print(f"{spelling}: {words[spelling]}")
            return
    if "_" not in what and " " not in what:
        hint = meant(what, [*words, *map(str.lower, words)], 0.5)
        known = f"verdict ({', '.join(Outcome)}), diagnosis kind ({', '.join(KINDS)})"
        raise UsageError(f"'{what}' is no {known} or case{hint}")
    project = with_operations(find().loading(to_load(load)))
    problems = problems_named(what)
    if asked.is_about_a_kernel and len(problems) > 1:
        raise UsageError(f"'{what}' is {len(problems)} cases: explain one, {', '.join(map(case_id, problems[:3]))} ...")
    explanations = [_on_kernel(problem, asked, project) for problem in problems if asked.is_about_a_kernel]
    for problem in problems:
        _explain_case(problem)
    for problem, explanation in zip(problems, explanations, strict=False):
        print()
        print("\n".join(explanation.lines))
        if svg is not None:
            from bitgate.results.report.figure_svg import svg_of

            write_whole(svg, svg_of(case_id(problem), explanation.figures, explanation.lines).encode())
            print(f"picture: {svg}")


def _on_kernel(problem: Problem, asked: KernelArguments, project: Project) -> Explanation:
    """Return the explanation on the kernel that was asked for; UsageError before anything is printed or written."""
    from bitgate.tools.explain import cell_named, explain_case

    check_writable(asked.svg)
    try:
        cell = None if asked.cell is None else cell_named(problem, asked.cell)
    except ValueError as error:
        raise UsageError(f"--cell {asked.cell}: {error}") from None
    return explain_case(problem, _kernel(problem, asked, project), cell)


def _kernel(problem: Problem, asked: KernelArguments, project: Project) -> Kernel:
    from bitgate.verify.selection import candidates, select_for

    chosen = candidates(asked.kernel, asked.options, asked.target or "host", project)
    found = select_for(problem, chosen)
    if found.supporting:
        return found.supporting[0]
    if found.refusing:
        kernel, refusal = max(found.refusing, key=lambda pair: pair[1].clause != "dtypes")
        raise UsageError(
            f"no kernel takes {case_id(problem)}: {kernel.name} refuses it, {refusal.clause}: {refusal.text}"
        )
    raise UsageError(f"no kernel that was chosen computes {problem.operation.name}")


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
