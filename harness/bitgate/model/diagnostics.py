"""The explanations of an operation: diagnoses, laws, facts of a launch, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any, Protocol

from bitgate.model.figure import Figure, figures_of
from bitgate.model.finding import Rule
from bitgate.model.law import LINEAR, Law
from bitgate.model.thread_map import Cell, ThreadMap


class Measurement(Protocol):
    """One problem, measured on a device by a library of its kernels."""

    @property
    def found(self) -> Mapping[str, Any]:
        """Figures that belong on the record even where nothing is wrong, as small JSON."""

    def take(self) -> tuple[str, Sequence[str]]:
        """Measure, and return what is not as declared: one sentence, empty if all is, and one line for each thing.

        Raises HipError or KernelFailed if a launch fails.
        """


class Diagnostics:
    """The explanations of an operation: of a result that is wrong, and of a problem.

    Everything has a default; an operation overrides what it knows better.
    """

    rules: tuple[Rule, ...] = ()
    """The rules of its wrong cells, asked before those of any operation; ``scene.role`` names one of several
    outputs."""

    laws: tuple[Law, ...] = (LINEAR,)
    """The laws between results of one kernel, in the order in which they are tried."""

    # ---- the result: problem.result, the first of the outputs

    def letters(self, problem: Any, role: str) -> str:
        """Return one letter for each axis of an output: those of its layout, if it has one for each."""
        if role == problem.result:
            return str(problem.result_letters)
        tensor = problem.tensors[role]
        rank = len(tensor.lengths)
        return str(tensor.layout) if len(tensor.layout) == rank else ascii_lowercase[:rank]

    def names(self, problem: Any) -> Mapping[str, str]:
        """Return the tensors' usual names by role: y, dx, C."""
        return {name: name for name in problem.tensors}

    def channel_axis(self, problem: Any) -> int:
        """Return the axis of the result whose coordinates a diagnosis leaves out if the result is very large."""
        return max(0, len(problem.result_letters) - 1)

    def neighbours(self, problem: Any) -> Sequence[int]:
        """Return the axes of the result along which an index that is off by one gives a cell its neighbour's value."""
        return range(len(problem.result_letters))

    def adds_to_result(self, problem: Any) -> bool:
        """Return whether kernels add to what the result's memory holds, so that it has to be cleared before."""
        return False

    # ---- laws

    def companions(self, problem: Any) -> tuple[Any, ...]:
        """Return the problems whose results laws compare, this one among them: none of their sums may be rounded."""
        return (problem,)

    # ---- launches

    def launch_errors(self, problem: Any, record: Any) -> list[str]:
        """Return what a DispatchRecord states otherwise than the problem needs.

        Called for kernels that decompose the problem, under production options.
        """
        return []

    def tensor_lines(self, problem: Any) -> list[str]:
        """Return one line for each tensor, as traces begin."""
        return [tensor_line(name, tensor.lengths, tensor.strides) for name, tensor in problem.tensors.items()]

    def launch_lines(self, problem: Any, instance: Any, record: Any, launches: int) -> Iterable[Sequence[str]]:
        """Return what a trace prints before each of the ``launches`` of a DispatchRecord that compute, in their order.

        Nothing is printed for launches after the last one given.
        """
        return ()

    # ---- the problem

    def derived(self, problem: Any) -> tuple[str, ...]:
        """Return what follows from the problem's sizes, one line for each fact."""
        return ()

    def groups(self, problem: Any) -> tuple[str, ...]:
        """Return the groups that tables of timings count the problem in, coarse to fine: ``("fwd", "f16", "stride >
        1")``.
        """
        return (problem.operation.name,)

    def picture(self, problem: Any) -> str:
        """Return how kernels take the problem apart, as text; empty where they do not."""
        return ""

    def cell_lines(self, problem: Any, cell: Cell) -> Sequence[str]:
        """Return what a cell of the result is, and which elements of the operands its value comes from."""
        return ()

    def figures(self, problem: Any, threads: ThreadMap | None, cell: Cell | None) -> Sequence[Figure]:
        """Return figures of the problem and of a kernel's work at it, with a cell marked where one is given."""
        return figures_of(threads, cell, (0,) * len(problem.tensors[problem.result].lengths))

    def measurement(self, problem: Any, instance: str, device: Any, runner: Any) -> Measurement | None:
        """Return the measurement that an instance makes on the device, for an operation that computes nothing.

        None: the result is compared instead.
        """
        return None


def tensor_line(label: str, lengths: Sequence[int], strides: Sequence[int]) -> str:
    """Return a tensor's line as CK's examples print it.

    ``in_n_c_hi_wi: dim 4, lengths {1, 8, 9, 9}, strides {648, 81, 9, 1}``
    """
    return f"{label}: dim {len(lengths)}, lengths {{{commas(lengths)}}}, strides {{{commas(strides)}}}"


def commas(numbers: Sequence[int]) -> str:
    """Join numbers by commas."""
    return ", ".join(map(str, numbers))
