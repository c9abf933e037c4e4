"""The library as others meet it: its exported names, hip-python, two kernel libraries, the CPU check."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bitgate.core import paths

from .conftest import INVALID_VALUE, NOT_SUPPORTED, SUCCESS, Host

Load = Callable[..., ctypes.CDLL]
NewProcess = Callable[..., subprocess.CompletedProcess[str]]
PLATFORMS = paths.data_folder("kernels") / "platforms"


def api_list() -> list[str]:
    lines = (PLATFORMS / "hip_api.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def declared_in(header: str, prefix: str) -> set[str]:
    text = (PLATFORMS / "host" / "include" / header).read_text()
    return set(re.findall(rf"_API [\w* ]*?\b({prefix}\w+)\(", text))


def test_the_library_exports_exactly_the_listed_functions(runtime_path: Path) -> None:
    table = subprocess.run(
        ["nm", "-D", "--defined-only", str(runtime_path)], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[2].partition("@")[0] for line in table.splitlines()}
    assert {name for name in exported if name.startswith("hip")} == set(api_list())
    extensions = {name for name in exported if name.startswith("bitgateHost")}
    assert extensions == declared_in("bitgate_host.h", "bitgateHost")


def test_the_header_declares_the_listed_functions() -> None:
    assert declared_in("hip/hip_runtime_api.h", "hip") == set(api_list())
    assert len(set(api_list())) == len(api_list())


HIP_PYTHON = """
handle = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
import numpy as np
from hip import hip

def check(result):
    error, *values = result
    assert error == hip.hipError_t.hipSuccess, (error, ctypes.c_char_p(handle.bitgateHostLastFault()))
    return values[0] if len(values) == 1 else values

