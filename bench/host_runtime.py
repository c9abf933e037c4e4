"""What the host runtime costs, each figure beside a floor, and beside HIP-CPU where its headers are given.

    python bench/host_runtime.py [--json]
    python bench/host_runtime.py --beside HIP-CPU/include

CPU time of the process, the best of nine rounds, on one OS thread; nothing here is a test. HIP-CPU is a header-only HIP
runtime for CPUs and needs TBB: where that is not installed, name its folders in CPATH, LIBRARY_PATH, LD_LIBRARY_PATH.
The same workloads are built against it, as a program, and measured in turns with ours: by the wall, because a thread of
its own waits in a loop, and each on all cores.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from bitgate.build.builder import Builder
from bitgate.errors import UsageError
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.operation import F32_ACCUMULATION
from bitgate.operations.convolution import Pass

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
SIZES = (("1 KiB", 1024, 2000), ("1 MiB", MIB, 100), ("64 MiB", 64 * MIB, 3))
MATMUL = 512
ELEMENTS = 4 * MIB
PEER_FLAGS = ("-std=c++17", "-O3", "-march=x86-64-v3", "-ffp-contract=off", "-pthread", "-rdynamic", "-w")


Arguments = tuple[int | str, ...]


class Row(NamedTuple):
    """One piece of work; times in seconds."""

    name: str
    seconds: float
    floor: float
    ratio: float
    """Of our time to the floor."""
    floor_name: str
    wall: float | None
    """On all cores, by the wall: where HIP-CPU was measured."""
    peer: float | None
    """HIP-CPU's time."""


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


def works(memory: int | str) -> Iterator[Work]:
    """``memory``: room for the measurements that take any."""
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
    copied = ("one element a thread: a thread", "copy_one", (memory, n), "the same loop, an element", "copy_one")
    yield Work(*copied, floor_arguments=(memory, n), floors=1 / half, parts=half)
    yield Work("no barrier, 4 Mi elements", "kernel", (memory, n), "the same loop", "kernel", (memory, n))
    for tile in (16, 32):
        name = f"matmul of {MATMUL} x {MATMUL}, tiles of {tile} in LDS"
        yield Work(name, "matmul", (memory, MATMUL, tile), "plain loops", "matmul", (memory, MATMUL))
    for touches, what in ((0, "hipMalloc, hipFree"), (1, "hipMalloc, hipMemset, hipFree")):
        for label, size, repeats in SIZES:
            arguments = (size, touches, repeats)
            floor = "malloc, memset" + ", memset" * touches
            yield Work(f"{what}, {label}", "hip_malloc", arguments, floor, "malloc", arguments)


class Library:
    """The workloads, built against one runtime."""

    def __init__(self, runtime: Path, path: Path) -> None:
        self.runtime = ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
        self.runtime.bitgateHostSetThreads(1)
        self.functions = ctypes.CDLL(str(path))

    def memory(self) -> int:
        self.functions.bench_memory.restype = ctypes.c_void_p
        return int(self.functions.bench_memory(ctypes.c_size_t(4 * ELEMENTS)))

    def seconds(self, name: str, arguments: Arguments) -> float:
        function = getattr(self.functions, f"{name}_ns")
        function.restype = ctypes.c_double
        # Each goes into a register, as wide as any of them.
        return 1e-9 * float(function(*(ctypes.c_long(int(argument)) for argument in arguments)))


