"""A user's kernel: backward data of 1x1 convolutions in f32 (pointwise.hip.cpp).

bitgate verify bwd_data_f32_nhwgc_g2n2k32c16_y1x1_h5x7 --load examples/pointwise/declaration.py --kernel 'pointwise*'
"""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operation import F32_ACCUMULATION, ConvProblem

LAYOUTS = ("nwgc", "gnwc", "nhwgc", "gnhwc", "ndhwgc", "gndhwc")


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """1x1 filters with stride 1 and no padding; nothing but f32, no operation, no split."""
    if str(problem.dtypes) != "f32":
        return Refusal("dtypes", f"{problem.dtypes} is not f32 throughout")
    if problem.in_op.name != "pass" or problem.wei_op.name != "pass":
        return Refusal("op", f"operations on the operands: in {problem.in_op.name}, wei {problem.wei_op.name}")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    if problem.op.name != "pass":
        return Refusal("op", f"{problem.op.name}: the result takes no element-wise operation")
    if {*problem.filter, *problem.stride} != {1} or {*problem.left_pad, *problem.right_pad} != {0}:
        return Refusal("pointwise", "only a 1x1 filter with stride 1 and no padding")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch, which writes every cell."""
    return Dispatch(path="pointwise", launches=1, facts={"gemms_count": 1, "buckets": 1})


FAMILY = KernelFamily(
    name="pointwise",
    operations=("bwd_data",),
    sources=("pointwise.hip.cpp",),
    platforms=("host", "amd", "nvidia"),
    instances=(
        Instance(
            name="f32",
            group="pointwise",
            dtypes=("f32",),
            layouts=LAYOUTS,
            ndims=(1, 2, 3),
            accumulation=F32_ACCUMULATION,
            vector=(1, 1, 1),
        ),
    ),
    supports=supports,
    dispatch=dispatch,
)
