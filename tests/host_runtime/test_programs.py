"""A HIP program as others write them: built by bitgate-hipcc, run by bitgate exec, and what the two say of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder
from bitgate.kernel.build.hipcc_args import read_words

PROGRAM = """
#include "kernels.h"
#include <cstdio>
#include <vector>
#define LAUNCH(k, n) k<<<dim3(((n) + 63) / 64), 64>>>
int main(int argc, char**) {
  const int n = 100;
  std::vector<float> x(n, 1), y(n);
  for (int i = 0; i < n; ++i) y[i] = i;
  float *dx, *dy;
  hipMalloc(&dx, n * sizeof(float)), hipMalloc(&dy, n * sizeof(float));
  hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice);
  hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice);
  const int count = argc == 2 ? n + 1 : n;
  scale<float, 2><<<(n + 63) / 64, dim3(64), 0, 0>>>(dy, dx, count);
  reverse<<<1, n, n * sizeof(float)>>>(dy,
                                       n);
  LAUNCH(add, 1)(dy, 0.5f);
  hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost);
  printf("%g %g %g\\n", y[0], y[1], y[n - 1]);
  return argc == 3 ? 3 : 0;
}
"""
KERNELS = """
#include <hip/hip_runtime.h>
template <class T, int Factor> __global__ void scale(T* y, const T* x, int n) {
  int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
  if (i < n) y[i] += Factor * x[i];
}
__global__ void reverse(float* y, int n) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = y[threadIdx.x];
  BARRIER
  y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
