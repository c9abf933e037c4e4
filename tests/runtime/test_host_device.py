"""The host as a device: settings, faults, and one runtime a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bitgate
from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.examine import examine
from bitgate.kernel.library import KernelLibrary
from bitgate.runtime.device import Device
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import parse_schedule
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import Target
from bitgate.worker.mapped import mapped_runtimes

HARNESS = str(Path(bitgate.__file__).parent.parent)
GPU = Target("gfx942", "amd", "hardware", "AMD gfx942")


def test_settings_reach_the_device(device: Device) -> None:
    assert device.host is not None
    device.host.set_wave_size(32)
    device.host.set_compute_units(304)
    assert (device.attributes.wave_size, device.attributes.compute_units) == (32, 304)
    device.host.reset()
    assert device.attributes.wave_size == 64
    device.set_threads(1)
    assert device.host.threads == 1


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("forward", ("forward", 0)),
        ("reverse", ("reverse", 0)),
        ("lockstep", ("lockstep", 0)),
        ("random:17", ("random", 17)),
    ],
)
def test_schedules_are_spelt(device: Device, text: str, parsed: tuple[str, int]) -> None:
    assert parse_schedule(text) == parsed
    device.set_schedule(text)


@pytest.mark.parametrize(
    "text", ["", "backward", "random", "random:", "random:-1", "forward:1", "lockstep:1", "random:1x"]
)
def test_a_schedule_that_is_none_is_refused(device: Device, text: str) -> None:
    with pytest.raises(UsageError, match="give forward, reverse, lockstep or random:N"):
        device.set_schedule(text)


def test_a_gpu_has_no_schedule(device: Device) -> None:
    gpu = Device(GPU, device.hip, None)
    with pytest.raises(UsageError, match="a schedule can be set on the host target only, not on gfx942"):
        gpu.set_schedule("reverse")
    assert gpu.fault() is None


def test_a_kernels_fault_names_its_place_and_the_device_lives(device: Device, poke: Callable[[int, int], int]) -> None:
    poke(0, 2)
    with pytest.raises(HipError, match=r"hipDeviceSynchronize: hipError\w+: "):
        device.synchronize()
    fault = device.fault()
    assert fault is not None
    assert (fault.kind, fault.kernel, fault.block, fault.thread) == ("null", "poke", (0, 0, 0), (0, 0, 0))
    assert fault.address == 8
    assert "poke" in fault.text
    device.clear_fault()
    assert device.fault() is None
    with device.alloc(12, name="x") as buffer:
        poke(buffer.pointer, 2)
        device.synchronize()


def test_one_platform_a_process(device: Device) -> None:
    with pytest.raises(UsageError, match="gfx942 needs the amd platform, this process runs host"):
        open_device(GPU)


def test_a_second_device_uses_the_runtime_that_is_loaded(device: Device, builder: Builder) -> None:
    other = open_device(device.target, builder)
    assert other.hip is device.hip
    assert mapped_runtimes() == [builder.runtime()]
    other.close()


def test_a_target_with_an_obstacle_is_not_opened() -> None:
    with pytest.raises(UsageError, match="gfx942: no driver"):
        open_device(Target("gfx942", "amd", "hardware", "AMD gfx942", obstacle="no driver"))


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh process: this one has its runtime."""
    code = f"import sys; sys.path.insert(0, {HARNESS!r})\n{script}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


OPEN = """
from bitgate.kernel.build import Builder
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named
device = open_device(named("host"))
print(device.attributes.wave_size)
import os; print(os.environ.get("ROCM_PATH"))
"""


def test_a_rocm_on_this_machine_is_not_taken_for_ours(builder: Builder, tmp_path: Path) -> None:
    """hip-python would open ROCM_PATH's library rather than the one that is loaded."""
    builder.runtime()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libamdhip64.so").write_bytes(Path("/lib/x86_64-linux-gnu/libm.so.6").read_bytes())
    done = python(OPEN, ROCM_PATH=str(tmp_path))
    assert (done.returncode, done.stdout.split()) == (0, ["64", str(tmp_path)]), done.stderr


def test_a_library_that_is_not_our_runtime_is_named(builder: Builder) -> None:
    other = "from bitgate.kernel.build import Builder\nBuilder.runtime = lambda self: '/lib/x86_64-linux-gnu/libm.so.6'"
    done = python(other + OPEN)
    assert "libm.so.6: not bitgate's host runtime, it lacks bitgateHostSetThreads" in done.stderr


def test_a_kernel_library_needs_the_runtime_first(builder: Builder, poke_family: KernelFamily) -> None:
    path = builder.family(poke_family)
    with pytest.raises(LibraryError, match="needs the HIP runtime that it was built for: open the device before"):
        examine(path, poke_family, None, "host", builder.cache)


def test_a_library_without_the_abi(device: Device, builder: Builder, poke_family: KernelFamily) -> None:
    with pytest.raises(LibraryError, match="does not export bitgate_abi"):
        KernelLibrary.load(builder.family(poke_family), poke_family)
