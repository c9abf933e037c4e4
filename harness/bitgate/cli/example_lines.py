"""What CK's examples print, example by example: tensors, launches, the time, the verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.interop import Controls, TimedKernel
from bitgate.interop.measured import perf_words
from bitgate.model import Problem
from bitgate.model.diagnostics import tensor_line
from bitgate.results.record import Outcome, Verdict

LAUNCH = "launch_and_time_kernel:"


@dataclass(frozen=True)
class Wording:
    """``family`` computes what the example does, by the kind that its name says. ``tensors``: what they are called, in
    the order of the example; empty: named after their axes (``in_n_c_hi_wi``), without G where there is one
    group. ``names_kernel``: the time's line ends with the kernel; ``device_op``: a line behind it does.
    ``tells``: it says what it verifies with; ``on_gpu``: what it then says of a GPU's reference. ``wrong``: what
    it says of a wrong result.
    """

    family: dict[str, str]
    tensors: tuple[str, ...] = ("in", "wei", "out")
    names_kernel: bool = True
    device_op: bool = False
    tells: bool = False
    on_gpu: tuple[str, ...] = ()
    wrong: str = "Error: incorrect results!"


WORDINGS = {
    "convnd_fwd": Wording(
        {"": "grouped_fwd"},
        tells=True,
        on_gpu=(
            "GPU reference kernel completed successfully, copying results...",
            "Comparing GPU kernel output vs GPU reference...",
        ),
    ),
    "convnd_bwd_data": Wording(
        {"": "nongrouped_bwd_data"}, tensors=(), names_kernel=False, wrong="Error: Incorrect results!"
    ),
    "grouped_conv_fwd": Wording({"": "grouped_fwd"}),
    "grouped_conv_bwd_weight": Wording(
        {"": "grouped_bwd_weight", "wavelet": "bwd_weight_wavelet"},
        names_kernel=False,
        device_op=True,
        tells=True,
        wrong="Error: Incorrect results!",
    ),
    "grouped_conv_bwd_data": Wording({"": "grouped_bwd_data"}, ("out", "wei", "in"), names_kernel=False),
    "grouped_conv3d_bwd_data": Wording({"": "grouped_bwd_data"}, ("out", "wei", "in"), names_kernel=False),
}
"""By the example's name without ``example_``, types and waves."""


def traced(lines: Sequence[str], problem: Problem, wording: Wording, times: int) -> Iterator[str]:
    """The lines of a trace as the example words them. ``times``: runs that are timed, 0 if none are."""
    named = list(problem.operation.diagnostics.tensor_lines(problem))
    for line in lines:
        if wording.tensors and line in named:
            if line == named[0]:
                yield from _tensors(problem, wording.tensors)
            continue
        yield line
        if times and line.startswith(LAUNCH):
            yield "Warm up"
            yield f"Start running {times} times..."


def _tensors(problem: Problem, roles: Iterable[str]) -> Iterator[str]:
    tensors: dict[str, Any] = dict(problem.tensors)
    for role in roles:
        yield tensor_line(role, tensors[role].lengths, tensors[role].strides)


def verification(verdict: Verdict, controls: Controls, wording: Wording) -> Iterator[str]:
    """What the example says of the comparison."""
    on_gpu = wording.tells and verdict.reference == "gpu"
    if wording.tells:
        yield f"do_verification = {controls.verification}"
    if on_gpu:
        yield "Running GPU verification..."
        yield from wording.on_gpu
    if verdict.outcome is Outcome.MISMATCH:
        yield wording.wrong
    if on_gpu and verdict.compared:
        yield f"GPU verification result is:{'correct' if verdict.outcome is Outcome.PASS else 'fail'}"


def perf(measured: TimedKernel, wording: Wording) -> Iterator[str]:
    """``Perf: 1.40031 ms, 69.8734 TFlops, 179.037 GB/s``, by the mean of all runs."""
    yield perf_words(measured) + (f", {measured.kernel}" if wording.names_kernel else "")
    if wording.device_op:
        yield f"DeviceOp: {measured.kernel}"
