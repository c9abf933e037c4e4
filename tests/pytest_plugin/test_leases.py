"""One GPU a worker, whatever list of devices a user has set: by the lists alone, and end to end on a pretended
driver."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build.toolchain import find_host_compiler
from bitgate.runtime.targets import Target
from bitgate.suite.pytest import leases
from bitgate.suite.pytest.leases import Devices, Leases, devices

LISTS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
MIXED = ["gfx1100", "gfx942", "gfx942", "gfx942"]
ROCR, HIP, CUDA = LISTS


@pytest.fixture(autouse=True)
def no_outer_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LISTS:
        monkeypatch.delenv(name, raising=False)


def gpu(name: str = "gfx942", platform: str = "amd") -> Target:
    return Target(name, platform, "hardware", name)


@pytest.mark.parametrize(
    ("outer", "variable", "tokens"),
    [
        ({}, ROCR, ("1", "2", "3")),
        ({ROCR: "2,0,3"}, ROCR, ("2", "3")),  # the gfx1100 is not lent
        ({ROCR: "3"}, ROCR, ("3",)),
        ({ROCR: "GPU-ab12, 3"}, ROCR, ("GPU-ab12", "3")),  # a UUID stands as it is
        ({ROCR: "1,1"}, ROCR, ("1",)),
        ({HIP: "1,2,-1,3"}, HIP, ("1", "2")),  # entries after a negative number do not count
        ({HIP: "0,1,9"}, HIP, ("1",)),
        # HIP counts in what ROCr has left: of devices 3 and 0 its entry 0 is the gfx942.
        ({ROCR: "3,0", HIP: "0,1"}, HIP, ("0",)),
        ({ROCR: "3,2", HIP: "1,0"}, HIP, ("1", "0")),
        # CUDA's variable acts on AMD GPUs where HIP's is not set.
        ({CUDA: "2"}, CUDA, ("2",)),
        ({CUDA: "2", HIP: "3"}, HIP, ("3",)),
    ],
)
def test_what_is_lent_of_amd_gpus(
    monkeypatch: pytest.MonkeyPatch, outer: dict[str, str], variable: str, tokens: tuple[str, ...]
) -> None:
    monkeypatch.setattr(leases, "_names", lambda platform: MIXED)
    for name, value in outer.items():
        monkeypatch.setenv(name, value)
    assert devices(gpu()) == Devices(variable, tokens)


@pytest.mark.parametrize(
    ("outer", "seen", "tokens"),
    [
        (None, ["sm_90", "sm_90"], ("0", "1")),
        (None, ["sm_80", "sm_90"], ("1",)),
        ("5,3", ["sm_90", "sm_90"], ("5", "3")),
        ("5,9,3", ["sm_90"], ("5",)),  # the driver stops at the first entry that is not there
        ("GPU-1a,GPU-2b", ["sm_90", "sm_90"], ("GPU-1a", "GPU-2b")),
        # A process sees one MIG instance only, so the driver's count says nothing about the others.
        ("MIG-1a,MIG-2b,MIG-3c", ["sm_90"], ("MIG-1a", "MIG-2b", "MIG-3c")),
    ],
)
def test_what_is_lent_of_nvidia_gpus(
    monkeypatch: pytest.MonkeyPatch, outer: str | None, seen: list[str], tokens: tuple[str, ...]
) -> None:
    monkeypatch.setattr(leases, "_names", lambda platform: seen)
    if outer is not None:
        monkeypatch.setenv(CUDA, outer)
    assert devices(gpu("sm_90", "nvidia")) == Devices(CUDA, tokens)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (ROCR, "", "ROCR_VISIBLE_DEVICES is set and names no device"),
        (HIP, " , ", "HIP_VISIBLE_DEVICES is set and names no device"),
        (CUDA, "-1", "CUDA_VISIBLE_DEVICES is set and names no device"),
        (ROCR, "0", r"ROCR_VISIBLE_DEVICES=0 leaves no gfx942 \(it leaves gfx1100\)"),
        (HIP, "7,8", r"HIP_VISIBLE_DEVICES=7,8 leaves no gfx942 \(it leaves no device that is there\)"),
    ],
)
def test_a_list_that_leaves_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setattr(leases, "_names", lambda platform: MIXED)
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=message):
        devices(gpu())


def test_more_workers_than_devices_share_them_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "_names", lambda platform: ["gfx942", "gfx942"])
    pool = Leases(gpu())
    assert Counter(pool.lend(f"gw{i}")[1] for i in range(4)) == {"0": 2, "1": 2}
    pool.take_back("gw1")
    assert pool.lend("gw4")[1] == "1"


# ---- end to end: a driver that is only pretended, in front of the real plugin, xdist and our own detection

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int visible;
int cuInit(unsigned flags) {
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  const char* log = getenv("PRETENDED_LOG");
  char text[256];
  visible = list ? 0 : 3;
  for (const char* at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : "")
    ++visible;
  snprintf(text, sizeof text, "%d %s\n", (int)getpid(), list ? list : "all");
  FILE* file = fopen(log, "a");
  fputs(text, file);
  fclose(file);
  return (int)flags;
}
int cuDeviceGetCount(int* count) { *count = visible; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int* value, int kind, int device) { *value = kind == 75 ? 9 : 0; return device * 0; }
int cuDeviceGetName(char* name, int size, int device) { return snprintf(name, size, "Pretended") * device * 0; }
"""
PLUGIN = """
from pathlib import Path
from bitgate.runtime import nvidia, targets
nvidia._DRIVER_SIGNS = (Path(__file__),)
targets._cuda_obstacle = lambda: ""
"""
TEST = """
import os, pathlib, time, pytest

@pytest.mark.parametrize("i", range(3))
def test_{name}(i):
    from bitgate.runtime import nvidia
    assert len(nvidia.devices()) == 1
    folder = pathlib.Path(os.environ["PRETENDED_LOG"]).parent
    words = [os.getpid(), os.environ["CUDA_VISIBLE_DEVICES"], os.environ["PYTEST_XDIST_WORKER"], f"{name}{{i}}"]
    with open(folder / "tests.log", "a") as log:
        print(*words, file=log)
    if {name!r} == "dies" and i == 1:
        os._exit(1)
    # Who lives keeps its device until the replacement has one: controller, two workers and the replacement.
    patience = time.monotonic() + 60 * ({name!r} == "lives" and os.environ["PYTEST_XDIST_WORKER_COUNT"] == "2")
    while len((folder / "driver.log").read_text().splitlines()) < 4 and time.monotonic() < patience:
        time.sleep(0.01)
"""


