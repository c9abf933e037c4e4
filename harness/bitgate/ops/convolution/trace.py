"""A convolution's tensors and launches in the words of CK's examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitgate.kernel.declaration import Instance
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.model.diagnostics import commas, tensor_line
from bitgate.ops.convolution.launched import SubGemmRecord, sub_gemm_records
from bitgate.ops.convolution.problem import ConvProblem

_OUTER = {"in": "n_c", "wei": "k_c", "out": "n_k"}
_SPATIAL = {"in": ("di", "hi", "wi"), "wei": ("z", "y", "x"), "out": ("do", "ho", "wo")}


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
        lines.append(tensor_line("_".join(letters), lengths, strides))
    return lines


def descriptors(problem: ConvProblem, instance: Instance, record: DispatchRecord, launches: int) -> list[list[str]]:
    """For each launch the descriptors of the sub-GEMMs that it covered."""
    covered = _gemms_of_launches(sub_gemm_records(record, problem.ndim), launches)
    return [[line for gemm in gemms for line in _descriptors(instance, gemm)] for gemms in covered]


def _gemms_of_launches(listed: Sequence[SubGemmRecord], launches: int) -> list[Sequence[SubGemmRecord]]:
    """The sub-GEMMs that each launch covered: one each, or a bucket each; all before the first if neither fits."""
    launched = [gemm for gemm in listed if gemm.launched]
    if len(launched) == launches:
        return [[gemm] for gemm in launched]
    buckets: dict[int, list[SubGemmRecord]] = {}
    for gemm in launched:
        buckets.setdefault(gemm.bucket, []).append(gemm)
    return list(buckets.values()) if len(buckets) == launches else [launched]


def _descriptors(instance: Instance, gemm: SubGemmRecord) -> Iterator[str]:
    """A and B as K0 x (M or N) x K1, where K1 is how many of K a thread moves at once; C as it is, and in tiles."""
    k1 = (instance.vector or (1, 1, 1))[0]
    yield f"arg.a_grid_desc_k0_m_k1_container_{{{commas((gemm.k // k1, gemm.m, k1))}}}"
    yield f"arg.b_grid_desc_k0_n_k1_container_{{{commas((gemm.k // k1, gemm.n, k1))}}}"
    yield f"arg.c_grid_desc_m_n_container_{{ {commas((gemm.m, gemm.n))}}}"
    if instance.tile and instance.fragment:
        m, n, _ = instance.tile
        parts = (-(-gemm.m // m), -(-gemm.n // n), m, n, *instance.fragment)
        yield f"arg.c_tiles_m0_n0_m1_n1_fragment_m_n_k_( {commas(parts)} )"
