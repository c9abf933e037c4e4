"""Check that a launch recorded on the host fits the kernel of a target's code object that it would start."""

from __future__ import annotations

from math import prod

from bitgate.core.targets import architecture_of
from bitgate.kernel.build.code_object import KernelCode
from bitgate.kernel.dispatch import LaunchEvent
from bitgate.tools.capsule.manifest import CapsuleDefect

EXPLICIT_KINDS = frozenset({"global_buffer", "by_value"})


class LaunchMismatch(CapsuleDefect):
    """A launch that does not fit its code object; the message names kernel, target and each difference."""


def differences(launch: LaunchEvent, kernel: KernelCode, target: str, static_lds: int | None = None) -> list[str]:
    """Describe what differs; empty if the launch fits.

    ``static_lds``: bytes that the kernel's blocks used on the host in addition to dynamic LDS; None if unknown.
    """
    passed = launch.args
    taken = tuple((a.offset, a.size, a.is_pointer) for a in kernel.explicit)
    odd = sorted({a.kind for a in kernel.explicit} - EXPLICIT_KINDS)
    overlapping = [a.kind for a in kernel.arguments if a.is_hidden and a.offset < kernel.explicit_bytes]
    hidden = any(a.is_hidden for a in kernel.arguments)
    limit = architecture_of(target).lds_bytes
    checks = (
        (len(passed) == len(taken), f"{len(passed)} arguments are passed, {len(taken)} are taken"),
        (passed == taken or len(passed) != len(taken), _first_argument(passed, taken)),
        (not odd, f"arguments of kind {', '.join(odd)}"),
        (
            len(launch.kernargs) == kernel.explicit_bytes,
            f"{len(launch.kernargs)} bytes of arguments, not {kernel.explicit_bytes}",
        ),
        (not overlapping, f"{', '.join(overlapping)} lie between the explicit arguments"),
        (
            hidden or kernel.kernarg_bytes == kernel.explicit_bytes,
            f"a kernarg segment of {kernel.kernarg_bytes} bytes with {kernel.explicit_bytes} of arguments",
        ),
        (
            # The device's compiler leaves out LDS that no thread of this instance reaches; the host allots it.
            static_lds is None or kernel.lds in (static_lds, 0),
            f"{static_lds} bytes of static LDS on the host, {kernel.lds} in the code object",
        ),
        (
            kernel.lds + launch.lds_bytes <= limit,
            f"{kernel.lds + launch.lds_bytes} bytes of LDS, {target} has {limit} a block",
        ),
        (
            launch.wave_size in (0, kernel.wavefront),
            f"waves of {launch.wave_size} lanes on the host, {kernel.wavefront} in the code object",
        ),
        (
            prod(launch.block) == kernel.max_workgroup,
            f"blocks of {prod(launch.block)} threads, compiled for {kernel.max_workgroup}",
        ),
    )
    return [text for holds, text in checks if not holds]


def check(launch: LaunchEvent, kernel: KernelCode, target: str, static_lds: int | None = None) -> None:
    """Raise LaunchMismatch unless the launch fits."""
    found = differences(launch, kernel, target, static_lds)
    if found:
        raise LaunchMismatch(
            f"{launch.name} does not fit its code object for {target} ({kernel.symbol}): {'; '.join(found)}"
        )


def _first_argument(passed: tuple[tuple[int, int, bool], ...], taken: tuple[tuple[int, int, bool], ...]) -> str:
    for number, (ours, theirs) in enumerate(zip(passed, taken, strict=False)):
        if ours != theirs:
            here, there = _format_argument(ours), _format_argument(theirs)
            return f"argument {number} is {here} on the host, {there} in the code object"
    return ""


def _format_argument(argument: tuple[int, int, bool]) -> str:
    offset, size, is_pointer = argument
    return f"{'a pointer' if is_pointer else 'a value'} of {size} bytes at {offset}"
