"""A forward convolution that is right and fast at first: from some launch on it is slower, or does harm."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel.declaration import ANY_INTEGER, Dispatch, Instance, KernelFamily, Option
from bitgate.model import F32_ACCUMULATION
from bitgate.ops.convolution import ConvProblem

HARM = ("nothing", "wrong", "past", "input", "stops", "rests", "skips", "peeks", "late", "kept", "abort", "sleeps")


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    return Dispatch("naive", 1 + (options.get("turns", "0") != "0"), facts={"gemms_count": 1})


FAMILY = KernelFamily(
    name="changing",
    operations=("fwd",),
    sources=("changing.hip.cpp",),
    platforms=("host", "amd", "nvidia"),
    instances=tuple(
        Instance(name, "changing", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION, vector=(1, 1, 1))
        for name in ("first", "second")
    ),
    options=(
        Option("turns", ANY_INTEGER, "0", "of a loop that only takes time"),
        Option("harm", HARM, "nothing", "what it does beside its work"),
        Option("from", ANY_INTEGER, "1", "the first launch that does it"),
        Option("until", ANY_INTEGER, "1000000000", "the last one"),
        Option("on", ("second", "first", "both"), "second", "the instance that does it"),
    ),
    dispatch=dispatch,
)
