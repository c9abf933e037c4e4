"""What a case ran, launch by launch, in the words of CK's convolution examples.

The tensors are those of the problem; descriptors and launches come from the DispatchRecord, so a sub-GEMM that was not
launched is not in the trace, and a grid is the one that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bitgate.kernel.abi import EventKind
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.declaration import Instance
from bitgate.kernel.dispatch import DispatchRecord, LaunchEvent
from bitgate.operations.convolution import ConvProblem, Pass
from bitgate.operations.convolution.launched import SubGemmRecord, sub_gemm_records
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import Run
from bitgate.verify.session import Session

GEMM_KERNEL = "kernel_"
"""How the names of launches that compute sub-GEMMs begin; fills and transposes are named after what they do."""

_OUTER = {"in": "n_c", "wei": "k_c", "out": "n_k"}
_SPATIAL = {"in": ("di", "hi", "wi"), "wei": ("z", "y", "x"), "out": ("do", "ho", "wo")}


class Tracer:
    """Tells what the first launch of a case ran, as ``{"lines": [...], "seconds": ...}``; the others run the same."""

    def __init__(self, planned: PlannedCase, session: Session, tell: Callable[[dict[str, Any]], None]) -> None:
        self._planned, self._session, self._tell = planned, session, tell
        self._told = False

    def __call__(self, run: Run) -> None:
        if self._told:
            return
        self._told = True
        lines: list[str] = []
        if run.record is not None:
            planned, library = self._planned, self._session.library_of(self._planned)
            instance = find_instance(library.family, planned.instance)
            launches = launch_lines(planned.problem, instance, run.record, library.lds_bytes(instance))
            lines = [*tensor_lines(planned.problem), *launches, summary_line(run.record)]
            lines.insert(0, f"{planned.case}  {planned.kernel}")
        self._tell({"lines": lines, "seconds": 0.0 if run.crash else run.seconds["kernel"]})


def tensor_lines(problem: ConvProblem) -> list[str]:
    """``in_n_c_hi_wi: dim 4, lengths {..}, strides {..}``: each tensor in logical order, without G where it is 1."""
    lines = []
    for name, tensor in problem.tensors.items():
        role = name if name in _OUTER else problem.result
        letters = [name, "g", _OUTER[role], *_SPATIAL[role][3 - problem.ndim :]]
        lengths, strides = tensor.lengths, tensor.strides
        if problem.g == 1:
            letters.remove("g")
            lengths, strides = lengths[1:], strides[1:]
        lines.append(
            f"{'_'.join(letters)}: dim {len(lengths)}, lengths {{{_commas(lengths)}}}, strides {{{_commas(strides)}}}"
        )
    return lines


def launch_lines(problem: ConvProblem, instance: Instance, record: DispatchRecord, lds_bytes: int) -> list[str]:
    """Every memset, copy and kernel of the record in order; of bwd_data the descriptors of its sub-GEMMs before each
    launch. ``lds_bytes``: what a block of the instance declares."""
    gemms = iter(_gemms_of_launches(record, problem.ndim)) if problem.direction is Pass.BWD_DATA else iter(())
    lines = []
    for event in record.events:
        is_gemm = event.name.startswith(GEMM_KERNEL)
        if is_gemm:
            lines += [line for gemm in next(gemms, ()) for line in _descriptors(instance, gemm)]
        lines.append(_event_line(event, lds_bytes if is_gemm else 0))
    return lines


def summary_line(record: DispatchRecord) -> str:
    """What the launches make together."""
    split_k, split_n = (record.facts.get(name, 1) for name in ("split_k", "split_n"))
    return (
        f"path {record.path}, {record.launches} launches, {record.transposes} transposes, split_k {split_k},"
        f" split_n {split_n}, workspace {record.workspace_bytes} bytes"
    )


def perf_line(problem: ConvProblem, milliseconds: float) -> str:
    """``Perf: 1.40031 ms, 69.8736 TFlops, 179.037 GB/s``: the dense count of operations, each tensor moved once."""
    tflops = problem.flops / 1e9 / milliseconds
    gigabytes = problem.bytes / 1e6 / milliseconds
    return f"Perf: {milliseconds:g} ms, {tflops:g} TFlops, {gigabytes:g} GB/s"


def _gemms_of_launches(record: DispatchRecord, ndim: int) -> list[Sequence[SubGemmRecord]]:
    """The sub-GEMMs that each launch covered: one each, or a bucket each; all before the first if neither fits."""
    launches = sum(event.name.startswith(GEMM_KERNEL) for event in record.events)
    launched = [gemm for gemm in sub_gemm_records(record, ndim) if gemm.launched]
    if len(launched) == launches:
        return [[gemm] for gemm in launched]
    buckets: dict[int, list[SubGemmRecord]] = {}
    for gemm in launched:
        buckets.setdefault(gemm.bucket, []).append(gemm)
    return list(buckets.values()) if len(buckets) == launches else [launched]


def _descriptors(instance: Instance, gemm: SubGemmRecord) -> Iterator[str]:
    """A and B as K0 x (M or N) x K1, where K1 is how many of K a thread moves at once; C as it is, and in tiles."""
    k1 = (instance.vector or (1, 1, 1))[0]
    yield f"arg.a_grid_desc_k0_m_k1_container_{{{_commas((gemm.k // k1, gemm.m, k1))}}}"
    yield f"arg.b_grid_desc_k0_n_k1_container_{{{_commas((gemm.k // k1, gemm.n, k1))}}}"
    yield f"arg.c_grid_desc_m_n_container_{{ {_commas((gemm.m, gemm.n))}}}"
    if instance.tile and instance.fragment:
        m, n, _ = instance.tile
        parts = (-(-gemm.m // m), -(-gemm.n // n), m, n, *instance.fragment)
        yield f"arg.c_tiles_m0_n0_m1_n1_fragment_m_n_k_( {_commas(parts)} )"


def _event_line(event: LaunchEvent, lds_bytes: int) -> str:
    if event.kind is EventKind.MEMSET:
        return f"hipMemsetAsync: {event.name}, {event.bytes} bytes of {event.source:#04x}"
    if event.kind is EventKind.COPY:
        return f"hipMemcpyAsync: {event.name}, {event.bytes} bytes"
    lds = lds_bytes + event.lds_bytes
    return (
        f"launch_and_time_kernel: grid_dim {{{_commas(event.grid)}}}, block_dim {{{_commas(event.block)}}}"
        f" {event.name}" + (f", LDS {lds} bytes" if lds else "")
    )


def _commas(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
