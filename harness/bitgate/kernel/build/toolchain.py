"""Toolchains: which compiler to use, its name in cache keys, where ROCm is, and what to install if there is none."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from bitgate.core.errors import UsageError
from bitgate.kernel.cache import Cache

ToolchainKind: TypeAlias = Literal["gnu", "clang", "zig", "hip", "nvcc", "zig-hip"]

OLDEST: dict[str, int] = {"gnu": 11, "clang": 14}
"""The first major version with enough of C++20."""

HOST_CANDIDATES = (
    "g++",
    "clang++",
    *(f"g++-{major}" for major in range(16, OLDEST["gnu"] - 1, -1)),
    *(f"clang++-{major}" for major in range(22, OLDEST["clang"] - 1, -1)),
)
INSTALL_HOST = "install one with 'apt-get install g++' or 'pip install ziglang'"
HIP_CANDIDATES = ("hipcc", "amdclang++")
INSTALL_CUDA = "install the CUDA toolkit (12 or newer), or set CUDA_HOME to where it is"
INSTALL_HIP = "install ROCm, or 'apt-get install hipcc' (Debian's 5.2 compiles for gfx90a)"
INSTALL_ZIG = "'pip install ziglang' compiles device code for every gfx target"

READ_BY_COMPILERS = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "CCC_OVERRIDE_OPTIONS"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "HIPCC_COMPILE_FLAGS_APPEND", "HIP_DEVICE_LIB_PATH"),
)
"""Variables by which compilers find other headers, or add flags: the same command then makes another object."""

HEADERS = ("/usr/include", "/usr/lib", "/usr/local/include", "/usr/local/lib", "/lib", "/opt/rocm")
"""Folders of systems' and compilers' headers, which are not compared: a compiler is known by its version."""


def settings() -> tuple[str, ...]:
    """Return what the environment says to compilers."""
    return tuple(f"{name}={value}" for name in READ_BY_COMPILERS if (value := os.environ.get(name)))


@dataclass(frozen=True)
class Compiler:
    """A compiler on this machine: the command that starts it, and its version text without paths.

    ``headers`` are arguments that name the compiler's headers on this machine. Cache keys hold ``version`` instead of
    both, so that they are valid on any machine.
    """

    command: tuple[str, ...]
    version: str
    kind: ToolchainKind
    headers: tuple[str, ...] = ()

    def brings(self, path: str) -> bool:
        """Return whether a header is the compiler's or the system's, where zig's are next to its program."""
        own = os.path.dirname(self.command[0]) if self.kind in ("zig", "zig-hip") else "/opt/rocm"
        return path.startswith(tuple(f"{folder}/" for folder in (own, *HEADERS)))

    @property
    def name(self) -> str:
        """Program and version for people: ``g++ 12.2.0``; the version of zig is that of the clang inside."""
        number = re.search(r"\d+\.\d+(\.\d+)?", self.version)
        program = "zig's clang" if self.kind in ("zig", "zig-hip") else Path(self.command[0]).name
        return f"{program} {number[0] if number else ''}".strip()


def find_host_compiler(cache: Cache | None = None) -> Compiler:
    """Find ``$CXX``, else g++ or clang++ (also with a version suffix), else zig. UsageError says what to install."""
    cache = cache or Cache()
    stated = os.environ.get("CXX")
    if stated:
        return _stated(stated, cache)
    too_old: list[str] = []
    for name in HOST_CANDIDATES:
        path = shutil.which(name)
        if path is None:
            continue
        compiler = _identify((path,), cache)
        if compiler is None:
            too_old.append(f"{name} does not run")
        elif reason := _unfit(compiler):
            too_old.append(reason)
        else:
            return compiler
    zig = _zig_command()
    if zig is not None:
        compiler = _identify(zig, cache)
        if compiler is not None:
            return compiler
    found = f" ({'; '.join(too_old)})" if too_old else ""
    raise UsageError(f"no C++20 compiler found{found}: {INSTALL_HOST}, or set CXX")


def find_hip_compiler(cache: Cache | None = None) -> Compiler:
    """Find hipcc or amdclang++ in PATH, ``$ROCM_PATH/bin`` or /opt/rocm/bin. UsageError says what to install."""
    cache = cache or Cache()
    rocm = os.environ.get("ROCM_PATH") or "/opt/rocm"
    for name in HIP_CANDIDATES:
        path = shutil.which(name) or shutil.which(name, path=f"{rocm}/bin")
        if path is not None:
            compiler = _identify((path,), cache, kind="hip")
            if compiler is not None:
                return compiler
    raise UsageError(f"no HIP compiler found (hipcc, amdclang++; looked in PATH and {rocm}/bin): {INSTALL_HIP}")


def find_device_compiler(cache: Cache | None = None) -> Compiler:
    """Find the clang of ziglang, for device code of AMD GPUs without ROCm. UsageError says what to install."""
    zig = _zig_command()
    compiler = _identify((zig[0], "clang"), cache or Cache(), kind="zig-hip") if zig else None
    if compiler is None:
        raise UsageError(f"no ziglang in this Python environment: {INSTALL_ZIG}")
    return replace(compiler, headers=_zig_headers(compiler.command[0]))


