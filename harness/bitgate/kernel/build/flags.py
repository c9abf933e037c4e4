"""Compiler and linker flags: one table for each purpose. All of them are part of every cache key."""

from __future__ import annotations

import os

from bitgate.core.targets import TargetId
from bitgate.kernel.build.toolchain import ToolchainKind

ARCHITECTURE = "x86-64-v3"
"""The CPU that the host platform's code needs (AVX2, FMA, F16C); bitgate.runtime checks for it."""

# -ffp-contract=off: a fused multiply-add only where the source writes one, else two targets differ in bits.
# -U_FORTIFY_SOURCE: Ubuntu's g++ fortifies by default, which puts string functions of this architecture into the check
# for an older one; one kernel is one code everywhere.
_HOST = (
    *("-std=c++20", "-O3", f"-march={ARCHITECTURE}", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-fPIC", "-pthread"),
    *("-Wall", "-Wextra"),
)

# The link needs both too: zig builds a separate C++ library for each pair, once, in about a minute.
_ZIG = ("-target", "x86_64-linux-gnu", f"-mcpu={ARCHITECTURE.replace('-', '_')}")

_HOST_BY_KIND: dict[ToolchainKind, tuple[str, ...]] = {
    # Without it two libraries with the same kernel template share the template's static variables: its LDS.
    "gnu": (*_HOST, "-fno-gnu-unique"),
    "clang": _HOST,
    # By default zig adds traps for undefined behaviour, drops asserts, and builds for this machine's CPU.
    "zig": (*_ZIG, *(flag for flag in _HOST if not flag.startswith("-march")), "-fno-sanitize=undefined", "-UNDEBUG"),
}

# Loops are vectorised as at -O3; the rest of -O3 is a quarter of the compiler's time. Its gain for the matrix
# operation, unrolling, is requested by name in fragment_host.hpp. Straight code is not vectorised: a vector that is
# read where its parts have just been written waits for the cache. Left out, too, are passes of -O2 that take a seventh
# of the compiler's time and make no kernel faster; -O1 would save a quarter, and kernels would run a fifth longer.
_KERNEL_LEVEL: dict[ToolchainKind, tuple[str, ...]] = {
    "gnu": (
        *("-O2", "-ftree-loop-vectorize", "-fno-tree-slp-vectorize", "-fvect-cost-model=dynamic"),
        *("-fno-tree-vrp", "-fno-gcse", "-fno-rerun-cse-after-loop", "-fno-schedule-insns2", "-fno-ipa-cp"),
        *("-fno-ipa-sra", "-fno-ipa-icf", "-fno-crossjumping", "-fno-tree-tail-merge"),
    ),
    "clang": ("-O2",),
    "zig": ("-O2",),
}


SANITIZE = "BITGATE_SANITIZE"
"""The variable by which host code is compiled with a sanitizer: its first finding ends the process."""


def host_compile(kind: ToolchainKind) -> tuple[str, ...]:
    return (*_HOST_BY_KIND[kind], *_sanitizer())


def _sanitizer() -> tuple[str, ...]:
    stated = os.environ.get(SANITIZE)
    return (f"-fsanitize={stated}", "-fno-sanitize-recover=all") if stated else ()


def host_library(kind: ToolchainKind) -> tuple[str, ...]:
    """Return the flags of the HIP runtime and the native helpers.

    The runtime is loaded globally, so that only HIP's functions and its own API may be visible.
    """
    return (*host_compile(kind), "-fvisibility=hidden")


# Each access calls the host runtime, which stands in for libtsan; -g1 gives it source lines.
_RACE: dict[ToolchainKind, tuple[str, ...]] = {
    "gnu": ("-finline-small-functions", "--param=tsan-instrument-func-entry-exit=0"),
    "clang": ("-mllvm", "-tsan-instrument-func-entry-exit=0"),
    "zig": ("-mllvm", "-tsan-instrument-func-entry-exit=0"),
}
_RACE_LEVEL = ("-O1", "-fno-optimize-sibling-calls")
"""A jump instead of a call leaves no return address, by which the runtime knows the access."""


def host_kernel(kind: ToolchainKind, quick: bool = False, race: bool = False) -> tuple[str, ...]:
    """Return the flags of kernel families, of which only what BITGATE_EXPORT marks is visible.

    ``quick`` takes half the compiler's time; ``race`` is the flavour that reports each access.
    """
    level = ("-O1",) if quick or race else _KERNEL_LEVEL[kind]
    if race:
        level += ("-g1", "-fsanitize=thread", *_RACE[kind])
    # Callbacks of -fsanitize=thread, and no compiler takes both.
    left_out = ("-O3", "-fsanitize=address") if race else ("-O3",)
    others = tuple(flag for flag in host_compile(kind) if flag not in left_out)
    return (*others, *level, "-fvisibility=hidden", '-DBITGATE_TARGET="host"')


def host_program(kind: ToolchainKind, race: bool = False) -> tuple[str, ...]:
    """Return the flags of whole programs, without warnings; the program's own flags follow and take precedence.

    Those of ``race_level`` follow the program's.
    """
    kept = [flag for flag in host_compile(kind) if flag not in ("-Wall", "-Wextra", "-std=c++20")]
    # addr2line names the wrong file of a preprocessed source whose places g++ 12 writes as DWARF 5.
    return (*kept, "-g1", "-gdwarf-4", *(("-fsanitize=thread", *_RACE[kind]) if race else ()), "-Wno-unknown-pragmas")


def race_level() -> tuple[str, ...]:
    """Return what users' flags may not change where races are watched."""
    return _RACE_LEVEL


def program_standard(kind: ToolchainKind, year: str) -> tuple[str, ...]:
    """Return the flags of a standard of C++ by its year; the host's headers need concepts, which C++17 lacks."""
    if year != "17":
        return (f"-std=gnu++{year}",)
    return ("-std=gnu++17", "-fconcepts") if kind == "gnu" else ("-std=gnu++20",)


def host_link(kind: ToolchainKind) -> tuple[str, ...]:
    return (
        *(_ZIG if kind == "zig" else ()),
        "-shared",
        "-pthread",
        "-Wl,-z,defs",
        "-Wl,-z,noexecstack",
        "-Wl,--as-needed",
        *_sanitizer(),
    )


def facts(target: TargetId) -> tuple[str, ...]:
    """Return the facts of a GPU's architecture as defines for kernels; those of the host are in its headers."""
    row, matrix = target.architecture, target.architecture.matrix
    defines: dict[str, int | str] = {"TARGET": f'"{target.name}"', "LDS_BYTES": row.lds_bytes}
    defines |= {f"PAIR_ADD_{dtype.upper()}": 1 for dtype in row.pair_adds}
    if row.platform == "amd":
        defines["WAVE"] = row.waves[0]
    if row.platform == "amd" and matrix is not None:
        defines |= {matrix.name: matrix.generation, "MATRIX_I8_K": matrix.i8_k}
        defines |= {f"MATRIX_F8_{matrix.float8.upper()}": 1} if matrix.float8 else {}
    return tuple(f"-DBITGATE_{name}={value}" for name, value in defines.items())


def hip_kernel(target: TargetId) -> tuple[str, ...]:
    return (
        "-std=c++20",
        "-O3",
        "-ffp-contract=off",
        "-fPIC",
        "-fvisibility=hidden",
        f"--offload-arch={target.spelled}",
        *facts(target),
    )


def device_code(target: TargetId) -> tuple[str, ...]:
    """Return the flags for device code alone, without ROCm's headers and bitcode. The host triple fixes type sizes."""
    return (
        "-x",
        "hip",
        "--target=x86_64-linux-gnu",
        "--offload-device-only",
        "-nogpuinc",
        "-nogpulib",
        *hip_kernel(target),
        "-Wall",
        "-Wextra",
    )


def cuda_runtime() -> tuple[str, ...]:
    """Return the flags of bitgate's HIP runtime for NVIDIA GPUs: host code over the CUDA runtime."""
    return ("-std=c++20", "-O2", "-Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra")


def cuda_kernel(target: TargetId) -> tuple[str, ...]:
    return (
        "-x",
        "cu",
        "-std=c++20",
        "-O3",
        "--fmad=false",
        "--expt-relaxed-constexpr",
        # A function for both sides that calls one of the host is a warning to nvcc, and wrong on the device.
        "--Werror=cross-execution-space-call",
        "-Xcompiler=-fPIC,-fvisibility=hidden,-ffp-contract=off",
        f"-arch={target.spelled}",
        *facts(target),
    )


def cuda_link() -> tuple[str, ...]:
    """Return link flags with a static CUDA runtime: no file of the toolkit is needed where the library runs."""
    return ("-shared", "-cudart=static", "-Xcompiler=-fPIC")


def hip_link(target: TargetId) -> tuple[str, ...]:
    return ("-shared", "-fPIC", f"--offload-arch={target.spelled}")
