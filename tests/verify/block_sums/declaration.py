"""A GEMM whose cells are sums that a whole block makes: the block reduction that kernels get wrong most often.

One instance a wave size and block size. defects.toml takes one synchronisation after the other out of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.model import F32_ACCUMULATION
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.gemm import GemmProblem

WAVES = (32, 64)
BLOCKS = (64, 128, 256, 512, 1024)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    if not isinstance(problem, GemmProblem):
        return Refusal("operation", f"only gemm, not {problem.operation}")
    if problem.op.name != "pass":
        return Refusal("op", f"{problem.op.name}: the result takes no operation")
    return None


def _instance(wave: int, block: int) -> Instance:
    return Instance(
        name=f"w{wave}_b{block}",
        group="block_sums",
        dtypes=("f32",),
        layouts=("rcr",),
        ndims=(0,),
        accumulation=F32_ACCUMULATION,
        vector=(1, 1, 1),
        block_size=block,
        wave_size=wave,
    )


FAMILY = KernelFamily(
    name="block_sums",
    operations=("gemm",),
    sources=("block_sums.hip.cpp",),
    platforms=("host",),
    instances=tuple(_instance(wave, block) for wave in WAVES for block in BLOCKS),
    supports=supports,
)
