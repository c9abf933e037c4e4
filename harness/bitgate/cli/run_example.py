"""``bitgate run-example convnd_bwd_data ARGS...``: CK's example command lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.verify import OF_VERIFICATION, exit_code, print_verdict, progress
from bitgate.errors import UsageError
from bitgate.kernel.declaration import Instance
from bitgate.operation import Problem, ProblemError
from bitgate.operation.foreign import Controls, controls_of, parse_foreign

if TYPE_CHECKING:
    from bitgate.kernel.declaration import Refusal
    from bitgate.kernel.resolved import Kernel

app = typer.Typer(add_completion=False)

KERNELS = {"convnd_bwd_data": "nongrouped_bwd_data"}
"""The example, and the family that is what it runs."""

ARGUMENTS = (
    "none; or verification (0 none, 1 CPU, 2 GPU), init (0 none, 1 integers, 2 decimals) and time (0 or 1); or these"
    " and ndim G N K C filter.. input.. strides.. dilations.. left pads.. right pads.."
)


@app.command(context_settings={"ignore_unknown_options": True})
def run_example(
    example: Annotated[str, typer.Argument(metavar="EXAMPLE", help=f"{', '.join(KERNELS)}, or with a type: .._bf16.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS...", help=ARGUMENTS)] = None,
    kernel: Annotated[str | None, typer.Option(help="Glob over family.instance [the example's own family].")] = None,
    target: Annotated[str | None, typer.Option(help="host, or a gfx target; default: the best one present.")] = None,
) -> int:
    """Run a CK example by its command line: its arguments, its defaults where one is left out; the lines are bitgate's.

    Exit codes: 0 green, 1 a defect was found, 2 usage or environment, 3 nothing was compared.
    """
    from bitgate.device.targets import best, named
    from bitgate.project_file import find
    from bitgate.verify.planned import PlannedCase
    from bitgate.verify.process import CaseProcess, Opening
    from bitgate.verify.selection import candidates, select_for
    from bitgate.verify.session import ZEROS
    from bitgate.verify.trace import perf_line

    name = next((known for known in KERNELS if example.startswith(known)), None)
    if name is None:
        raise UsageError(f"example '{example}' does not run here; known: {', '.join(KERNELS)}")
    problem, controls = _read(example, arguments or [])
    where, project = (named(target) if target else best()).name, find()
    selection = select_for(problem, candidates(kernel or f"{KERNELS[name]}.*", {}, where, project))
    if not selection.supporting:
        print(f"Not supported: {_nearest_refusal(problem, selection.refusing)}; nothing was compared")
        return 3
    largest = max(selection.supporting, key=lambda kernel: _size(kernel.instance))
    planned = PlannedCase(
        problem,
        largest,
        fill=(ZEROS, "exact", "decimal")[controls.init],
        target=where,
        reference=_reference(controls),
    )
    ran: list[dict[str, Any]] = []
    with CaseProcess(Opening(where, project), progress=progress) as process:
        verdict = process.verify(planned, trace=ran.append)
    print(*(line for note in ran for line in note["lines"]), sep="\n")
    if controls.time and ran and ran[0]["seconds"]:
        print(f"Start running 1 times... on {where}: wall time of all launches, fills included")
        print(perf_line(problem, ran[0]["seconds"] * 1e3))
    print_verdict(verdict)
    if verdict.compared:
        print(f"compared with the reference '{verdict.reference}'")
    if controls.init == 0:
        print("the inputs are zeros (init 0): any kernel gives the same result, so nothing was compared")
    elif controls.verification == 0:
        print("nothing was compared (verification 0)")
    return exit_code([verdict])


def _read(example: str, arguments: list[str]) -> tuple[Problem, Controls]:
    line = " ".join([f"example_{example}", *arguments])
    try:
        controls = controls_of(line)
        (problem,) = parse_foreign(line)
    except ProblemError as error:
        raise UsageError(f"{error}. Arguments: {ARGUMENTS}") from None
    return problem, controls or Controls()


def _reference(controls: Controls) -> str:
    """What the result is held to. Of decimals bits depend on the order of summation, on a GPU too: each cell is then
    within its bound of the sum in f64."""
    if controls.init == 0:
        return "none"
    if controls.init == 2 and controls.verification == 2:
        return "auto"
    return OF_VERIFICATION[controls.verification]


def _size(instance: Instance) -> tuple[int, ...]:
    """The largest tile, then the widest vectors: what the examples choose."""
    m, n, _ = instance.tile or (1, 1, 1)
    return m * n, *(instance.vector or ())


def _nearest_refusal(problem: Problem, refusing: Sequence[tuple[Kernel, Refusal]]) -> str:
    """Why the instances of the problem's own types do not take it."""
    texts = {f"{refusal.clause}: {refusal.text}" for _, refusal in refusing if refusal.clause != "dtypes"}
    return " | ".join(sorted(texts)) or f"no kernel takes {problem.dtypes}"
