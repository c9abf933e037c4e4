"""What the host runtime costs, each figure beside a floor, and beside HIP-CPU where its headers are given.

    python benchmarks/host_runtime.py [--level O3] [--json]
    python benchmarks/host_runtime.py --beside HIP-CPU [--level O3]

CPU time of the process, the best of nine rounds, on one OS thread; nothing here is a test. HIP-CPU is a header-only HIP
runtime for CPUs and needs TBB: where that is not installed, name its folders in CPATH, LIBRARY_PATH, LD_LIBRARY_PATH.
The same workloads are built against it, as a program with ours' options and those that HIP-CPU's own build asks for,
their results are looked at, and they are interleaved with ours: in CPU time, HIP-CPU held to one core, and by the
wall on all cores. A thread of HIP-CPU's waits in a loop, so its programs stand still while others are measured.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bitgate.core.errors import UsageError
from bitgate.core.project import own_kernels
from bitgate.kernel.build import flags
from bitgate.kernel.build.builder import Builder

HERE = Path(__file__).resolve().parent
WORKLOADS = "host_runtime.hip.cpp"
MIB = 1 << 20
SIZES = (("1 KiB", 1024, 2000), ("1 MiB", MIB, 100), ("64 MiB", 64 * MIB, 3))
MATMUL = 512
ELEMENTS = 4 * MIB
MEMORY = "m"
"""Among arguments: the memory of ``ELEMENTS`` that a library or program has."""
PEER_FLAGS = ("-std=c++17", "-DNDEBUG", "-fopenmp-simd", "-rdynamic", "-w")
"""HIP-CPU's loops over threads are marked for OpenMP."""


Arguments = tuple[int | str, ...]


class Beside(NamedTuple):
    """The same work on HIP-CPU; times in seconds."""

    seconds: float
    """CPU time, on one core."""
    wall: float
    """By the wall, on all cores."""
    our_wall: float
    """Ours so."""


class Row(NamedTuple):
    """One piece of work; times in seconds."""

    name: str
    seconds: float
    floor: float
    floor_name: str
    beside: Beside | None = None

    @property
    def ratio(self) -> float:
        """Of our time to the floor."""
        return self.seconds / self.floor

    def document(self) -> dict[str, object]:
        own = {"name": self.name, "seconds": self.seconds, "floor": self.floor, "floor_name": self.floor_name}
        return own | {"ratio": self.ratio, "hip_cpu": self.beside and self.beside._asdict()}


@dataclass(frozen=True)
class Work:
    """What is measured: a function of the workloads' library, and of the floors' one with a factor."""

    name: str
    function: str
    arguments: Arguments
    floor_name: str
    floor: str
    floor_arguments: Arguments = ()
    floors: float = 1
    """How many of the floor's pieces it is."""
    parts: float = 1
    """Into how many the time is shared: threads, or barriers."""
    less: Arguments | None = None
    """Arguments of a shorter run, whose time is taken off."""


def works() -> Iterator[Work]:
    for sites in (1, 2, 4):
        yield Work(
            f"barrier: a thread's share, {sites} in the loop",
            "barriers",
            (1, 256, 1200, sites, 20),
            "bare switch of stacks",
            "switch",
            parts=1000 * 256,
            less=(1, 256, 200, sites, 20),
        )
    for count in (1, 64):
        name = f"64 blocks of 256, {count} barrier{'s' * (count > 1)}"
        switches = 64 * 256 * (count + 1)
        yield Work(name, "barriers", (64, 256, count, 1, 20), f"{switches} switches", "switch", floors=switches)
    call = "function_call"
    yield Work("launch of an empty kernel, 1 thread", "launch", (1, 1), "function call", call)
    yield Work("launch of an empty kernel, 256 threads", "launch", (1, 256), "256 calls", call, floors=256)
    yield Work("256 blocks of 256 empty threads: a thread", "launch", (256, 256), "function call", call, parts=65536)
    n, half = ELEMENTS, ELEMENTS / 2
    copied = ("one element a thread: a thread", "copy_one", (MEMORY, n), "the same loop, an element", "copy_one")
    yield Work(*copied, floor_arguments=(MEMORY, n), floors=1 / half, parts=half)
    yield Work("no barrier, 4 Mi elements", "kernel", (MEMORY, n), "the same loop", "kernel", (MEMORY, n))
    for tile in (16, 32):
        name = f"matmul of {MATMUL} x {MATMUL}, tiles of {tile} in LDS"
        yield Work(name, "matmul", (MEMORY, MATMUL, tile), "plain loops", "matmul", (MEMORY, MATMUL))
    for touches, what in ((0, "hipMalloc, hipFree"), (1, "hipMalloc, hipMemset, hipFree")):
        for label, size, repeats in SIZES:
            arguments = (size, touches, repeats)
            floor = "malloc, memset" + ", memset" * touches
            yield Work(f"{what}, {label}", "hip_malloc", arguments, floor, "malloc", arguments)


