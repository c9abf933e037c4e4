"""The explanations of an operation: diagnoses, laws, facts of a launch, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any, Protocol

from bitgate.model.finding import Rule
from bitgate.model.law import LINEAR, Law


class Measurement(Protocol):
    """One problem, measured on a device by a library of its kernels."""

    @property
    def found(self) -> Mapping[str, Any]:
        """Figures that belong on the record even where nothing is wrong, as small JSON."""

    def take(self) -> tuple[str, Sequence[str]]:
        """What is not as declared: in one sentence, empty if all is; and thing by thing. HipError and KernelFailed if
        a launch fails."""


class Diagnostics:
    """What is asked about a result that is wrong, or a problem that somebody wants explained.

    Everything has a default: an operation says what it knows better.
    """

    rules: tuple[Rule, ...] = ()
    """What its wrong cells may have in common, asked before the rules of any operation; where there are several outputs
    ``scene.role`` says in which."""

    laws: tuple[Law, ...] = (LINEAR,)
    """What holds between results of one kernel, in the order in which it is tried."""

    # ---- the result: problem.result, the first of the outputs

    def letters(self, problem: Any, role: str) -> str:
        """One letter an axis of an output: those of its layout, if it has one each."""
        if role == problem.result:
            return str(problem.result_letters)
        tensor = problem.tensors[role]
        rank = len(tensor.lengths)
        return str(tensor.layout) if len(tensor.layout) == rank else ascii_lowercase[:rank]

    def names(self, problem: Any) -> Mapping[str, str]:
        """What people call the tensors, by role: y, dx, C."""
        return {name: name for name in problem.tensors}

    def channel_axis(self, problem: Any) -> int:
        """The axis of the result of which a diagnosis leaves coordinates out if the result is very large."""
        return max(0, len(problem.result_letters) - 1)

    def neighbours(self, problem: Any) -> Sequence[int]:
        """Axes of the result along which a cell may hold its neighbour's value by an index that is off by one."""
        return range(len(problem.result_letters))

    def adds_to_result(self, problem: Any) -> bool:
        """Do kernels add to what the result's memory holds, so that it has to be cleared before?"""
        return False

    # ---- laws

    def companions(self, problem: Any) -> tuple[Any, ...]:
        """The problems whose results laws compare, the problem among them: none of their sums may be rounded."""
        return (problem,)

    # ---- launches

    def launch_errors(self, problem: Any, record: Any) -> list[str]:
        """What a DispatchRecord says otherwise than the problem needs. Asked of kernels that decompose the problem,
        under production options."""
        return []

    def tensor_lines(self, problem: Any) -> list[str]:
        """The tensors, a line each, as traces begin."""
        return [tensor_line(name, tensor.lengths, tensor.strides) for name, tensor in problem.tensors.items()]

    def launch_lines(self, problem: Any, instance: Any, record: Any, launches: int) -> Iterable[Sequence[str]]:
        """What a trace says before each of the ``launches`` of a DispatchRecord that compute, in their order; nothing
        for those behind the last one given."""
        return ()

    # ---- the problem

    def derived(self, problem: Any) -> tuple[str, ...]:
        """What follows from the problem's sizes, a line each."""
        return ()

    def groups(self, problem: Any) -> tuple[str, ...]:
        """What tables of timings count it with, coarse to fine: ``("fwd", "f16", "stride > 1")``."""
        return (problem.operation.name,)

    def picture(self, problem: Any) -> str:
        """How kernels take the problem apart, as text; empty where they do not."""
        return ""

    def measurement(self, problem: Any, instance: str, device: Any, runner: Any) -> Measurement | None:
        """For an operation that computes nothing: what an instance of its kernels measures on the device. None: the
        result is compared."""
        return None


def tensor_line(label: str, lengths: Sequence[int], strides: Sequence[int]) -> str:
    """``in_n_c_hi_wi: dim 4, lengths {1, 8, 9, 9}, strides {648, 81, 9, 1}``, as CK's examples print it."""
    return f"{label}: dim {len(lengths)}, lengths {{{commas(lengths)}}}, strides {{{commas(strides)}}}"


def commas(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