assert check(hip.hipGetDeviceCount()) == 1
assert str(check(hip.hipDeviceGetName(64, 0))) == 'bitgate host (x86-64)'
warp = hip.hipDeviceAttribute_t.hipDeviceAttributeWarpSize
assert check(hip.hipDeviceGetAttribute(warp, 0)) == 64
properties = check(hip.hipGetDeviceProperties(0))
assert str(properties.name) == 'bitgate host (x86-64)'
assert (properties.warpSize, properties.maxThreadsPerBlock) == (64, 1024)
assert properties.multiProcessorCount == 8
assert str(properties.gcnArchName) == 'host'
x = np.arange(100, dtype=np.float32)
d = check(hip.hipMalloc(x.nbytes))
check(hip.hipMemcpy(d, x, x.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
stream, start, stop = check(hip.hipStreamCreate()), check(hip.hipEventCreate()), check(hip.hipEventCreate())
check(hip.hipEventRecord(start, stream))
kernels = ctypes.CDLL(libraries[0])
address = ctypes.c_void_p(int(d))
kernels.launch_saxpy(address, address, 100, 2, ctypes.c_void_p(int(stream)))
check(hip.hipEventRecord(stop, stream))
check(hip.hipStreamSynchronize(stream))
assert check(hip.hipEventElapsedTime(start, stop)) >= 0
y = np.empty_like(x)
check(hip.hipMemcpy(y, d, x.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
assert np.array_equal(y, 3 * x)
check(hip.hipFree(d))
error, = hip.hipFree(d)
assert error == hip.hipError_t.hipErrorInvalidValue
assert 'hipErrorInvalidValue' in str(hip.hipGetErrorName(error))
print('done')
"""


def test_hip_python_drives_it_unmodified(in_new_process: NewProcess, build_kernels: Callable[..., Path]) -> None:
    done = in_new_process(HIP_PYTHON, build_kernels("basics"))
    assert done.stdout.split() == ["done"], done.stderr


ALL_BOUND = """
ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
from hip import hip
library = ctypes.CDLL('libamdhip64.so')  # by name: what hip-python opens
bound = [name for name in {names!r} if hasattr(hip, name.removesuffix('R0600'))]
print(len(bound), [name for name in bound if not hasattr(library, name)])
"""


def test_each_listed_function_that_hip_python_binds_is_there(in_new_process: NewProcess) -> None:
    done = in_new_process(ALL_BOUND.format(names=api_list()))
    count, missing = done.stdout.split(maxsplit=1)
    assert (int(count) > 90, missing.strip(), done.stderr) == (True, "[]", "")


NAMES = """
handle = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
handle.hipGetErrorName.restype = handle.hipGetErrorString.restype = ctypes.c_char_p
from hip import hip
for name, error in hip.hipError_t.__members__.items():
    assert handle.hipGetErrorName(int(error)).decode() in hip.hipError_t.__members__, name
    assert hip.hipError_t[handle.hipGetErrorName(int(error)).decode()] == error, name
    assert handle.hipGetErrorString(int(error)), name
print(handle.hipGetErrorName(700).decode(), handle.hipGetErrorName(12345).decode())
"""


def test_error_codes_and_names_are_hips(in_new_process: NewProcess) -> None:
    done = in_new_process(NAMES)
    assert done.stdout.split() == ["hipErrorIllegalAddress", "hipErrorUnknown"], done.stderr


def test_two_libraries_with_the_same_kernel_do_not_share_lds(host: Host, load: Load) -> None:
    """Poison off, or it would hide what a library finds in its LDS."""
    host.settings.set_threads(1)
    host.hip.bitgateHostSetPoison(0)
    first, second = load("template_first"), load("template_second")
    out, place = host.malloc(8), host.malloc(8)
    addresses = []
    for library in (first, second):
        library.launch_address(place.pointer)
        addresses.append(int(place.download(np.uint64)[0]))
    assert addresses[0] != addresses[1]
    first.launch_leave_behind(out.pointer, ctypes.c_float(42))
    host.synchronize()
    second.launch_leave_behind(out.pointer, ctypes.c_float(7))
    assert out.download(np.float32)[0] == 0  # its own, never written
    host.hip.bitgateHostSetPoison(1)
    first.launch_leave_behind(out.pointer, ctypes.c_float(1))
    assert out.download(np.uint32).tolist() == [0xFFFFFFFF] * 2


def test_code_objects_are_refused_with_what_to_do(host: Host) -> None:
    module = ctypes.c_void_p()
    assert host.hip.hipModuleLoadData(ctypes.byref(module), b"") == NOT_SUPPORTED
    assert "host toolchain" in host.text()
    assert host.hip.hipLaunchKernel(None, 0, 0, 0, 0, None, None, None) == NOT_SUPPORTED


@pytest.mark.parametrize(
    ("setter", "attribute", "value"),
    [("bitgateHostSetComputeUnits", 63, 304), ("bitgateHostSetWaveSize", 87, 32), ("bitgateHostSetLdsLimit", 74, 4096)],
)
def test_attributes_follow_the_settings(host: Host, setter: str, attribute: int, value: int) -> None:
    out = ctypes.c_int()
    assert getattr(host.hip, setter)(value) == SUCCESS
    assert host.hip.hipDeviceGetAttribute(ctypes.byref(out), attribute, 0) == SUCCESS
    assert out.value == value
    assert host.hip.hipDeviceGetAttribute(ctypes.byref(out), 9999, 0) == INVALID_VALUE
    assert "no attribute 9999" in host.text()


def test_occupancy_is_computed_or_set(host: Host) -> None:
    blocks = ctypes.c_int()
    lds = ctypes.c_size_t(20_000)
    ask = host.hip.hipOccupancyMaxActiveBlocksPerMultiprocessor
    assert ask(ctypes.byref(blocks), ctypes.c_void_p(1), 256, ctypes.c_size_t(0)) == SUCCESS
    assert blocks.value == 8
    assert ask(ctypes.byref(blocks), ctypes.c_void_p(1), 256, lds) == SUCCESS
    assert blocks.value == 3
    host.settings.set_occupancy(2)
    assert ask(ctypes.byref(blocks), ctypes.c_void_p(1), 256, lds) == SUCCESS
    assert blocks.value == 2


OLD_CPU = """
hip = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
count, pointer = ctypes.c_int(), ctypes.c_void_p()
print(hip.hipGetDeviceCount(ctypes.byref(count)), hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(4)),
      hip.hipDeviceSynchronize(), hip.hipFree(None), hip.hipStreamSynchronize(None), hip.hipGetLastError())
"""


def test_an_old_cpu_gets_one_clear_line_and_no_device(in_new_process: NewProcess) -> None:
    done = in_new_process(OLD_CPU, BITGATE_HOST_PRETEND_CPU="x86-64-v2")
    assert set(done.stdout.split()) == {"100"}
    assert done.stderr.count("\n") == 1
    assert "this CPU lacks AVX AVX2 BMI1 BMI2 F16C FMA LZCNT MOVBE" in done.stderr


def test_threads_come_from_the_environment(in_new_process: NewProcess) -> None:
    code = "hip = ctypes.CDLL(runtime)\nprint(hip.bitgateHostGetThreads())"
    assert in_new_process(code, BITGATE_THREADS="3").stdout.split() == ["3"]


@pytest.mark.parametrize(
    "value", ["many", "-1", "nan", "inf", "0", "1025", "9" * 400, "3 ", " 3", "+3", "0x3", "1e1", "1_0"]
)
def test_an_invalid_thread_count_ends_with_2_and_one_line(in_new_process: NewProcess, value: str) -> None:
    done = in_new_process("ctypes.CDLL(runtime).bitgateHostGetThreads()", BITGATE_THREADS=value)
    assert done.returncode == 2
    assert done.stderr == f"bitgate: BITGATE_THREADS={value:.40}: give a number from 1 to 1024\n"


@pytest.mark.parametrize(
    "value", ["long", "-1", "nan", "inf", "0", "0.0", "1000001", "1e999", "9" * 400, "1s", ".5", "1_0"]
)
def test_an_invalid_spin_limit_ends_with_2_and_one_line(
    in_new_process: NewProcess, build_kernels: Callable[..., Path], value: str
) -> None:
    done = in_new_process(HIP_PYTHON, build_kernels("basics"), BITGATE_SPIN_SECONDS=value)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"bitgate: BITGATE_SPIN_SECONDS={value:.40}: give seconds, more than 0 and at most 1000000\n"


def test_an_empty_variable_is_not_set(in_new_process: NewProcess) -> None:
    code = "print(ctypes.CDLL(runtime).bitgateHostGetThreads())"
    assert in_new_process(code, BITGATE_THREADS="").stdout == in_new_process(code).stdout


def test_the_spin_limit_is_read_once(in_new_process: NewProcess, build_kernels: Callable[..., Path]) -> None:
    """A thread of the runtime asks for it ten times a second: nonsense that is set later ends no process."""
    later = "import os, time\nos.environ['BITGATE_SPIN_SECONDS'] = 'nonsense'\ntime.sleep(0.5)\nprint('alive')"
    done = in_new_process(f"{HIP_PYTHON}\n{later}", build_kernels("basics"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[-1] == "alive"
