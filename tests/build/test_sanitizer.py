"""Host code by ``BITGATE_SANITIZE`` ends its process at the first undefined behaviour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.plain_family import plain_family

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