class Peer:
    """The workloads as a program of their own; a runtime that is all headers would have them use its variables at more
    than they cost in a program, were they a library."""

    def __init__(self, program: Path) -> None:
        command = [str(program), str(4 * ELEMENTS)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seconds("bench_by_wall", (1,))

    def memory(self) -> str:
        return "m"

    def seconds(self, name: str, arguments: Arguments) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(f"{name}_ns", *arguments, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise UsageError(f"--beside: {name} ended with status {self.process.wait()} on HIP-CPU")
        return 1e-9 * float(answer)


def measured(on: Library | Peer, work: Work) -> float:
    function = f"bench_{work.function}"
    seconds = on.seconds(function, work.arguments)
    if work.less is not None:
        seconds -= on.seconds(function, work.less)
    return seconds / work.parts


def ours() -> Library:
    builder = Builder("host")
    family = KernelFamily(
        name="bench_host_runtime",
        operations=(Pass.FWD,),
        sources=("host_runtime.hip.cpp", "host_runtime_floors.cpp"),
        folder=HERE,
        platforms=("host",),
        instances=(Instance("only", "one", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION),),
    )
    return Library(builder.runtime(), builder.family(family))


def peer(include: Path, folder: Path) -> Peer:
    """The workloads on HIP-CPU, built into ``folder``; UsageError where its headers or TBB are missing."""
    if not (include / "hip" / "hip_runtime.h").is_file():
        raise UsageError(f"--beside {include}: no hip/hip_runtime.h there; give the include folder of HIP-CPU")
    program = folder / "peer"
    sources = [str(HERE / name) for name in ("host_runtime.hip.cpp", "host_runtime_peer.cpp")]
    command = [*Builder("host").compiler.command, *PEER_FLAGS, "-I", str(include), *sources, "-o", str(program)]
    built = subprocess.run([*command, "-ltbb", "-ldl"], capture_output=True, text=True, check=False)
    if built.returncode:
        said = next((line for line in built.stderr.splitlines() if re.search("error|cannot find", line)), "no word")
        raise UsageError(f"--beside {include}: the workloads do not build against it: {said}")
    return Peer(program)


def rows(beside: Path | None = None) -> list[Row]:
    """All rows in order. ``beside``: HIP-CPU's include folder; each of its rows is measured right after ours."""
    own = ours()
    floors: dict[tuple[str, Arguments], float] = {}
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        other = None if beside is None else peer(beside, Path(folder))
        memory = own.memory()
        theirs = works("m") if other else repeat(None)
        for work, same in zip(works(memory), theirs, strict=False):
            seconds = measured(own, work)
            key = (work.floor, work.floor_arguments)
            if key not in floors:
                floors[key] = own.seconds(f"floor_{work.floor}", work.floor_arguments)
            floor = floors[key] * work.floors
            wall, beside_it = by_wall(own, work, other, same) if other and same else (None, None)
            found.append(Row(work.name, seconds, floor, seconds / floor, work.floor_name, wall, beside_it))
    return found


def by_wall(own: Library, work: Work, other: Peer, same: Work) -> tuple[float, float]:
    """Ours and HIP-CPU's, each on all cores."""
    own.runtime.bitgateHostSetThreads(0)
    own.seconds("bench_by_wall", (1,))
    wall = measured(own, work)
    own.seconds("bench_by_wall", (0,))
    own.runtime.bitgateHostSetThreads(1)
    return wall, measured(other, same)


def printed(table: list[Row]) -> Iterator[str]:
    with_peer = any(row.peer is not None for row in table)
    heads = f"{'':46}{'us':>12}   {'floor':26}{'us':>12}{'ratio':>8}"
    yield heads + (f"{'all cores us':>14}{'HIP-CPU us':>14}{'bitgate : HIP-CPU':>20}" if with_peer else "")
    for row in table:
        line = f"{row.name:46}{1e6 * row.seconds:12.4f}   {row.floor_name:26}{1e6 * row.floor:12.4f}{row.ratio:8.2f}"
        if row.wall is not None and row.peer is not None:
            ratio = f"{row.wall / row.peer:.2f}" if row.peer > 0 else "-"  # what was inlined away took no time
            line += f"{1e6 * row.wall:14.4f}{1e6 * row.peer:14.4f}{ratio:>20}"
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="PATH", help="HIP-CPU's include folder")
    parser.add_argument("--json", action="store_true", help="one JSON document of rows; times in seconds")
    options = parser.parse_args()
    try:
        table = rows(options.beside)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if options.json:
        print(json.dumps({"rows": [row._asdict() for row in table]}))
    else:
        print("\n".join(printed(table)))


if __name__ == "__main__":
    main()
