"""Small HIP programs of tests/programs, each of which checks itself: built by bitgate-hipcc, right in every order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.host_runtime.test_programs import ready, tool

from bitgate.cli.execute import _is_timed

__all__ = ["ready"]

FOLDER = Path(__file__).parents[1] / "programs"
PROGRAMS = sorted(path.name for path in FOLDER.iterdir() if path.suffix in (".hip", ".cu"))
ORDERS = ("forward", "reverse", "lockstep", "random:5", "random:6")
EACH_CHANGE = ("groups_grid.hip", "launch_events.hip", "overloads_host_device.hip", "cuda_libraries.cu")
"""Programs that a change waits for; the nightly runs all."""
COMPILES = ("hiprtc_basic.hip", "hiprtc_names.hip")
"""Programs that compile in each run, and have two orders."""
FLAGS = {"standard_20.hip": ("-std=c++20",), "launch_braces.hip": ("-std=c++14",)}


def is_right(program: str, folder: Path, *flags: str) -> None:
    built = tool(
        folder, "bitgate-hipcc", "-O1", *flags, *FLAGS.get(program, ()), str(FOLDER / program), "-o", "program"
    )
    assert (built.returncode, built.stderr) == (0, "")
    orders = ORDERS[:2] if program in COMPILES else ORDERS
    schedules = [word for order in orders for word in ("--schedule", order)]
    for wave in ("32",) if program.endswith(".cu") else ("64", "32"):
        done = tool(folder, "bitgate", "exec", "--json", "--wave", wave, *schedules, "./program")
        document = json.loads(done.stdout)
        assert (document["findings"], done.returncode, done.stderr.splitlines()[-1:]) == ([], 0, ["PASS"])
        assert [run["schedule"] for run in document["runs"]] == list(orders)


@pytest.mark.parametrize("program", EACH_CHANGE)
def test_a_program_of_each_kind_is_right(program: str, tmp_path: Path) -> None:
    is_right(program, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("program", [program for program in PROGRAMS if program not in EACH_CHANGE])
def test_a_program_is_right(program: str, tmp_path: Path) -> None:
    is_right(program, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "program", ["groups_grid.hip", "groups_grid_shared.hip", "scan_blocks.hip", "hipcub_block.hip"]
)
def test_a_right_program_has_no_race(program: str, tmp_path: Path) -> None:
    is_right(program, tmp_path, "--race")


def test_there_are_sixty() -> None:
    assert len(PROGRAMS) >= 60


CMAKE = """
cmake_minimum_required(VERSION 3.21)
project(demo LANGUAGES CXX)
find_package(hip REQUIRED)
find_package(hipblas REQUIRED)
enable_language(HIP)
add_library(kernels SHARED add.hip)
add_executable(demo main.cpp)
target_link_libraries(demo PRIVATE kernels hip::host roc::hipblas)
set_target_properties(kernels PROPERTIES HIP_STANDARD 17)
"""
ADD = """
#include <hip/hip_runtime.h>
template <class T> __global__ void add(T* x, T by) { x[threadIdx.x] += by; }
void add_three(float* x) { add<<<1, 32>>>(x, 3.0f); }
"""
MAIN = """
#include "check.h"
void add_three(float* x);
int main() {
  float* x = to_device(std::vector<float>(32, 1));
  add_three(x);
  return verdict(to_host(x, 32)[31] == 4);
}
"""


@pytest.mark.needs("ctest")
def test_cmake_enables_hip_and_finds_its_packages(tmp_path: Path) -> None:
    wrapper = tmp_path / "bitgate-hipcc"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m bitgate.cli.hipcc "$@"\n')
    wrapper.chmod(0o755)
    for name, text in (("CMakeLists.txt", CMAKE), ("add.hip", ADD), ("main.cpp", MAIN)):
        (tmp_path / name).write_text(text)
    (tmp_path / "check.h").symlink_to(FOLDER / "check.h")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    for command in ("cmake -S . -B out $(bitgate-hipcc --cmake)", "cmake --build out"):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    done = tool(tmp_path, "bitgate", "exec", "./out/demo")
    assert (done.returncode, done.stdout) == (0, "PASS\n"), done.stderr


WARPS = """
#include <cstdio>
__global__ void lanes(int* to) { *to = warpSize; }
int main() {
  int* to;
  if (cudaMallocManaged(&to, sizeof *to) != cudaSuccess)
    return 1;
  lanes<<<1, 1>>>(to);
  cudaDeviceSynchronize();
  std::printf("%d\\n", *to);
}
"""


def test_warps_of_a_cuda_program_have_32_lanes(tmp_path: Path) -> None:
    (tmp_path / "warps.cu").write_text(WARPS)
    assert tool(tmp_path, "bitgate-hipcc", "warps.cu", "-o", "warps").returncode == 0
    for words, lanes in (((), "32"), (("--wave", "64"), "64"), (("--wave", "32"), "32")):
        done = tool(tmp_path, "bitgate", "exec", *words, "./warps")
        assert (done.stdout, done.returncode) == (f"{lanes}\n", 0)
    assert subprocess.run(["./warps"], cwd=tmp_path, check=True, capture_output=True).stdout == b"32\n"


TIMED = """
import time
seconds = time.time_ns()  # no two runs have the same
print("Average kernel time (us):", seconds)
print("sum", 5{more})
"""


@pytest.mark.parametrize(("more", "code"), [("", 0), (", seconds", 1)])
def test_times_are_not_compared(more: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "timed.py").write_text(TIMED.format(more=more))
    command = ("--schedule", "forward", "--schedule", "reverse", sys.executable, "timed.py")
    done = tool(tmp_path, "bitgate", "exec", *command)
    what = "the order of threads shows: line 2 is" if code else "times are not compared: line 1 is"
    assert (done.returncode, what in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("11.7 ms", "12 ms"),
        ("Average kernel execution time: 12.3 (us)", "Average kernel execution time: 9 (us)"),
        ("time[ms] 1.5", "time[ms] 2"),
        ("Elapsed time of reduce = 1e-3", "Elapsed time of reduce = 2e-3"),
        ("3.4 GB/s, 5 GFLOPS", "2 GB/s, 4.1 GFLOPS"),
    ],
)
def test_a_time_is_known_by_its_unit_or_name(line: str, other: str) -> None:
    assert _is_timed(line.encode(), other.encode())


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("sum 12", "sum 13"),
        ("12 sums", "13 sums"),
        ("took 5 s, sum 4", "took 6 s, sum 5"),
        ("x 1 time: 3", "x 2 time: 3"),
        ("time step checksum: 3", "time step checksum: 4"),
    ],
)
def test_other_numbers_are_compared(line: str, other: str) -> None:
    assert not _is_timed(line.encode(), other.encode())
