"""Its kernel, which does harm on request."""

from __future__ import annotations

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Option
from bitgate.model import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="row_counts",
    operations=("row_counts",),
    sources=("row_counts.hip.cpp",),
    platforms=("host", "amd"),
    instances=(Instance("f32", "row_counts", ("f32",), (), (), F32_ACCUMULATION, vector=(1, 1, 1), block_size=64),),
    options=(Option("harm", ("none", "count", "past_count", "input", "rounding"), "none", "what goes wrong"),),
    dispatch=lambda problem, instance, options: Dispatch(path="a_row_a_thread", launches=1),
)
