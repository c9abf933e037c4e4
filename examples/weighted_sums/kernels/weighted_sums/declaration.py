"""The kernel of weighted sums. What it computes is stated beside it, in operation.py."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel import Dispatch, Instance, KernelFamily
from bitgate.operation import F32_ACCUMULATION, SizedProblem


def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch, a thread a row."""
    return Dispatch(path="a_row_a_thread", launches=1)


FAMILY = KernelFamily(
    name="weighted_sums",
    operations=("weighted_sums",),
    sources=("weighted_sums.hip.cpp",),
    platforms=("host", "amd", "nvidia"),
    instances=(Instance("f32", "weighted_sums", ("f32",), (), (), F32_ACCUMULATION, vector=(1, 1, 1), block_size=64),),
    dispatch=dispatch,
)
