"""``bitgate explain VERDICT|CASE``: what a verdict or a diagnosis means; how a problem decomposes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from bitgate.errors import UsageError
from bitgate.operation import ProblemError, case_id, foreign_line, human
from bitgate.operation.foreign import problems_of
from bitgate.operations.convolution import ConvProblem, Pass, never_written_fraction
from bitgate.operations.convolution.drawing import residue_map, sub_gemm_table
from bitgate.operations.gemm import GemmProblem
from bitgate.record import KIND_MEANING, KINDS, MEANING

app = typer.Typer(add_completion=False)


@app.command()
def explain(
    what: Annotated[
        str, typer.Argument(metavar="VERDICT|CASE", help="A verdict, a diagnosis kind, a case id or a foreign line.")
    ],
) -> None:
    """Say what a verdict or a diagnosis means, or draw the decomposition of a case."""
    words = {outcome.value: meaning for outcome, meaning in MEANING.items()} | KIND_MEANING
    for spelling in (what, what.upper(), what.lower()):
        if spelling in words:
            print(f"{spelling}: {words[spelling]}")
            return
    if "_" not in what and " " not in what:
        near = get_close_matches(what, [*words, *map(str.lower, words)], n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        known = f"verdict ({', '.join(MEANING)}), diagnosis kind ({', '.join(KINDS)})"
        raise UsageError(f"'{what}' is no {known} or case{hint}")
    try:
        problems = problems_of(what)
    except ProblemError as error:
        raise UsageError(str(error)) from None
    for problem in problems:
        _explain_case(problem)


def _explain_case(problem: ConvProblem) -> None:
    print(human(problem))
    print(f"id: {case_id(problem)}")
    line = foreign_line(problem)
    if line is not None:
        print(f"ckProfiler: {line}")
    if not isinstance(problem, GemmProblem):
        print(f"output {'x'.join(map(str, problem.output))}")
    print(f"{problem.flops / 1e9:.3g} GFlop, {problem.bytes / 1e6:.3g} MB in and out")
    if isinstance(problem, GemmProblem):
        return
    if problem.direction is not Pass.BWD_DATA:
        print(f"one GEMM a group: {_gemm(problem)}")
        return
    never = never_written_fraction(problem)
    print(f"{never:.1%} of dx gets no contribution and must be zero" if never else "every cell of dx is written")
    print()
    print("sub-GEMM of each residue class of dx, (x + pad) mod stride; '.' is written by none:")
    print(residue_map(problem))
    print()
    print(sub_gemm_table(problem))


def _gemm(problem: ConvProblem) -> str:
    positions, taps = 1, 1
    for length in problem.output:
        positions *= length
    for length in problem.filter:
        taps *= length
    if problem.direction is Pass.FWD:
        return f"M = N * outputs = {problem.n * positions}, N = K = {problem.k}, K = C * taps = {problem.c * taps}"
    return f"M = K = {problem.k}, N = C * taps = {problem.c * taps}, K = N * outputs = {problem.n * positions}"
