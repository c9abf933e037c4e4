"""A trace of what a case ran, launch by launch, in the format of CK's convolution examples.

The tensors are those of the problem; descriptors and launches come from the DispatchRecord, so a sub-GEMM that was not
launched is not in the trace, and a grid is the one that ran.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bitgate.kernel.abi import EventKind
from bitgate.kernel.declaration import Instance
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.model import Problem
from bitgate.model.diagnostics import commas
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import LaunchResult
from bitgate.verify.session import Session

GEMM_KERNEL = "kernel_"
"""Prefix of the names of launches that compute; fills and transposes are named after what they do."""


class Tracer:
    """An observer of launches that reports the first one, as ``{"lines": [...], "seconds": ...}``; the others run the
    same."""

    def __init__(self, planned: PlannedCase, session: Session, report: Callable[[dict[str, Any]], None]) -> None:
        self._planned, self._session, self._report = planned, session, report
        self._reported = False

    def __call__(self, run: LaunchResult) -> None:
        if self._reported:
            return
        self._reported = True
        lines: list[str] = []
        if run.record is not None:
            planned = self._planned
            lds = self._session.launcher.lds_bytes(planned.kernel, planned.raced)
            launches = format_launches(planned.problem, planned.kernel.instance, run.record, lds)
            tensors = planned.problem.operation.diagnostics.tensor_lines(planned.problem)
            lines = [*tensors, *launches, format_summary(run.record)]
            lines.insert(0, f"{planned.case}  {planned.kernel.name}")
        self._report({"lines": lines, "seconds": 0.0 if run.crash else run.seconds["kernel"]})


def format_launches(problem: Problem, instance: Instance, record: DispatchRecord, lds_bytes: int) -> list[str]:
    """Return a line for every memset, copy and kernel of the record, in order.

    Lines of the operation come before each launch that computes. ``lds_bytes`` is what a block of the instance
    declares.
    """
    launches = sum(event.name.startswith(GEMM_KERNEL) for event in record.events)
    per_launch = iter(problem.operation.diagnostics.launch_lines(problem, instance, record, launches))
    lines: list[str] = []
    for event in record.events:
        computes = event.name.startswith(GEMM_KERNEL)
        if computes:
            lines += next(per_launch, ())
        lines.append(_format_event(event, lds_bytes if computes else 0))
    return lines


def format_summary(record: DispatchRecord) -> str:
    """Return a line that sums up the launches."""
    split_k, split_n = (record.facts.get(name, 1) for name in ("split_k", "split_n"))
    return (
        f"path {record.path}, {record.launches} launches, {record.transposes} transposes, split_k {split_k},"
        f" split_n {split_n}, workspace {record.workspace_bytes} bytes"
    )


def format_perf(problem: Problem, milliseconds: float, width: int = 0) -> str:
    """Return ``Perf: 1.40031 ms, 69.8736 TFlops, 179.037 GB/s``, the time in at least ``width`` places.

    Operations are the dense count, and each tensor is moved once.
    """
    tflops = problem.flops / 1e9 / milliseconds
    gigabytes = problem.bytes / 1e6 / milliseconds
    return f"Perf: {milliseconds:>{width}g} ms, {tflops:g} TFlops, {gigabytes:g} GB/s"


def _format_event(event: LaunchEvent, lds_bytes: int) -> str:
    if event.kind is EventKind.MEMSET:
        return f"hipMemsetAsync: {event.name}, {event.bytes} bytes of {event.source:#04x}"
    if event.kind is EventKind.COPY:
        return f"hipMemcpyAsync: {event.name}, {event.bytes} bytes"
    lds = lds_bytes + event.lds_bytes
    return (
        f"launch_and_time_kernel: grid_dim {{{commas(event.grid)}}}, block_dim {{{commas(event.block)}}}"
        f" {event.name}" + (f", LDS {lds} bytes" if lds else "")
    )
