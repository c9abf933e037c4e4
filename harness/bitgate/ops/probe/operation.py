"""Probes as an operation: ``probe_platform``."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.model import Operation, ProblemError
from bitgate.ops.probe.problem import ProbeProblem, Subject


class Probing(Operation):
    name = "probe"
    problem_type = ProbeProblem
    groups: Mapping[str, str] = {
        "diagnostics": "bitgate.ops.probe.diagnostics:ProbeDiagnostics",
    }

    def parse(self, text: str, words: list[str]) -> ProbeProblem:
        try:
            (word,) = words
            return ProbeProblem(Subject(word))
        except ValueError:
            known = ", ".join(Subject)
            raise ProblemError(f"case '{text}': '{'_'.join(words)}' is nothing to probe: known is {known}") from None

    def spell(self, problem: ProbeProblem) -> str:
        return f"probe_{problem.subject}"

    def human(self, problem: ProbeProblem) -> str:
        """``probe of the platform``."""
        return f"probe of the {problem.subject}"


OPERATIONS = (Probing(),)