class Library:
    """The workloads, built against our runtime; ``memory`` is what some of them take."""

    def __init__(self, runtime: Path, path: Path) -> None:
        self.runtime = ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
        self.runtime.bitgateHostSetThreads(1)
        self.functions = ctypes.CDLL(str(path))
        self.functions.bench_memory.restype = ctypes.c_void_p
        self.memory = int(self.functions.bench_memory(ctypes.c_size_t(ELEMENTS)))
        checked(self, "the host runtime")

    def call(self, name: str, arguments: Arguments) -> float:
        function = getattr(self.functions, name)
        function.restype = ctypes.c_double
        # Each goes into a register, as wide as any of them.
        values = (self.memory if argument == MEMORY else int(argument) for argument in arguments)
        return float(function(*map(ctypes.c_long, values)))

    def by_wall(self, work: Work) -> float:
        """Seconds on all cores."""
        self.runtime.bitgateHostSetThreads(0)
        self.call("bench_by_wall", (1,))
        wall = measured(self, work)
        self.call("bench_by_wall", (0,))
        self.runtime.bitgateHostSetThreads(1)
        return wall


class Peer:
    """The workloads on HIP-CPU, as a separate program; a runtime that is all headers would have them use its
    variables at more than they cost in a program, were they a library. It stands still but for its calls."""

    def __init__(self, program: Path, cores: set[int]) -> None:
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)  # the program inherits it
        command = [str(program), str(ELEMENTS)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.sched_setaffinity(0, mine)
        checked(self, "HIP-CPU")
        self.call("bench_by_wall", (int(len(cores) > 1),))

    def call(self, name: str, arguments: Arguments) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        print(name, *arguments, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise UsageError(f"--beside: {name} ended with status {self.process.wait()} on HIP-CPU")
        self.process.send_signal(signal.SIGSTOP)
        return float(answer)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def checked(on: Library | Peer, name: str) -> None:
    """UsageError where its results are not those that are expected: no time of wrong work."""
    if wrong := int(on.call("bench_wrong_cells", (MEMORY, ELEMENTS, MATMUL))):
        raise UsageError(f"the workloads give {wrong} wrong cells on {name}: build it anew, or report it")


def measured(on: Library | Peer, work: Work) -> float:
    function = f"bench_{work.function}_ns"
    nanoseconds = on.call(function, work.arguments)
    if work.less is not None:
        nanoseconds -= on.call(function, work.less)
    return 1e-9 * nanoseconds / work.parts


def built(output: Path, level: str, options: Iterable[str], others: str, libraries: Iterable[str] = ()) -> str:
    """Compiles the workloads as bitgate's kernels are, or at -O3; the compiler's complaint, empty if it has none."""
    compiler = Builder("host").compiler
    usual = flags.host_kernel(compiler.kind) if level == "kernels" else flags.host_library(compiler.kind)
    command = [*compiler.command, *usual, *options, str(HERE / WORKLOADS), str(HERE / others), "-o", str(output)]
    finished = subprocess.run([*command, *libraries], capture_output=True, text=True, check=False)
    if not finished.returncode:
        return ""
    return next((line for line in finished.stderr.splitlines() if re.search("error|cannot find", line)), "no word")


def ours(folder: Path, level: str) -> Library:
    runtime, library = Builder("host").runtime(), folder / "ours.so"
    include = own_kernels() / "platforms" / "host" / "include"
    if said := built(library, level, ("-shared", "-I", str(include)), "host_runtime_floors.cpp"):
        raise UsageError(f"{WORKLOADS} does not build: {said}")
    return Library(runtime, library)


def built_peer(path: Path, folder: Path, level: str) -> Path:
    """The workloads on HIP-CPU, built into ``folder``; UsageError where its headers or TBB are missing."""
    include = next((at for at in (path / "include", path) if (at / "hip" / "hip_runtime.h").is_file()), None)
    if include is None:
        raise UsageError(f"--beside {path}: no include/hip/hip_runtime.h there; give a checkout of HIP-CPU")
    options = (*PEER_FLAGS, "-fPIE", "-I", str(include))
    if said := built(folder / "peer", level, options, "host_runtime_peer.cpp", ("-ltbb", "-ldl")):
        raise UsageError(f"--beside {path}: the workloads do not build against it: {said}")
    return folder / "peer"


def rows(hip_cpu: Path | None = None, level: str = "kernels", only: str = "") -> Iterator[Row]:
    """The rows with ``only`` in their name in order, each as soon as it is measured. ``hip_cpu``: its folder; it is
    measured right after ours."""
    wanted = [work for work in works() if only in work.name]
    if not wanted:
        raise UsageError(f"--only {only}: no row has it in its name; there are {'; '.join(w.name for w in works())}")
    floors: dict[tuple[str, Arguments], float] = {}
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        peers: list[Peer] = []
        if hip_cpu is not None:
            program = built_peer(hip_cpu, Path(folder), level)
            for held in ({max(cores)}, cores):
                peers.append(Peer(program, held))
                running.callback(peers[-1].close)
        own = ours(Path(folder), level)
        for work in wanted:
            seconds = measured(own, work)
            key = (work.floor, work.floor_arguments)
            if key not in floors:
                floors[key] = 1e-9 * own.call(f"floor_{work.floor}_ns", work.floor_arguments)
            beside = None
            if peers:
                alone, wall = (measured(peer, work) for peer in peers)
                beside = Beside(alone, wall, own.by_wall(work))
            yield Row(work.name, seconds, floors[key] * work.floors, work.floor_name, beside)


def heading(with_peer: bool) -> str:
    if with_peer:
        return f"{'us':46}{'bitgate':>12}{'HIP-CPU':>12}{'ratio':>8}   all cores: bitgate{'HIP-CPU':>12}{'ratio':>8}"
    return f"{'':46}{'us':>12}   {'floor':26}{'us':>12}{'ratio':>8}"


def line(row: Row) -> str:
    if row.beside is None:
        return f"{row.name:46}{1e6 * row.seconds:12.4f}   {row.floor_name:26}{1e6 * row.floor:12.4f}{row.ratio:8.2f}"
    text = f"{row.name:46}"
    for own, theirs, width in ((row.seconds, row.beside.seconds, 12), (row.beside.our_wall, row.beside.wall, 21)):
        ratio = f"{own / theirs:.2f}" if theirs > 0 else "-"  # what was inlined away took no time
        text += f"{1e6 * own:{width}.4f}{1e6 * theirs:12.4f}{ratio:>8}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="PATH", help="a checkout of HIP-CPU, or its include folder")
    levels = ("kernels", "O3")
    parser.add_argument(
        "--level", choices=levels, default=levels[0], help="options: those of bitgate's kernels, or -O3"
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="the rows that have it in their name")
    parser.add_argument("--json", action="store_true", help="one JSON document of rows; times in seconds")
    options = parser.parse_args()
    found: list[Row] = []
    try:
        for row in rows(options.beside, options.level, options.only):
            if not options.json:
                if not found:
                    print(heading(options.beside is not None))
                print(line(row), flush=True)
            found.append(row)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if options.json:
        print(json.dumps({"rows": [row.document() for row in found]}))


if __name__ == "__main__":
    main()
