"""Host code by ``BITGATE_SANITIZE`` ends its process at the first undefined behaviour, or access of wrong memory."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.core import settings
from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder

SOURCE = """
#include "bitgate/abi.h"
extern "C" BITGATE_EXPORT int after(int number) { return number + 1; }
"""
CALL = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).after(int(sys.argv[2]))"


def called(library: Path, number: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", CALL, str(library), str(number)], capture_output=True, text=True)


@pytest.mark.parametrize("sanitizer", ["", "undefined"])
def test_an_overflow_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sanitizer: str) -> None:
    monkeypatch.setenv("BITGATE_SANITIZE", sanitizer)
    (tmp_path / "after.hip.cpp").write_text(SOURCE)
    library = Builder("host").family(plain_family(tmp_path, "after.hip.cpp"))
    assert called(library, 41).returncode == 0
    over = called(library, 2**31 - 1)
    assert (over.returncode == 0) is not bool(sanitizer)
    assert ("signed integer overflow" in over.stderr) is bool(sanitizer)


USES_FREED = """
#include "bitgate/abi.h"
extern "C" BITGATE_EXPORT int after(int number) {
  volatile int* const kept = new int(number);
  if (number < 0)
    delete kept;
  return *kept;
}
"""


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the nightly's step."""
    asan = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    monkeypatch.setenv("BITGATE_SANITIZE", "address")
    monkeypatch.setenv("LD_PRELOAD", asan.stdout.strip())
    monkeypatch.setenv("ASAN_OPTIONS", ASAN_OPTIONS)


ASAN_OPTIONS = (
    "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:use_sigaltstack=0"
    ":detect_stack_use_after_return=0:abort_on_error=1:allocator_may_return_null=1"
)


def test_the_nightly_has_the_same_options() -> None:
    text = (Path(__file__).parents[2] / ".ci" / "nightly.py").read_text()
    assert all(option in text for option in ASAN_OPTIONS.split(":"))


@pytest.mark.usefixtures("addresses")
def test_a_use_after_free_in_a_library_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "after.hip.cpp").write_text(USES_FREED)
    library = Builder("host").family(plain_family(tmp_path, "after.hip.cpp"))
    assert called(library, 41).returncode == 0
    freed = called(library, -1)
    assert freed.returncode == -signal.SIGABRT
    assert "AddressSanitizer: heap-use-after-free" in freed.stderr


LOCAL_ARRAY = """
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void sum(int* result, int at) {
  volatile int cells[8];
  for (int i = 0; i < 8; ++i)
    cells[i] = i;
  __syncthreads();
  if (threadIdx.x == 3)
    *result = cells[at];
}
int main(int, char** words) {
  int* result;
  if (hipMalloc(&result, sizeof(int)) != hipSuccess)
    return 9;
  sum<<<2, 64>>>(result, std::atoi(words[1]));
  return hipDeviceSynchronize() == hipSuccess ? 0 : 8;
}
"""


@pytest.mark.usefixtures("addresses")
def test_a_read_beyond_a_local_array_of_a_kernel_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "program.hip").write_text(LOCAL_ARRAY)
    command = [sys.executable, "-c", "from bitgate.cli.hipcc import main; main()", "-fsanitize=address", "program.hip"]
    subprocess.run([*command, "-o", "program"], cwd=tmp_path, check=True)
    inside, outside = (subprocess.run([tmp_path / "program", at], capture_output=True, text=True) for at in "78")
    assert inside.returncode == 0, inside.stderr
    assert "ASan is ignoring" not in inside.stderr, "each stack is announced"
    assert outside.returncode == -signal.SIGABRT
    assert "AddressSanitizer: stack-buffer-overflow" in outside.stderr


@pytest.mark.usefixtures("addresses")
def test_a_declaration_is_read_in_spite_of_the_shadow_memory() -> None:
    """A limit of memory would be below what the sanitizer reserves."""
    example = Path(__file__).parents[2] / "examples" / "tiled_gemm"
    command = [sys.executable, "-m", "bitgate", "kernels", "--load", str(example)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr
    assert "tiled_gemm" in listed.stdout


def test_addresses_need_their_library_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("BITGATE_SANITIZE", "address")
    with pytest.raises(UsageError, match="Python needs its library first: set LD_PRELOAD"):
        settings.check()
