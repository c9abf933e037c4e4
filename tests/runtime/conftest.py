"""The host device, opened once for this process, and a kernel that writes where it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import CDLL, c_int, c_int64, c_void_p
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.build import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.runtime.device import Device
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named

POKE = """
#include "bitgate/abi.h"
#include <hip/hip_runtime.h>
__global__ void poke(int* cells, int64_t at) { cells[at] = 1; }
extern "C" BITGATE_EXPORT int launch_poke(int* cells, int64_t at) {
  hipLaunchKernelGGL(poke, dim3(1), dim3(1), 0, nullptr, cells, at);
  return hipGetLastError();
}
"""


@pytest.fixture(scope="session")
def builder() -> Builder:
    return Builder("host")


@pytest.fixture(scope="session")
def opened(builder: Builder) -> Device:
    return open_device(named("host"), builder)


@pytest.fixture
def device(opened: Device) -> Iterator[Device]:
    """The host device with its settings and faults as after loading."""
    assert opened.host is not None
    yield opened
    opened.host.reset()
    opened.clear_fault()


@pytest.fixture(scope="session")
def poke_family(tmp_path_factory: pytest.TempPathFactory) -> KernelFamily:
    folder = tmp_path_factory.mktemp("poke", numbered=False)
    (folder / "poke.hip.cpp").write_text(POKE)
    return plain_family(folder, "poke.hip.cpp")


@pytest.fixture
def poke(device: Device, builder: Builder, poke_family: KernelFamily) -> Callable[[int, int], int]:
    """``poke(pointer, i)`` starts a kernel on the null stream, after all earlier work, that writes int ``i`` of the
    cells at ``pointer``."""
    path: Path = builder.family(poke_family)
    function = CDLL(str(path)).launch_poke
    function.restype, function.argtypes = c_int, [c_void_p, c_int64]

    def launch(pointer: int, i: int) -> int:
        device.synchronize()
        return int(function(pointer, i))

    return launch
