"""``bitgate run-example convnd_bwd_data ARGS...``: CK's example command lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.verify import exit_code, print_verdict
from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.interop import Controls, Variant, controls_of, parse_foreign, variant_of
from bitgate.interop.requests import reference_of
from bitgate.kernel.declaration import Instance
from bitgate.model import Problem, ProblemError

if TYPE_CHECKING:
    from bitgate.kernel.declaration import Refusal
    from bitgate.kernel.resolved import Kernel
    from bitgate.results.record import Verdict

app = typer.Typer(add_completion=False)

FAMILIES: dict[str, dict[str, str]] = {
    "convnd_fwd": {"": "grouped_fwd"},
    "convnd_bwd_data": {"": "nongrouped_bwd_data"},
    "grouped_conv_fwd": {"": "grouped_fwd"},
    "grouped_conv_bwd_weight": {"": "grouped_bwd_weight", "wavelet": "bwd_weight_wavelet"},
    "grouped_conv_bwd_data": {"": "grouped_bwd_data"},
    "grouped_conv3d_bwd_data": {"": "grouped_bwd_data"},
}
"""The family that computes what an example does, by the example without ``example_``, types and waves, and by kind."""

LAUNCH = "launch_and_time_kernel:"

ARGUMENTS = (
    "none; or verification (0 none, 1 CPU, 2 GPU), init (0 none, 1 integers, 2 decimals) and time (0 no, 1 yes, or a"
    " number of runs); or these and ndim G N K C filter.. input.. strides.. dilations.. left pads.. right pads..;"
    " G may be left out of convnd_fwd and convnd_bwd_data, a split-K may follow in grouped_conv_bwd_weight"
)

MOST_RUNS = 50
"""What a time of 1 asks for, as in CK, where they do not take longer than SECONDS."""
SECONDS = 10.0


@app.command(context_settings={"ignore_unknown_options": True})
def run_example(
    example: Annotated[
        str,
        typer.Argument(metavar="EXAMPLE", help="Name the example, with or without types, waves and kind."),
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS...", help="Give the arguments; leave out those with defaults.")
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="Choose kernels by family.instance [the example's family].")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = None,
) -> int:
    """Run a CK example by its command line.

    It takes the example's arguments, has its defaults where one is left out, and prints the lines of CK's example 17.
    What is timed is verified first, whatever the verification says: Perf is the mean of all runs by device events.

    EXAMPLE: convnd_fwd, convnd_bwd_data, grouped_conv_fwd, grouped_conv_bwd_weight, grouped_conv_bwd_data,
    grouped_conv3d_bwd_data; or with types, waves and kind: .._wavelet_xdl_fp16.

    ARGS: none; or verification (0 none, 1 CPU, 2 GPU), init (0 none, 1 integers, 2 decimals) and time (0 no, 1 yes, or
    a number of runs); or these and ndim G N K C filter.. input.. strides.. dilations.. left pads.. right pads... G may
    be left out of convnd_fwd and convnd_bwd_data; a split-K may follow in grouped_conv_bwd_weight.

    Exit codes: 0 green, 1 a defect was found, 2 usage or environment, 3 nothing was compared.
    """
    from bitgate.core.project_file import find
    from bitgate.results.record import Outcome
    from bitgate.runtime.targets import best, named
    from bitgate.tools.bench.runs import Runs, timed_runs
    from bitgate.verify.planned import PlannedCase
    from bitgate.verify.problem_data import ZEROS
    from bitgate.verify.process import CaseProcess, Opening
    from bitgate.verify.selection import candidates, select_for
    from bitgate.verify.trace import format_perf

    problem, controls, variant = _read(example, arguments or [])
    family = FAMILIES[variant.name][variant.kind]
    where, project = named(target) if target else best(), find()
    selection = select_for(problem, candidates(kernel or f"{family}.*", {}, where.name, project))
    if not selection.supporting:
        print(f"Not supported: {_nearest_refusal(problem, selection.refusing)}; nothing was compared")
        return 3
    chosen = max(selection.supporting, key=lambda kernel: _preference(kernel.instance, variant))
    for note in _notes(variant, chosen.instance, where.name, problem, controls):
        print(note)
    planned = PlannedCase(
        problem,
        chosen,
        fill=(ZEROS, "exact", "decimal")[controls.init],
        target=where.name,
        reference=_reference(problem, controls),
    )
    ran: list[dict[str, Any]] = []
    with CaseProcess(Opening(where.name, project), progress=print_progress) as process:
        verdict = process.verify(planned, trace=ran.append)
        times = _times(controls, ran[0]["seconds"]) if ran and _is_verified(verdict) else 0
        for trace in ran:
            print(*_traced(trace["lines"], times), sep="\n", flush=True)
        runs = timed_runs(planned, verdict, process, times) if times else Runs()
    if runs.seconds:
        print(format_perf(problem, 1e3 * sum(runs.seconds) / len(runs.seconds)))
    if runs.includes:
        print(f"in this time, besides the kernels that compute: {', '.join(runs.includes)}")
    if verdict.outcome is Outcome.MISMATCH:
        print("Error: Incorrect results!")
    print_verdict(verdict)
    if verdict.compared:
        print(f"compared with the reference '{verdict.reference}'")
    if controls.init == 0:
        print("the inputs are zeros (init 0): any kernel gives the same result, so nothing was compared")
    elif not verdict.compared and controls.verification == 0:
        print("nothing was compared (verification 0)")
    if controls.time and not runs.seconds:
        print(f"not timed: {runs.failure or 'only what is verified is timed'}")
    return 1 if runs.failure else exit_code([verdict])


def _traced(lines: Sequence[str], times: int) -> Iterator[str]:
    """Yield the lines of a trace; ``times`` runs are timed, 0 if none are."""
    for line in lines:
        yield line
        if times and line.startswith(LAUNCH):
            yield "Warm up"
            yield f"Start running {times} times..."


def _read(example: str, arguments: list[str]) -> tuple[Problem, Controls, Variant]:
    line = " ".join([f"example_{example.removeprefix('example_')}", *arguments])
    try:
        controls, variant = controls_of(line), variant_of(line)
        (problem,) = parse_foreign(line)
    except ProblemError as error:
        raise UsageError(f"{error}. Arguments: {ARGUMENTS}") from None
    if variant is None or variant.name not in FAMILIES:
        raise UsageError(f"example '{example}' does not run here; known: {', '.join(FAMILIES)}")
    return problem, controls or Controls(), variant


def _reference(problem: Problem, controls: Controls) -> str:
    """Return the reference of the result.

    Bits of decimals depend on the order of summation, on a GPU too: each cell is then held to its bound around the
    sum in f64. A problem that is to be timed is verified even where the line asks for nothing.
    """
    if controls.init == 0:
        return "none"
    if controls.verification == 0:
        return "auto" if controls.time else "none"
    if controls.verification == 2 and controls.init == 2:
        return "auto"
    return reference_of(problem, controls)


def _is_verified(verdict: Verdict) -> bool:
    return verdict.compared and verdict.green


def _times(controls: Controls, seconds: float) -> int:
    """Runs to time: as many as the line says, or what a time of 1 stands for. ``seconds``: of the first launch."""
    if controls.time > 1:
        return controls.time
    return controls.time * max(1, min(MOST_RUNS, int(SECONDS / max(seconds, 1e-9))))


def _notes(variant: Variant, instance: Instance, target: str, problem: Problem, controls: Controls) -> list[str]:
    """Return what the line asks for and is done otherwise."""
    notes = [f"'{word}' chooses nothing here" for word in variant.ignored]
    if variant.lanes and instance.wave_size not in (0, variant.lanes):
        notes.append(f"no instance with waves of {variant.lanes} takes this on {target}: one of {instance.wave_size}")
    if controls.verification == 2 and problem.is_split:
        notes.append("verification 2: the naive kernel takes no split-K, so the reference is the CPU's")
    if controls.time and controls.verification == 0 and controls.init:
        notes.append("verification 0: verified all the same, since only what is verified is timed")
    return notes


def _preference(instance: Instance, variant: Variant) -> tuple[object, ...]:
    """Return the examples' order of choice: the waves that the name asks for, the largest tile, the widest vectors."""
    m, n, _ = instance.tile or (1, 1, 1)
    return not variant.lanes or instance.wave_size in (0, variant.lanes), m * n, *(instance.vector or ())


def _nearest_refusal(problem: Problem, refusing: Sequence[tuple[Kernel, Refusal]]) -> str:
    """Return why the instances of the problem's types do not take it."""
    texts = {f"{refusal.clause}: {refusal.text}" for _, refusal in refusing if refusal.clause != "dtypes"}
    return " | ".join(sorted(texts)) or f"no kernel takes {problem.dtypes}"
