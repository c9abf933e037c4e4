"""A library around a healthy kernel that misuses the runtime: on request, one fault at a time."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Option
from bitgate.model import DTYPES, F32_ACCUMULATION, Accumulation
from bitgate.ops.convolution import ConvProblem

HIDES = (
    "own_memory",
    "full_memory",
    "left_error",
    "null",
    "late_fault",
    "launch",
    "copy",
    "double_free",
    "foreign_free",
    "lent_free",
)
LEAVES = ("joined_stream", "stream", "destroyed_stream", "null_stream", "no_stream")
TRUSTS = ("host_pointer", "scratch", "lds", "lane", "luck", "idle")
ASKS = ("negative", "status", "more", "less", "huge", "fault", "work", "modest_alone", "more_alone", "huge_alone")
"""Sizes of workspace; of the last three ``dispatch`` says nothing."""


def option(name: str, values: tuple[str, ...], help_: str) -> Option:
    return Option(name, ("nothing", *values), "nothing", help_)


SCRATCH_BYTES = 256


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    asks = options.get("asks", "nothing")
    if asks.endswith("_alone"):
        return None
    predicted = SCRATCH_BYTES if asks != "nothing" or options.get("trusts") == "scratch" else 0
    return Dispatch("naive", 1, workspace_bytes=1 << 50 if asks == "huge" else predicted, facts={"gemms_count": 1})


FAMILY = KernelFamily(
    name="fault_injected",
    operations=("fwd",),
    sources=("fault_injected.hip.cpp",),
    platforms=("host",),
    is_captured=False,
    instances=(
        Instance("f32", "fault_injected", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION, vector=(1, 1, 1)),
        Instance("i8", "fault_injected", ("i8",), ("nhwgc",), (2,), Accumulation(DTYPES["i32"]), vector=(1, 1, 1)),
    ),
    options=(
        option("hides", (*HIDES, "unread", "reset"), "an error that it clears before it returns OK"),
        option("leaves", LEAVES, "work that nobody waits for"),
        option("trusts", TRUSTS, "memory that is not what it takes it for"),
        option("changes", ("flush", "round"), "how floats are computed"),
        option("asks", ASKS, "for this much workspace"),
    ),
    dispatch=dispatch,
)