@pytest.fixture
def pretended(tmp_path: Path) -> Path:
    """A folder with a suite, a plugin that lets our detection find a driver, and that driver."""
    suite = tmp_path / "suites" / "toy"
    suite.mkdir(parents=True)
    (suite / "cases.toml").write_text("")
    for name in ("dies", "lives"):
        (suite / f"test_{name}.py").write_text(TEST.format(name=name))
    (tmp_path / "pretended.py").write_text(PLUGIN)
    (tmp_path / "driver.c").write_text(DRIVER)
    command = [*find_host_compiler().command, "-x", "c", "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def start(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BITGATE_T"))}
    own = {
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(paths.__file__).parents[2])]),
        "LD_LIBRARY_PATH": str(folder),
        "PRETENDED_LOG": str(folder / "driver.log"),
        "BITGATE_OUT": str(folder / "out"),
    }
    command = [sys.executable, "-m", "pytest", "suites", "-p", "bitgate.pytest_plugin", "-p", "pretended"]
    command += ["-p", "no:cacheprovider", "--target=sm_90", *arguments]
    return subprocess.run(
        command, cwd=folder, env=inherited | own | environment, capture_output=True, text=True, timeout=120, check=False
    )


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


def test_each_worker_sees_one_device_and_a_new_one_inherits_it(pretended: Path) -> None:
    done = start(pretended, "-n", "2", CUDA_VISIBLE_DEVICES="7,4")
    assert "5 passed" in done.stdout, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    opened = dict(lines(pretended / "driver.log"))
    tests = lines(pretended / "tests.log")
    # The driver was opened with the worker's own device, and with the whole list only where tests are handed out.
    assert all(opened[pid] == token for pid, token, _, _ in tests)
    assert {token for _, token, _, _ in tests} == {"7", "4"}
    fatal = next(token for _, token, _, test in tests if test == "dies1")
    assert Counter(opened.values()) == Counter(["7,4", "7", "4", fatal])


@pytest.mark.parametrize(("outer", "tokens"), [("5,GPU-1a,3", ["5", "GPU-1a", "3"]), ("6", ["6"])])
def test_auto_starts_as_many_workers_as_there_are_devices(pretended: Path, outer: str, tokens: list[str]) -> None:
    (pretended / "suites" / "toy" / "test_dies.py").unlink()
    start(pretended, "-n", "auto", CUDA_VISIBLE_DEVICES=outer)
    counts = Counter(token for _, token in lines(pretended / "driver.log"))
    assert counts == Counter([outer, *tokens])


@pytest.mark.parametrize("workers", ["0", "2", "auto"])
def test_an_empty_list_ends_with_2_and_says_so(pretended: Path, workers: str) -> None:
    done = start(pretended, "-n", workers, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert "sm_90 is not present on this machine (found: host, with CUDA_VISIBLE_DEVICES='')" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
