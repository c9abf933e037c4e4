"""The log of NVIDIA's compute-sanitizer is read as findings, each of the launch in which it was written.

The texts are in the tool's format, from its documents; no GPU is here to write them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitgate.core import compute_sanitizer
from bitgate.kernel.build import Builder
from bitgate.runtime.buffers import SMALLEST_BLOCK, BlockPool
from bitgate.runtime.device import Device
from bitgate.runtime.sanitizer_log import SanitizerFinding, first_of, parse

HEAD = "========= COMPUTE-SANITIZER\n"
READ = """\
========= Invalid __global__ read of size 4 bytes
=========     at adversarial::read_at(const float *, long, float *)+0x90 in memory.hpp:19
=========     by thread (0,0,0) in block (2,0,1)
=========     Address 0x7f3aa4a00400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f3aa4a00000 of size 1,024 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: [0x2774ec]
=========                in /lib/x86_64-linux-gnu/libcuda.so.1
=========     Host Frame: cudaLaunchKernel [0x4b4ab]
=========                in libbitgate.so
=========
"""
RACE = """\
========= Error: Race reported between Write access at adversarial::hand_over(const float *, float *, bool)+0x2a0
=========     and Read access at adversarial::hand_over(const float *, float *, bool)+0x310 [64 hazards]
=========
"""
WARNED = """\
========= WARNING: Race reported between Write access at RAW()+0xf0 in raceGroupBasic.cu:40
=========     and Read access at RAW()+0x280 in raceGroupBasic:46 [4 hazards]
"""
WARP_RACE = """\
========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x8c in block (0,0,0) :
=========     Write Thread (35,0,0) at sumKernel(int *, int *)+0x90 in warp_error.cu:44
=========     Read Thread (32,0,0) at sumKernel(int *, int *)+0x120 in warp_error.cu:56
=========     Current Value : 35
"""
UNWRITTEN = """\
========= Uninitialized __global__ memory read of size 2 bytes
=========     at gemm(Problem)+0x1f0
=========     by thread (65,0,0) in block (0,0,0)
=========     Address 0x7f2c7f2d2b50
"""
BARRIER = """\
========= Barrier error detected. Divergent thread(s) in block
=========     at diverges(float*)+0x100 in faults.hpp:53
=========     by thread (3,0,0) in block (0,0,0)
"""
NOTES = """\
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to \
cudaStreamSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========     Host Frame: [0x441c66]
=========                in /lib/x86_64-linux-gnu/libcuda.so.1
=========
========= Target application returned an error
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
========= ERROR SUMMARY: 0 errors
"""


def only(text: str) -> SanitizerFinding:
    (found,) = parse(text)
    return found


def test_a_finding_has_kernel_thread_and_address_and_no_backtrace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compute_sanitizer.TOOL, "memcheck")
    monkeypatch.setenv(compute_sanitizer.LOG, "a file")
    found = only(f"a line of the program\n{HEAD}{READ}{NOTES}")
    assert found.sentence == (
        "Invalid __global__ read of size 4 bytes,"
        " at adversarial::read_at(const float *, long, float *)+0x90 in memory.hpp:19,"
        " by thread (0,0,0) in block (2,0,1), Address 0x7f3aa4a00400 is out of bounds,"
        " and is 1 bytes after the nearest allocation at 0x7f3aa4a00000 of size 1,024 bytes"
    )
    assert found.kernel == "adversarial::read_at(const float *, long, float *)"
    fault = found.fault
    assert fault.text == f"memcheck: {found.sentence}"
    assert (fault.thread, fault.block, fault.is_write) == ((0, 0, 0), (2, 0, 1), False)


@pytest.mark.parametrize(
    ("text", "words", "kernel"),
    [
        (RACE, "and Read access at", "adversarial::hand_over(const float *, float *, bool)"),
        (WARNED, "[4 hazards]", "RAW()"),
        (WARP_RACE, "Potential RAW hazard", "sumKernel(int *, int *)"),
        (UNWRITTEN, "by thread (65,0,0)", "gemm(Problem)"),
        (BARRIER, "Divergent thread(s)", "diverges(float*)"),
    ],
)
def test_each_tool_has_its_words(text: str, words: str, kernel: str) -> None:
    found = only(HEAD + text + NOTES)
    assert words in found.sentence
    assert found.kernel == kernel
    assert not found.is_own_failure


def test_notes_are_no_findings_and_several_findings_stay_apart() -> None:
    assert parse(HEAD + NOTES) == []
    assert [one.lines[0].split()[0] for one in parse(HEAD + READ + BARRIER + UNWRITTEN + NOTES)] == [
        "Invalid",
        "Barrier",
        "Uninitialized",
    ]
    for failure in ("Internal Sanitizer Error: it", "Device not supported. Please", "Warning: Detected overflow of"):
        assert only(f"========= {failure}\n").is_own_failure


def test_the_first_finding_of_a_process_that_died(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert first_of(str(log)) == ""
    log.write_text(HEAD)
    assert first_of(str(log)) == ""
    log.write_text(HEAD + BARRIER + READ)
    assert first_of(str(log)).startswith("Barrier error detected. Divergent thread(s) in block, at diverges(float*)")


IN_A_PROCESS = """
import sys
from ctypes import CDLL
from pathlib import Path
from bitgate.runtime import sanitizer_log
from bitgate.runtime.errors import HipError
path, log = sys.argv[1], Path(sys.argv[2])
sanitizer_log.QUIET_SECONDS = 0.01

def write(text):
    with log.open("a") as file:
        file.write(text)

def told(ask):
    try:
        return [(one.text, one.fault.kind) for one in ask()]
    except HipError as error:
        return str(error)

ledger = sanitizer_log.ledger_of(path, CDLL(path))
print(told(lambda: ledger.since(ledger.mark())))
mark = ledger.mark()
write("========= Barrier error detected\\n=========     at late()+0x10\\n========= Invalid __glo")
print(told(lambda: ledger.since(mark)))
write("bal__ read of size 4 bytes\\n")
print(told(lambda: [ledger.mark()]))
mark = ledger.mark()
write("========= Internal Sanitizer Error: it ran out of memory\\n")
print(told(lambda: ledger.since(mark)))
"""


@pytest.mark.needs("nvcc")
def test_a_finding_is_of_the_launch_in_which_it_was_written(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(HEAD + READ)  # of an earlier process
    library = Builder("nvidia", arch="sm_90").runtime()
    named = {compute_sanitizer.TOOL: "synccheck", compute_sanitizer.LOG: str(log)}
    command = [sys.executable, "-c", IN_A_PROCESS, str(library), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **named})
    before, during, late, failed = done.stdout.splitlines()
    assert before == "[]"
    assert during == "[('synccheck: Barrier error detected, at late()+0x10', 'sanitizer')]"
    assert "outside of the launches of a case: synccheck: Invalid __global__ read of size 4 bytes" in late
    assert "it failed itself: synccheck: Internal Sanitizer Error: it ran out of memory" in failed


def test_exact_memory_has_the_size_that_was_asked_for_and_is_freed_at_once(device: Device) -> None:
    assert device.host is not None
    before = device.host.held_bytes()
    pool = BlockPool(device.hip, exact=True)
    address = pool.take(100)
    assert device.host.held_bytes() - before == 100 < SMALLEST_BLOCK
    pool.give(address, 100)
    assert (device.host.held_bytes(), pool.unused) == (before, 0)
    pool.give(pool.take(0), 0)