template <class T> __global__ void add(T* y, T v) { y[threadIdx.x] += v; }
"""
RIGHT = "101.5 100.5 2\n"


def tool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``bitgate-hipcc ...`` or ``bitgate exec ...`` in a folder."""
    module = ["bitgate.cli.hipcc", *words[1:]] if words[0] == "bitgate-hipcc" else ["bitgate", *words[1:]]
    return subprocess.run(
        [sys.executable, "-m", *module], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def wait_for(happened: Callable[[], bool]) -> None:
    limit = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < limit
        time.sleep(0.05)


def write(folder: Path, barrier: str = "__syncthreads();") -> None:
    (folder / "include").mkdir()
    (folder / "include" / "kernels.h").write_text(KERNELS.replace("BARRIER", barrier))
    (folder / "program.hip").write_text(PROGRAM)


@pytest.fixture(scope="module", autouse=True)
def ready() -> None:
    """Build what the two commands link and load, once: where the cache is empty, they would report it on stderr."""
    builder = Builder("host")
    builder.runtime()
    builder.program_watch()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program, compiled and linked in two steps, as make does it."""
    folder = tmp_path_factory.mktemp("program")
    write(folder)
    depends = ("-MD", "-MT", "program.o", "-MF", "program.d")  # as cmake does
    arch = ("--offload-arch=gfx90a", "--offload-arch", "gfx1100", "-fgpu-rdc")
    compiled = tool(folder, "bitgate-hipcc", "-std=c++17", "-O2", "-I", "include", *arch, *depends, "-c", "program.hip")
    assert (compiled.returncode, compiled.stderr) == (0, "")
    assert "include/kernels.h" in (folder / "program.d").read_text()
    linked = tool(folder, "bitgate-hipcc", "program.o", "-L/opt/rocm/lib", "-lamdhip64", "--hip-link", "-o", "program")
    assert (linked.returncode, linked.stderr) == (0, "")
    return folder


def test_a_program_runs_by_itself_and_under_exec(built: Path) -> None:
    alone = subprocess.run([built / "program"], capture_output=True, text=True, check=True)
    under = tool(built, "bitgate", "exec", "./program")
    assert (alone.stdout, under.stdout, under.returncode, under.stderr) == (RIGHT, RIGHT, 0, "")


def test_a_program_in_cuda_is_built_by_its_names(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "project" / "cuda_rows" / "rows.cu"
    built = tool(tmp_path, "bitgate-hipcc", str(source), "-o", "rows")
    assert built.returncode == 0, built.stderr
    done = tool(tmp_path, "bitgate", "exec", "--wave", "32", "./rows")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_what_no_gpu_reports_is_red_though_the_exit_code_is_0(built: Path) -> None:
    done = tool(built, "bitgate", "exec", "--json", "./program", "one")
    document = json.loads(done.stdout)
    (run,) = document["runs"]
    assert (done.returncode, run["code"], run["count"]) == (1, 0, 1)
    assert run["incidents"][0].startswith("kernel scale<float, 2>, block (1,0,0), thread (36,0,0): read outside global")


def test_its_own_failure_is_red(built: Path) -> None:
    done = tool(built, "bitgate", "exec", "./program", "--two", "words")
    assert (done.returncode, done.stderr) == (1, "bitgate exec: under forward: ended with exit code 3\n")


@pytest.mark.parametrize(("flag", "flavour"), [("", "plain"), ("--race", "race")])
def test_a_missing_barrier_shows_by_the_order_and_by_name(tmp_path: Path, flag: str, flavour: str) -> None:
    write(tmp_path, barrier="")
    done = tool(tmp_path, "bitgate-hipcc", *filter(None, [flag]), "-Iinclude", "program.hip", "-o", "program")
    assert (done.returncode, done.stderr) == (0, "")
    if flavour == "plain":
        done = tool(tmp_path, "bitgate", "exec", "--schedule", "forward", "--schedule", "reverse", "./program")
        assert "the order of threads shows: line 1 is '" in done.stderr
    else:
        done = tool(tmp_path, "bitgate", "exec", "./program")
        assert "race on LDS" in done.stderr
        assert "kernels.h:11" in done.stderr
    assert done.returncode == 1


def test_an_error_of_the_compiler_names_the_line_of_the_source(tmp_path: Path) -> None:
    write(tmp_path)
    source = tmp_path / "program.hip"
    source.write_text(PROGRAM.replace("  LAUNCH(add, 1)(dy, 0.5f);", "  LAUNCH(add, 1)(dy);"))
    line = source.read_text().splitlines().index("  LAUNCH(add, 1)(dy);") + 1
    done = tool(tmp_path, "bitgate-hipcc", "-Iinclude", "-c", "program.hip")
    assert done.returncode == 1
    assert f"program.hip:{line}" in done.stderr
    assert "no matching function for call to" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--genco", "a.hip"], "--genco: device code is for a GPU"),
        (["absent.hip"], "absent.hip: no such file"),
        (["-o"], "-o: give what belongs to it"),
        (["-O2"], "name a source to compile, or objects to link"),
    ],
)
def test_a_command_line_that_cannot_be_meant(tmp_path: Path, words: list[str], said: str) -> None:
    done = tool(tmp_path, "bitgate-hipcc", *words)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"bitgate-hipcc: {said}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["./absent"], "./absent: cannot be started: No such file or directory"),
        (["--schedule", "sideways", "true"], "schedule 'sideways': give forward, reverse, lockstep or random:N"),
        (["--wave", "16", "true"], "--wave 16: a wave has 32 or 64 lanes"),
    ],
)
def test_what_cannot_be_started_ends_with_2(tmp_path: Path, words: list[str], said: str) -> None:
    done = tool(tmp_path, "bitgate", "exec", *words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"bitgate: {said}"


def test_a_program_that_is_killed_is_told(tmp_path: Path) -> None:
    done = tool(tmp_path, "bitgate", "exec", "sh", "-c", "kill -SEGV $$")
    assert (done.returncode, done.stderr) == (1, "bitgate exec: under forward: ended by SIGSEGV\n")


def test_an_interrupted_run_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bitgate", "exec", "sh", "-c", "echo $$ > pid; exec sleep 600"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        pid = tmp_path / "pid"
        wait_for(lambda: pid.is_file() and pid.read_text().endswith("\n"))
        program = int(pid.read_text())
        running.terminate()
        assert running.wait(60) == 130
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()
    assert not Path(f"/proc/{program}").exists()


def test_a_build_that_exports_it_as_compiler_does_not_recurse(tmp_path: Path) -> None:
    wrapper = tmp_path / "bitgate-hipcc"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m bitgate.cli.hipcc "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "one.cpp").write_text("int main() { return 0; }\n")
    environment = {**os.environ, "CXX": str(wrapper)}
    subprocess.run([wrapper, "one.cpp", "-o", "one"], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert tool(tmp_path, "bitgate", "exec", "./one").returncode == 0


def test_words_of_hipcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.hip", "b.cpp", "c.o"):
        Path(name).touch()
    line = "-O3 -D A=1 -x hip a.hip b.cpp -mllvm -x -std=c++14 -std=c++23 c.o -lm -Wl,-z,now -Xarch_host -g -o out"
    words = read_words(line.split())
    assert words.sources == ("a.hip", "b.cpp")
    assert words.compiled == ("-O3", "-D", "A=1", "-std=c++23", "-g")
    assert words.linked == ("a.hip", "b.cpp", "c.o", "-lm", "-Wl,-z,now")
    assert (words.output, words.mode) == ("out", "")
    Path("words.rsp").write_text("-O1 'c.o' -o other")
    assert read_words(["@words.rsp"]).output == "other"
    assert read_words(["-dumpmachine"]).asked
    assert not read_words(["-v", "a.hip"]).asked
    with pytest.raises(UsageError, match=r"@none: its words cannot be read"):
        read_words(["@none"])
    with pytest.raises(UsageError, match=r"-o x is one file, -c of 2 sources makes several"):
        read_words(["-c", "a.hip", "b.cpp", "-o", "x"])
