"""The host runtime and small kernels, built once; a `host` that drives both through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.plain_family import plain_family

from bitgate.kernel.build.builder import Builder
from bitgate.model.memory_runs import Runs
from bitgate.runtime.host import DeviceFault, HostRuntime

KERNELS = Path(__file__).parent / "kernels"
SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION = 0, 1, 2, 9
INVALID_HANDLE, NOT_READY, ILLEGAL_ADDRESS, LAUNCH_OUT_OF_RESOURCES = 400, 600, 700, 701
ASSERT, LAUNCH_FAILURE, NOT_SUPPORTED = 710, 719, 801
HOST_TO_DEVICE, DEVICE_TO_HOST, DEFAULT = 1, 2, 4
LAZY, EAGER = 0, 1


@pytest.fixture(scope="session")
def builder() -> Builder:
    return Builder("host", lambda line: None)


@pytest.fixture(scope="session")
def runtime_path(builder: Builder) -> Path:
    return builder.runtime()


@pytest.fixture(scope="session")
def build_kernels(builder: Builder) -> Callable[..., Path]:
    """Builds sources of the kernels folder into one shared library that is linked against the runtime."""

    def build(name: str, *sources: str, folder: Path = KERNELS, race: bool = False) -> Path:
        files = sources or (f"{name}.hip.cpp",)
        return builder.family(plain_family(folder, *files, name=f"runtime_test_{name}"), race=race)

    return build


def address(pointer: ctypes.c_void_p) -> int:
    """Return the address that is not null."""
    assert pointer.value
    return pointer.value


@dataclass
class Buffer:
    """Device memory; `pointer` is what a kernel takes."""

    host: Host
    pointer: ctypes.c_void_p
    bytes: int

    def upload(self, data: np.ndarray[Any, Any]) -> None:
        data = np.ascontiguousarray(data)
        assert self.host.hip.hipMemcpy(self.pointer, data.ctypes, data.nbytes, HOST_TO_DEVICE) == SUCCESS

    def download(self, dtype: Any, count: int | None = None) -> np.ndarray[Any, Any]:
        out = np.empty(count if count is not None else self.bytes // np.dtype(dtype).itemsize, dtype)
        assert self.host.hip.hipMemcpy(out.ctypes, self.pointer, out.nbytes, DEVICE_TO_HOST) == SUCCESS
        return out


class Host:
    """The runtime in this process: HIP's C functions as `hip`, the extensions as `settings`."""

    def __init__(self, path: Path) -> None:
        self.hip = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        for name in ("hipGetErrorName", "hipGetErrorString", "bitgateHostLastFault"):
            getattr(self.hip, name).restype = ctypes.c_char_p
        for name in ("hipMemcpy", "hipMemcpyAsync"):
            pointers = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            getattr(self.hip, name).argtypes = pointers if name == "hipMemcpy" else [*pointers, ctypes.c_void_p]
        self.settings = HostRuntime(path, self.hip)
        self._buffers: list[ctypes.c_void_p] = []

    def malloc(
        self,
        size: int,
        name: str = "buffer",
        placement: str = "right",
        alignment: int = 16,
        runs: Runs | None = None,
    ) -> Buffer:
        pointer = ctypes.c_void_p(self.settings.malloc(size, alignment, placement, name, runs))
        self._buffers.append(pointer)
        return Buffer(self, pointer, size)

    def array(self, data: np.ndarray[Any, Any], name: str = "buffer", placement: str = "right") -> Buffer:
        buffer = self.malloc(data.nbytes, name, placement)
        buffer.upload(data)
        return buffer

    def synchronize(self) -> int:
        return int(self.hip.hipDeviceSynchronize())

    def stream(self, flags: int = 0) -> ctypes.c_void_p:
        stream = ctypes.c_void_p()
        assert self.hip.hipStreamCreateWithFlags(ctypes.byref(stream), flags) == SUCCESS
        return stream

    def event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        assert self.hip.hipEventCreate(ctypes.byref(event)) == SUCCESS
        return event

    def fault(self) -> DeviceFault:
        """The fault that the last synchronising call reported."""
        fault = self.settings.fault()
        assert fault is not None, "no fault on record"
        return fault

    def text(self) -> str:
        return str(self.hip.bitgateHostLastFault().decode())

    def reset(self) -> None:
        for pointer in self._buffers:
            self.hip.hipFree(pointer)
        self._buffers.clear()
        self.hip.hipDeviceReset()
        self.hip.hipGetLastError()
        self.settings.clear_fault()
        self.settings.reset()


@pytest.fixture(scope="session")
def _process_host(runtime_path: Path) -> Host:
    return Host(runtime_path)


@pytest.fixture
def host(_process_host: Host) -> Iterator[Host]:
    """The runtime with its default settings, and no buffer or error left by another test."""
    _process_host.reset()
    yield _process_host
    _process_host.reset()


@pytest.fixture
def load(host: Host, build_kernels: Callable[..., Path]) -> Callable[..., ctypes.CDLL]:
    """Builds and loads a kernel library."""
    return lambda name, *sources: ctypes.CDLL(str(build_kernels(name, *sources)))


@pytest.fixture(scope="session")
def in_new_process(runtime_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python code in a separate process, with `runtime` and `libraries` (paths) defined."""

    def run(code: str, *libraries: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        import os

        preamble = (
            f"import ctypes, faulthandler\nruntime = {str(runtime_path)!r}\n"
            f"libraries = {[str(library) for library in libraries]!r}\n"
        )
        return subprocess.run(
            [sys.executable, "-c", preamble + code],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **environment},
        )

    return run
