"""The launches of bwd_data: sub-GEMMs as a dispatch record lists them, their check against the problem, and traces.

A record lists parts as GemmPart of kernels/include/bitgate/products.hpp does; traces have the words of CK's examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

from bitgate.kernel.declaration import Instance
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.model.diagnostics import commas, tensor_line
from bitgate.ops.convolution.decomposition import SubGemm, sub_gemms
from bitgate.ops.convolution.problem import ConvProblem


@dataclass(frozen=True, slots=True)
class SubGemmRecord:
    """One GEMM as the library saw it; tuples have one entry a spatial dimension."""

    index: int
    bucket: int
    launched: bool
    main_loop: bool
    tilde: tuple[int, ...]
    taps: tuple[int, ...]
    slice_begin: tuple[int, ...]
    slice_length: tuple[int, ...]
    m: int
    n: int
    k: int
    first_block: int
    blocks: int

    @classmethod
    def of(cls, part: Mapping[str, int], ndim: int) -> SubGemmRecord:
        """Return the record of a part; KeyError names a column that the part lacks."""
        return cls(
            index=part["index"],
            bucket=part["bucket"],
            launched=part["launched"] != 0,
            main_loop=part["main_loop"] != 0,
            tilde=tuple(part[f"tilde{axis}"] for axis in range(ndim)),
            taps=tuple(part[f"taps{axis}"] for axis in range(ndim)),
            slice_begin=tuple(part[f"begin{axis}"] for axis in range(ndim)),
            slice_length=tuple(part[f"length{axis}"] for axis in range(ndim)),
            m=part["m"],
            n=part["n"],
            k=part["k"],
            first_block=part["first_block"],
            blocks=part["blocks"],
        )


class Listing(Protocol):
    """The parts that a dispatch record lists."""

    @property
    def part_columns(self) -> tuple[str, ...]: ...

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]: ...


def sub_gemm_records(record: Listing, ndim: int) -> tuple[SubGemmRecord, ...]:
    """Return the parts of a record that are GEMMs; none if its columns name something else."""
    try:
        return tuple(SubGemmRecord.of(dict(zip(record.part_columns, part, strict=True)), ndim) for part in record.parts)
    except KeyError:
        return ()


def launch_errors(problem: ConvProblem, record: DispatchRecord) -> list[str]:
    """Return what the record of a bwd_data problem states otherwise than the problem needs.

    Nothing is returned if the record lists no sub-GEMM.
    """
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
    """Return contradictions: sub-GEMMs that share a block of a launch, or a wrong number of buckets."""
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
    """Return what the record states of a sub-GEMM, and what the problem needs, where they differ.

    A kernel may run a problem of one sub-GEMM as a plain convolution, with other rows and taps; and it may leave the
    slices of window positions out (lengths of 0).
    """
    parts: dict[str, tuple[Any, Any]] = {"N": (recorded.n, must.n), "K": (recorded.k, must.k)}
    if not alone:
        parts |= {"tilde": (recorded.tilde, must.tilde), "taps": (recorded.taps, must.taps), "M": (recorded.m, must.m)}
        if any(recorded.slice_length):
            parts["slice begin"] = (recorded.slice_begin, tuple(axis.begin for axis in must.axes))
            parts["slice length"] = (recorded.slice_length, tuple(axis.length for axis in must.axes))
    wrong = [f"{name} {found}, the problem needs {right}" for name, (found, right) in parts.items() if found != right]
    return "; ".join(wrong)


_OUTER = {"in": "n_c", "wei": "k_c", "out": "n_k"}
_SPATIAL = {"in": ("di", "hi", "wi"), "wei": ("z", "y", "x"), "out": ("do", "ho", "wo")}


def traced_tensors(problem: ConvProblem) -> list[str]:
    """Return each tensor in logical order, without G where it is 1: ``in_n_c_hi_wi: dim 4, lengths {..}, strides
    {..}``.
    """
    lines = []
    for name, tensor in problem.tensors.items():
        role = name if name in _OUTER else problem.result
        letters = [name, "g", _OUTER[role], *_SPATIAL[role][3 - problem.ndim :]]
        lengths, strides = tensor.lengths, tensor.strides
        if problem.g == 1:
            letters.remove("g")
            lengths, strides = lengths[1:], strides[1:]
        lines.append(tensor_line("_".join(letters), lengths, strides))
    return lines


def traced_descriptors(
    problem: ConvProblem, instance: Instance, record: DispatchRecord, launches: int
) -> list[list[str]]:
    """Return for each launch the descriptors of the sub-GEMMs that it covered."""
    covered = _gemms_of_launches(sub_gemm_records(record, problem.ndim), launches)
    return [[line for gemm in gemms for line in _descriptors(instance, gemm)] for gemms in covered]


def _gemms_of_launches(listed: Sequence[SubGemmRecord], launches: int) -> list[Sequence[SubGemmRecord]]:
    """Return the sub-GEMMs of each launch: one each, or a bucket each; all before the first if neither fits."""
    launched = [gemm for gemm in listed if gemm.launched]
    if len(launched) == launches:
        return [[gemm] for gemm in launched]
    buckets: dict[int, list[SubGemmRecord]] = {}
    for gemm in launched:
        buckets.setdefault(gemm.bucket, []).append(gemm)
    return list(buckets.values()) if len(buckets) == launches else [launched]


def _descriptors(instance: Instance, gemm: SubGemmRecord) -> Iterator[str]:
    """Yield the descriptors: A and B as K0 x (M or N) x K1; C as it is, and in tiles.

    K1 is the number of elements of K that a thread moves at once.
    """
    k1 = (instance.vector or (1, 1, 1))[0]
    yield f"arg.a_grid_desc_k0_m_k1_container_{{{commas((gemm.k // k1, gemm.m, k1))}}}"
    yield f"arg.b_grid_desc_k0_n_k1_container_{{{commas((gemm.k // k1, gemm.n, k1))}}}"
    yield f"arg.c_grid_desc_m_n_container_{{ {commas((gemm.m, gemm.n))}}}"
    if instance.tile and instance.fragment:
        m, n, _ = instance.tile
        parts = (-(-gemm.m // m), -(-gemm.n // n), m, n, *instance.fragment)
        yield f"arg.c_tiles_m0_n0_m1_n1_fragment_m_n_k_( {commas(parts)} )"
