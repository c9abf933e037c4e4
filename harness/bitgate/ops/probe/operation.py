"""Probes of the platform as an operation, ``probe_platform``, and its problem without tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from bitgate.model import DtypeSet, Operation, ProblemError, Tensor, operation_called
from bitgate.model.problem import PlainProblem

_F32 = DtypeSet.parse("f32")


class Subject(str, Enum):
    """The subject that is measured; a subject and its name are one key."""

    PLATFORM = "platform"

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class ProbeProblem(PlainProblem):
    """Measuring a subject: which of its figures is the kernel instance's affair, and so are the data. So it reads and
    writes no tensor that anybody else would know. One problem for all probes of a subject: they belong on one worker
    and in one shard, since some say nothing new once another is red."""

    subject: Subject = Subject.PLATFORM

    @property
    def operation(self) -> Operation:
        return operation_called("probe")

    @property
    def dtypes(self) -> DtypeSet:
        return _F32

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        return {}

    @property
    def result(self) -> str:
        return ""

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()

    @property
    def result_letters(self) -> str:
        return ""

    @property
    def attributes(self) -> Mapping[str, int]:
        return {}

    @property
    def flops(self) -> int:
        return 0


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
        """Return ``probe of the platform``."""
        return f"probe of the {problem.subject}"


OPERATIONS = (Probing(),)
