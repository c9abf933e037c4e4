"""Which targets there are, which is taken, and what is said of the others."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.targets import ARCHITECTURES
from bitgate.kernel.build import find_host_compiler
from bitgate.runtime import kfd, nvidia, targets


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """These tests say themselves which GPUs there are."""
    monkeypatch.setenv("ROCM_BOOTSTRAP_DISABLE_DETECTION", "1")
    monkeypatch.setattr(nvidia, "_DRIVER_SIGNS", ())
    nvidia.devices.cache_clear()
    yield
    nvidia.devices.cache_clear()  # the tests after these see the machine again


def force(monkeypatch: pytest.MonkeyPatch, names: str) -> None:
    monkeypatch.delenv("ROCM_BOOTSTRAP_DISABLE_DETECTION")
    monkeypatch.setenv("ROCM_BOOTSTRAP_FORCE_GFX_ARCH", names)


def test_the_host_is_always_there() -> None:
    assert [target.name for target in targets.present()] == ["host"]
    assert targets.best() == targets.named("host")
    assert (targets.best().platform, targets.best().kind) == ("host", "cpu")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gfx94", "unknown target 'gfx94'; did you mean 'gfx942'"),
        ("Host", "unknown target 'Host'; did you mean 'host'"),
        ("gfx942", r"gfx942 is not present .*found: host.*bitgate compile --target gfx942, or run on host"),
        ("sm_90", r"sm_90 is not present on this machine \(found: host\); run on host"),
    ],
)
def test_an_absent_target_is_answered_with_what_there_is(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        targets.named(name)


def test_the_five_gfx_targets_are_known_and_belong_to_amd() -> None:
    assert {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "host"} <= set(ARCHITECTURES)
    assert [targets.platform_of(name) for name in ("gfx950", "host", "sm_90")] == ["amd", "host", "nvidia"]


def test_a_forced_target_is_present_once(monkeypatch: pytest.MonkeyPatch) -> None:
    force(monkeypatch, "gfx942,gfx942,gfx1100")
    assert [target.name for target in targets.present()] == ["gfx942", "gfx1100", "host"]


@pytest.mark.parametrize("name", ["gfx942", "gfx942_xnack-", "gfx9-4-generic"])
def test_a_target_is_present_where_its_code_runs(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    force(monkeypatch, "gfx942")
    monkeypatch.setattr(targets, "_rocm_obstacle", lambda: "")
    assert targets.named(name) == targets.Target(name, "amd", "hardware", "AMD gfx942")
    assert targets.named(name.replace("_", ":")).name == name


def test_a_gpu_that_cannot_run_gives_way_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    force(monkeypatch, "gfx942")
    monkeypatch.setenv(kfd.ROOT, "/absent")
    assert targets.best().name == "host"
    with pytest.raises(UsageError, match="gfx942 is present, but "):
        targets.named("gfx942")


def test_a_forced_name_that_is_none_is_the_users_error(monkeypatch: pytest.MonkeyPatch) -> None:
    force(monkeypatch, "gfx9999")
    with pytest.raises(UsageError, match=r"ROCM_BOOTSTRAP_FORCE_GFX_ARCH: .*gfx9999"):
        targets.present()


def test_a_cpu_that_lacks_an_instruction_set_is_reported_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "HOST_CPU_FLAGS", (*targets.HOST_CPU_FLAGS, "avx9000"))
    with pytest.raises(UsageError, match="needs an x86-64-v3 CPU, this one lacks avx9000"):
        targets.best()


CUDA = """
int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int* count) { *count = 2; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int* value, int kind, int device) { *value = kind == 75 ? 9 : 0; return 0; }
int cuDeviceGetName(char* name, int size, int device) { __builtin_snprintf(name, size, "H%d00", device + 1); return 0; }
"""


@pytest.fixture
def two_nvidia_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, library = tmp_path / "cuda.c", tmp_path / "libcuda.so.1"
    source.write_text(CUDA)
    command = [*find_host_compiler().command, "-x", "c", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    monkeypatch.setattr(nvidia, "_DRIVER_SIGNS", (tmp_path,))
    monkeypatch.setattr(nvidia, "_LIBRARY", str(library))


@pytest.mark.usefixtures("two_nvidia_gpus")
def test_nvidia_gpus_come_first_where_nvcc_can_build_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_cuda_obstacle", lambda: "")
    assert nvidia.devices() == (("sm_90", "H100"), ("sm_90", "H200"))
    assert targets.best() == targets.named("sm_90")
    assert targets.best().device_name == "H100"


@pytest.mark.usefixtures("two_nvidia_gpus")
def test_nvidia_gpus_without_nvcc_are_named_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert targets.best().name == "host"
    with pytest.raises(UsageError, match=r"sm_90 is present, but no CUDA compiler found .* install the CUDA toolkit"):
        targets.named("sm_90")