def knows(compiler: Compiler, arch: str, cache: Cache | None = None) -> bool:
    """Return whether a HIP compiler makes device code for a target, tried with an empty file and remembered."""
    cache = cache or Cache()
    path = cache.folder / "architectures.json"
    key = json.dumps([compiler.command, compiler.version, arch])
    known = cache.read_json(path).get(key)
    if not isinstance(known, bool):
        known = _compiles_nothing(compiler, arch)
        with contextlib.suppress(UsageError, OSError), cache.lock("architectures"):
            cache.write_json(path, {**cache.read_json(path), key: known})
    return known


def _compiles_nothing(compiler: Compiler, arch: str) -> bool:
    command = (*compiler.command, "-x", "hip", f"--offload-arch={arch}", "-c", os.devnull, "-o", os.devnull)
    environment = {**os.environ, "LC_ALL": "C", "HIP_PLATFORM": "amd"}
    try:
        return subprocess.run(command, capture_output=True, timeout=120, check=False, env=environment).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_cuda_compiler(cache: Cache | None = None) -> Compiler:
    """Find nvcc in PATH, ``$CUDA_HOME/bin`` or /usr/local/cuda/bin. UsageError says what to install."""
    cache = cache or Cache()
    toolkit = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    path = shutil.which("nvcc") or shutil.which("nvcc", path=f"{toolkit}/bin")
    compiler = _identify((path,), cache, kind="nvcc") if path else None
    if compiler is None:
        raise UsageError(f"no CUDA compiler found (nvcc; looked in PATH and {toolkit}/bin): {INSTALL_CUDA}")
    return compiler


def _stated(text: str, cache: Cache) -> Compiler:
    words = shlex.split(text)
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise UsageError(f"CXX={text}: no such program; unset CXX, or {INSTALL_HOST}")
    compiler = _identify((path, *words[1:]), cache)
    if compiler is None:
        raise UsageError(f"CXX={text}: '{text} --version' fails; unset CXX, or {INSTALL_HOST}")
    if reason := _unfit(compiler):
        raise UsageError(f"CXX={text}: {reason}; unset CXX, or {INSTALL_HOST}")
    return compiler


def _unfit(compiler: Compiler) -> str:
    number = re.search(r"(\d+)\.\d+", compiler.version)
    oldest = OLDEST.get(compiler.kind)
    if oldest is None:
        return ""
    if number is None:
        return f"{compiler.command[0]} states no version"
    return f"{compiler.name} is older than {oldest}" if int(number[1]) < oldest else ""


@lru_cache
def _zig_headers(zig: str) -> tuple[str, ...]:
    """Return the arguments by which zig passes its C and C++ headers for Linux hosts to its clang.

    They change from one zig to the next; asking costs 20 ms. UsageError if the answer has another shape.
    """
    asked = subprocess.run(
        [zig, "c++", "-target", "x86_64-linux-gnu", "-v", "-E", "-x", "c++", os.devnull],
        capture_output=True,
        text=True,
        check=False,
    )
    words = [word for pair in re.findall(r"(-isystem|-D) (\S+)", asked.stderr) for word in pair]
    if "-isystem" not in words:
        raise UsageError(f"{zig} c++ -v names no headers: install another version of ziglang (0.17 is known)")
    return ("-nostdinc", *words)


def _zig_command() -> tuple[str, ...] | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    binary = Path(next(iter(spec.submodule_search_locations))) / "zig"
    return (str(binary), "c++") if binary.is_file() else None


def _identify(command: tuple[str, ...], cache: Cache, kind: ToolchainKind | None = None) -> Compiler | None:
    """Return the compiler that a command starts, None if it does not run; its version is remembered for the file."""
    real = os.path.realpath(command[0])
    stat = os.stat(real)
    key = json.dumps([command, real, stat.st_size, stat.st_mtime_ns])
    known = cache.read_json(cache.folder / "compilers.json")
    version = known.get(key)
    if not isinstance(version, str):
        version = _version_text(command)
        if version is None:
            return None
        # A cache that cannot be written costs time here, and is reported when something is built.
        with contextlib.suppress(UsageError, OSError), cache.lock("compilers"):
            known = cache.read_json(cache.folder / "compilers.json")
            cache.write_json(cache.folder / "compilers.json", {**known, key: version})
    return Compiler(command, version, kind or _kind(command, version))


def _kind(command: tuple[str, ...], version: str) -> ToolchainKind:
    if any(Path(word).name in ("zig", "ziglang") for word in command):
        return "zig"
    return "clang" if "clang" in version else "gnu"


def _version_text(command: tuple[str, ...]) -> str | None:
    try:
        done = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [line.strip() for line in done.stdout.splitlines() if not re.match(r"(InstalledDir|Configuration)", line)]
    return "\n".join(line for line in lines if line) if done.returncode == 0 and lines else None


_SYSTEM_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


def find_rocm_runtime() -> Path:
    """Find ROCm's ``libamdhip64.so`` in the order that hip-python uses. UsageError if there is none."""
    for folder in _rocm_folders():
        for name in ("libamdhip64.so", *sorted(p.name for p in folder.glob("libamdhip64.so.*"))):
            if (folder / name).is_file():
                return folder / name
    looked = ", ".join(map(str, _rocm_folders()))
    raise UsageError(f"ROCm's libamdhip64.so was not found (looked in {looked}): install ROCm, or set ROCM_PATH")


def _rocm_folders() -> list[Path]:
    stated = [Path(os.environ[name]) / "lib" for name in ("ROCM_PATH", "ROCM_HOME") if os.environ.get(name)]
    searched = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return [*stated, *searched, Path("/opt/rocm/lib"), *map(Path, _SYSTEM_FOLDERS)]
