"""Problems of a known operation from their case ids."""

from __future__ import annotations

from bitgate.interop import parse_foreign
from bitgate.model.registry import parse_case_id
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.gemm import GemmProblem


def convolution(text: str) -> ConvProblem:
    """Parse the id of a convolution."""
    problem = parse_case_id(text)
    assert isinstance(problem, ConvProblem), text
    return problem


def gemm(text: str) -> GemmProblem:
    """Parse the id of a GEMM."""
    problem = parse_case_id(text)
    assert isinstance(problem, GemmProblem), text
    return problem


def foreign_convolutions(line: str) -> list[ConvProblem]:
    """Read another tool's command line, which names convolutions."""
    problems = parse_foreign(line)
    found = [problem for problem in problems if isinstance(problem, ConvProblem)]
    assert len(found) == len(problems), line
    return found
