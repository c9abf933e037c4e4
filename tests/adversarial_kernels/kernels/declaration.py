"""The family of bad kernels: an instance for each line of catalogue.toml that is no separate library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.core.toml import parse_toml
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.model import F32_ACCUMULATION
from bitgate.ops.convolution import ConvProblem

HERE = Path(__file__).resolve().parent
TABLE = parse_toml((HERE.parent / "catalogue.toml").read_text())
HEALTHY = "healthy"

ON_TWO_STREAMS = (
    "no_wait_between_streams",
    "second_stage_waits_for_nothing",
    "second_stage_on_the_null_stream",
    "two_streams_with_events",
)
WORKSPACE = {
    "writes_past_its_workspace": 256,
    "workspace_never_cleared": 1 << 16,
    **dict.fromkeys(ON_TWO_STREAMS, 1 << 16),
}
"""What these bad kernels are right to ask for, in bytes."""


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """1x1 filters with stride 1 and no padding; nothing but f32, no operation on the result, no split."""
    if str(problem.dtypes) != "f32":
        return Refusal("dtypes", f"{problem.dtypes} is not f32 throughout")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    if problem.op.name != "pass":
        return Refusal("op", f"{problem.op.name}: the result takes no element-wise operation")
    if {*problem.filter, *problem.stride} != {1} or {*problem.left_pad, *problem.right_pad} != {0}:
        return Refusal("pointwise", "only a 1x1 filter with stride 1 and no padding")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch, which writes every cell."""
    workspace = WORKSPACE.get(instance.name, 0)
    facts = {"gemms_count": 1, "buckets": 1}
    return Dispatch(path="pointwise", launches=1, workspace_bytes=workspace, facts=facts)


def _instance(name: str) -> Instance:
    return Instance(
        name=name,
        group="adversarial",
        dtypes=("f32",),
        layouts=("nhwgc",),
        ndims=(2,),
        accumulation=F32_ACCUMULATION,
        vector=(1, 1, 1),
        block_size=64,
    )


# The healthy one comes last, so that it is verified right after the bad kernel whose case it shares.
_own = (bad["name"] for group in TABLE.values() for bad in group if "load" not in bad)

FAMILY = KernelFamily(
    name="adversarial",
    operations=("fwd",),
    sources=("healthy.hip.cpp", "adversarial.hip.cpp", "interlopers.hip.cpp"),
    folder=HERE,
    platforms=("host", "amd", "nvidia"),
    instances=(*map(_instance, _own), _instance(HEALTHY)),
    supports=supports,
    dispatch=dispatch,
)
