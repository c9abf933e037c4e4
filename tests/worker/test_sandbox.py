"""A process in the sandbox can do what a kernel needs, and nothing that reaches other processes or the user's files."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.worker import bubblewrap, gpu_driver, sandbox

LANDLOCK = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
"""The version of Landlock; below 1 where the system has none."""

INSIDE = """
import ctypes, json, os, socket
from bitgate.worker.sandbox import enter
had = enter()
libc = ctypes.CDLL(None)
def tried(call):
    try:
        call()
        return "done"
    except OSError as error:
        return error.errno
found = {
    "had": had,
    "here": tried(lambda: open("file", "w").close()),
    "there": tried(lambda: open(%r, "w").close()),
    "connect": tried(lambda: socket.create_connection(("127.0.0.1", 9), 1)),
    "ptrace": libc.syscall(101, 16, os.getppid(), 0, 0),
    "ptrace_x32": libc.syscall(101 | 1 << 30, 16, os.getppid(), 0, 0),
    "stated": "BITGATE_SANDBOX" in os.environ,
}
print(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def left() -> Iterator[None]:
    """The end of the sandbox that a test has stated."""
    yield
    sandbox.leave()


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv(sandbox.VARIABLE, "")
    monkeypatch.setattr(bubblewrap, "HIDES", ())
    (tmp_path / "own").mkdir()
    return [one for one in sandbox.prepare(tmp_path / "own", 1 << 32) if not one.startswith("without")]


def inside(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter of system calls is for x86-64")
def test_what_is_stated_is_so(prepared: list[str], tmp_path: Path) -> None:
    done = inside(INSIDE % str(tmp_path / "elsewhere"))
    found = json.loads(done.stdout)
    assert found["had"] == prepared
    assert (found["here"], found["stated"]) == ("done", False)
    assert (found["ptrace"], found["ptrace_x32"]) == (-1, -1)
    if any("landlock" in one for one in prepared):
        assert found["there"] in (13, 30)
    if any("no network" in one or "no TCP" in one for one in prepared):
        assert found["connect"] != "done"


def test_a_measure_that_is_lost_ends_the_process(prepared: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    stated = {**json.loads(os.environ[sandbox.VARIABLE]), "measures": [*prepared, "a wall of bricks"]}
    monkeypatch.setenv(sandbox.VARIABLE, json.dumps(stated))
    done = inside("from bitgate.worker.sandbox import enter; enter()")
    assert "the sandbox lacks a wall of bricks" in done.stderr


def test_a_folder_that_is_gone_is_an_error_of_the_environment(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sandbox can be entered here"):
        sandbox.prepare(tmp_path / "gone", 1 << 30)


SEES = """
import json, os, socket
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import enter
had = enter()
give_up_reaching()
def tried(call):
    try:
        call()
        return "done"
    except OSError as error:
        return error.errno
print(json.dumps({
    "had": had,
    "needed": os.path.exists(%(needed)r),
    "hidden": os.path.exists(%(hidden)r),
    "here": tried(lambda: open("file", "w").close()),
    "there": tried(lambda: open("/etc/file", "w").close()),
    "network": [name for _, name in socket.if_nameindex()],
}))
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """A folder for the sandbox, a file that it needs, and one that nothing in it needs."""
    monkeypatch.setenv(sandbox.VARIABLE, "")
    monkeypatch.setattr(bubblewrap, "HIDES", (str(tmp_path),))
    monkeypatch.setenv("HOME", str(tmp_path))
    own, needed, hidden = tmp_path / "own", tmp_path / "needed" / "kernel.py", tmp_path / "secret" / "key"
    own.mkdir()
    for file in (needed, hidden):
        file.parent.mkdir()
        file.write_text("text")
    return own, needed, hidden


def test_a_machine_without_landlock_says_what_can_be_written(
    files: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "without Landlock: a submission can write to the folder of the task's processes"
    assert (said in sandbox.prepare(files[0], 1 << 32)) == (LANDLOCK < 1)
    monkeypatch.setattr(sandbox, "tried", lambda *_: sandbox.SandboxTrial(["private folder"], ""))
    assert said in sandbox.prepare(files[0], 1 << 32)


@pytest.mark.needs("bwrap")
def test_bubblewrap_hides_what_is_not_needed(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    own, needed, hidden = files
    measures = sandbox.prepare(own, 1 << 32, reads=[needed])
    if without := [one for one in measures if one.startswith("without bubblewrap")]:
        pytest.skip(without[0])
    found = json.loads(inside(SEES % {"needed": str(needed), "hidden": str(hidden)}).stdout)
    assert found["had"] == measures
    assert f"files read-only, {tmp_path} hidden (bubblewrap)" in measures
    assert (found["needed"], found["hidden"], found["here"]) == (True, False, "done")
    assert found["there"] in (1, 13, 30)
    assert found["network"] == ["lo"]
    assert all(file.is_file() for file in (needed, hidden, own / "submission" / "file"))


FAKE = """#!/bin/sh
echo 'bwrap: No permissions to create new namespace' >&2
exit 1
"""


def test_a_bubblewrap_that_does_not_work_is_left_out_and_named(
    files: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").write_text(FAKE)
    (tmp_path / "bin" / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    *measures, left_out = sandbox.prepare(files[0], 1 << 32)
    assert left_out == "without bubblewrap: bwrap: No permissions to create new namespace"
    found = json.loads(inside(SEES % {"needed": str(files[1]), "hidden": str(files[2])}).stdout)
    assert found["had"] == measures
    assert (found["needed"], found["hidden"]) == (True, True)


def test_a_machine_without_bubblewrap_says_so(files: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert sandbox.prepare(files[0], 1 << 32)[-1] == "without bubblewrap: bwrap is not installed"


@pytest.mark.needs("bwrap")
def test_namespaces_end_with_the_sandbox(files: tuple[Path, Path, Path]) -> None:
    holder = bubblewrap.Bubble(files[0], [])
    if holder.why_not:
        pytest.skip(holder.why_not)
    assert bubblewrap.namespace("net", holder.pid) != bubblewrap.namespace("net")
    holder.end()
    assert not Path(f"/proc/{holder.pid}").exists()


DRIVER = """
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <string>
#include <thread>

// Writes a thread's name as CUDA's driver does.
static bool names_a_thread() {
  bool done = false;
  std::thread([&] {
    std::string file = "/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/comm";
    int opened = open(file.c_str(), O_RDWR);
    done = opened >= 0 && write(opened, "cuda", 4) == 4;
    if (opened >= 0)
      close(opened);
  }).join();
  return done;
}

extern "C" int cuInit(unsigned) {
  rlimit data;
  getrlimit(RLIMIT_DATA, &data);
  return %s || !names_a_thread() ? 304 : 0;
}
#define STARTS(name) extern "C" int name() { return 0; }
STARTS(cuDeviceGet) STARTS(cuDevicePrimaryCtxRetain) STARTS(cuCtxSetCurrent) STARTS(cuMemAlloc_v2)
STARTS(cuMemAllocHost_v2) STARTS(cuMemsetD8_v2) STARTS(cuMemcpyDtoH_v2)
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A GPU's driver that does not start where a condition holds."""

    def build(fails: str) -> None:
        (tmp_path / "driver.cpp").write_text(DRIVER % fails)
        command = ["g++", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(tmp_path / "driver.cpp")]
        subprocess.run(command, check=True)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
        monkeypatch.setenv(sandbox.VARIABLE, "")
        monkeypatch.setattr(gpu_driver, "devices", lambda: ["/dev/null"])

    return build


def test_a_measure_that_a_driver_cannot_stand_is_left_out(driver: Callable[[str], None], tmp_path: Path) -> None:
    driver("data.rlim_cur != RLIM_INFINITY")
    *measures, left_out = sandbox.prepare(tmp_path, 1 << 32, of_gpu=True)
    measures = [one for one in measures if not one.startswith("without bubblewrap")]
    assert left_out == "without memory limit: a GPU's driver does not start with it"
    assert not any("memory limit" in one for one in measures)
    assert (
        json.loads(inside("import json, bitgate.worker.sandbox as s; print(json.dumps(s.enter()))").stdout) == measures
    )


def test_a_driver_that_starts_keeps_every_measure(driver: Callable[[str], None], tmp_path: Path) -> None:
    driver("false")
    found = sandbox.prepare(tmp_path, 1 << 32, of_gpu=True)
    assert not any("does not start" in one for one in found)


def test_a_driver_that_cannot_name_its_threads_is_seen_to_fail(driver: Callable[[str], None], tmp_path: Path) -> None:
    driver("false")
    stated = {**sandbox.statement(tmp_path, 1 << 32, of_gpu=True), "writes": ["/dev/null"]}
    had = sandbox.tried(stated).measures
    failed = "cuInit returns 304" if any("landlock" in one for one in had) else ""
    assert sandbox.tried(stated).driver == failed


def test_two_measures_are_left_out_and_no_other(driver: Callable[[str], None], tmp_path: Path) -> None:
    driver("data.rlim_cur != RLIM_INFINITY || syscall(SYS_ptrace, 16, -1, 0, 0) == -1 && errno == EPERM")
    found = sandbox.prepare(tmp_path, 1 << 32, of_gpu=True)
    assert [one.split(":")[0] for one in found if "does not start" in one] == [
        "without system calls",
        "without memory limit",
    ]


def test_a_driver_that_never_starts_is_an_error(driver: Callable[[str], None], tmp_path: Path) -> None:
    driver("true")
    with pytest.raises(UsageError, match="does not start in a sandbox: cuInit returns 304"):
        sandbox.prepare(tmp_path, 1 << 32, of_gpu=True)
