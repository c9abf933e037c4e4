"""The nvidia platform builds without a GPU: its runtime exports what the host's does."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder


@pytest.mark.needs("nvcc")
def test_the_runtime_exports_exactly_the_listed_functions() -> None:
    library = Builder("nvidia", arch="sm_90").runtime()
    table = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    exported = {line.split()[2] for line in table.stdout.splitlines()}
    lists = [paths.data_folder("kernels") / "platforms" / name for name in ("hip_api.txt", "hip_api_gpu.txt")]
    listed = {line for file in lists for line in file.read_text().splitlines() if line and not line.startswith("#")}
    assert {name for name in exported if name.startswith("hip")} == listed
    header = paths.data_folder("kernels") / "platforms" / "nvidia" / "include" / "bitgate_nvidia.h"
    extensions = set(re.findall(r"_API \w+ (bitgateNvidia\w+)\(", header.read_text()))
    assert {name for name in exported if name.startswith("bitgate")} == extensions


WITHOUT_A_GPU = """
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
hip.bitgateNvidiaIncidents.restype = ctypes.c_uint64
class Incident(ctypes.Structure):
    _fields_ = [("error", ctypes.c_int), ("reserved", ctypes.c_int), ("address", ctypes.c_uint64),
                ("text", ctypes.c_char * 240)]
hip.hipGetDeviceCount(ctypes.byref(ctypes.c_int()))
hip.hipMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 60))
print(hip.bitgateNvidiaIncidents())
hip.hipFree(ctypes.c_void_p(0x1230))
hip.hipGetLastError()
hip.bitgateNvidiaLaunched(9)
print(hip.bitgateNvidiaIncidents())
for number in range(3):
    incident = Incident()
    found = hip.bitgateNvidiaIncident(ctypes.c_uint64(number), ctypes.byref(incident))
    print(found, hex(incident.address), incident.text.decode())
"""


@pytest.mark.needs("nvcc")
def test_failed_frees_and_launches_are_recorded_queries_are_not() -> None:
    library = Builder("nvidia", arch="sm_90").runtime()
    environment = {"CUDA_VISIBLE_DEVICES": ""}  # whatever is asked for fails
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_GPU, str(library)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    before, after, freed, launched, none = done.stdout.splitlines()
    assert (before, after) == ("0", "2")
    assert freed.startswith("0 0x1230 hipFree of 0x1230: ")
    assert launched == "0 0x0 the launch of a kernel: invalid configuration argument"
    assert none.startswith("1 ")


def test_without_nvcc_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    with pytest.raises(UsageError, match=r"no CUDA compiler found .* install the CUDA toolkit"):
        Builder("nvidia", arch="sm_90").runtime()
