"""Does what a library says it launched cover the sub-GEMMs of the problem, one by one?"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from bitgate.kernel.dispatch import DispatchRecord
from bitgate.ops.convolution.decomposition import SubGemm, sub_gemms
from bitgate.ops.convolution.launched import SubGemmRecord, sub_gemm_records
from bitgate.ops.convolution.problem import ConvProblem


def launch_errors(problem: ConvProblem, record: DispatchRecord) -> list[str]:
    """What the record of a bwd_data problem says otherwise than the problem needs; nothing if it lists no sub-GEMM."""
    if not record.parts:
        return []
    needed = _needed(problem)
    listed = sub_gemm_records(record, problem.ndim)
    differences: list[str] = []
    if (count := record.facts.get("gemms_count")) != len(needed):
        differences.append(f"gemms_count is {count}, the problem has {len(needed)} sub-GEMMs")
    if len(listed) != len(needed):
        return [*differences, f"{len(listed)} sub-GEMMs are listed, the problem has {len(needed)}"]
    for index, (recorded, must) in enumerate(zip(listed, needed, strict=True)):
        if not recorded.launched:
            differences.append(f"sub-GEMM {index} was not launched")
        elif wrong := _wrong_parts(recorded, must, alone=len(needed) == 1):
            differences.append(f"sub-GEMM {index} has {wrong}")
    return differences + _against_itself(listed, record.facts.get("buckets"))


def _against_itself(listed: tuple[SubGemmRecord, ...], stated: Any) -> list[str]:
    """No two sub-GEMMs share a block of a launch, and the sub-GEMMs name every bucket."""
    differences: list[str] = []
    buckets: dict[int, list[SubGemmRecord]] = {}
    for recorded in listed:
        buckets.setdefault(recorded.bucket, []).append(recorded)
    if len(buckets) != stated:
        differences.append(f"buckets is {stated}, the sub-GEMMs stand in {len(buckets)}")
    for members in buckets.values():
        members.sort(key=lambda gemm: gemm.first_block)
        for one, other in pairwise(members):
            if other.first_block < one.first_block + one.blocks:
                differences.append(f"sub-GEMMs {one.index} and {other.index} share blocks of one launch")
    return differences


@lru_cache(maxsize=256)
def _needed(problem: ConvProblem) -> tuple[SubGemm, ...]:
    return sub_gemms(problem)


def _wrong_parts(recorded: SubGemmRecord, must: SubGemm, alone: bool) -> str:
    """What the record says of a sub-GEMM, beside what it must say, where they differ.

    A kernel may run a problem of one sub-GEMM as a plain convolution, with rows and taps of its own; and it may leave
    the slices of window positions out (lengths of 0).
    """
    parts: dict[str, tuple[Any, Any]] = {"N": (recorded.n, must.n), "K": (recorded.k, must.k)}
    if not alone:
        parts |= {"tilde": (recorded.tilde, must.tilde), "taps": (recorded.taps, must.taps), "M": (recorded.m, must.m)}
        if any(recorded.slice_length):
            parts["slice begin"] = (recorded.slice_begin, tuple(axis.begin for axis in must.axes))
            parts["slice length"] = (recorded.slice_length, tuple(axis.length for axis in must.axes))
    wrong = [f"{name} {found}, the problem needs {right}" for name, (found, right) in parts.items() if found != right]
    return "; ".join(wrong)
