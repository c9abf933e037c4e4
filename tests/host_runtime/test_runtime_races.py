"""Kernels compiled with the callbacks of -fsanitize=thread: a race is named with both threads and both lines."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import KERNELS, LAUNCH_FAILURE, SUCCESS, Host

SOURCE = KERNELS / "races.hip.cpp"

IN_A_BLOCK = (
    "lds_without_barrier",
    "shared_without_barrier",
    "dynamic_without_barrier",
    "lanes_without_meeting",
    "lanes_that_meet_without_one",
    "reuse_without_barrier",
)
BETWEEN_BLOCKS = (
    "blocks_write_one_cell",
    "block_reads_what_another_writes",
    "block_writes_what_another_reads",
    "write_beside_atomics",
    "read_beside_atomics",
    "last_block_sums_without_fence",
    "one_sets_another_flag",
    "atomics_of_block_scope",
    "scoped_atomics_across_blocks",
)
HEALTHY = (
    "blocks_take_a_lock",
    "last_block_by_a_variable",
    "lds_with_barrier",
    "lanes_that_meet",
    "atomics",
    "compare_and_swap",
    "bytes_side_by_side",
    "last_block_sums",
    "all_set_a_flag",
    "all_set_a_flag_in_lds",
    "atomics_of_block_scope_in_a_block",
)


@pytest.fixture
def launch(host: Host, build_kernels: Callable[..., object]) -> Callable[[str, int], int]:
    """Launches a kernel of the file and waits."""
    library = ctypes.CDLL(str(build_kernels("races", race=True)))

    def run(kernel: str, wave: int = 32) -> int:
        x = host.array(np.zeros(512, np.int32), "x")
        getattr(library, f"launch_{kernel}")(x.pointer, wave)
        return host.synchronize()

    return run


def marked(kernel: str) -> set[int]:
    """The lines of the source that say they race."""
    return {n for n, line in enumerate(SOURCE.read_text().splitlines(), 1) if f"// races: {kernel}" in line}


@pytest.mark.parametrize("schedule", ["forward", "reverse", "lockstep", "random:3"])
@pytest.mark.parametrize("kernel", [*IN_A_BLOCK, *BETWEEN_BLOCKS])
def test_a_race_is_found_under_every_schedule(host: Host, launch, kernel: str, schedule: str) -> None:
    host.settings.set_schedule(schedule)
    assert launch(kernel) == LAUNCH_FAILURE
    fault = host.fault()
    assert fault.kind == "race"
    assert fault.kernel == kernel
    assert ("nothing that orders blocks" in fault.text) == (kernel in BETWEEN_BLOCKS)


@pytest.mark.parametrize("kernel", [*IN_A_BLOCK, *BETWEEN_BLOCKS])
def test_both_lines_and_both_threads_are_named(host: Host, launch, kernel: str) -> None:
    launch(kernel)
    text = host.fault().text
    assert {int(line) for line in re.findall(r"races\.hip\.cpp:(\d+)", text)} == marked(kernel), text
    first, second = re.findall(r"block \((\d+),0,0\), thread \((\d+),0,0\)", text)
    assert first != second
    assert (first[0] != second[0]) == (kernel in BETWEEN_BLOCKS)


def test_the_sentence(host: Host, launch) -> None:
    launch("lds_without_barrier")
    write, read = sorted(marked("lds_without_barrier"))
    place = "tests/host_runtime/kernels/races.hip.cpp"
    assert host.fault().text == (
        "kernel lds_without_barrier, block (0,0,0), thread (64,0,0): race on LDS, offset 256:"
        f" its write of 4 bytes at {place}:{write} and the read by block (0,0,0), thread (0,0,0) at {place}:{read}"
        " have no barrier between them"
    )


def test_a_buffer_is_named(host: Host, launch) -> None:
    launch("blocks_write_one_cell")
    assert "race on x, offset 20: its write of 4 bytes at " in host.fault().text


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("schedule", ["forward", "reverse", "lockstep", "random:1", "random:2"])
@pytest.mark.parametrize("kernel", HEALTHY)
def test_a_kernel_that_does_not_race_is_left_alone(host: Host, launch, kernel: str, schedule: str, wave: int) -> None:
    host.settings.set_schedule(schedule)
    assert launch(kernel, wave) == SUCCESS, host.text()


def test_what_one_launch_wrote_the_next_may_read(host: Host, build_kernels) -> None:
    library = ctypes.CDLL(str(build_kernels("races", race=True)))
    x = host.array(np.zeros(512, np.int32))
    for kernel in ("atomics", "lds_with_barrier", "bytes_side_by_side", "atomics"):
        getattr(library, f"launch_{kernel}")(x.pointer, 32)
    assert host.synchronize() == SUCCESS


def test_both_flavours_live_side_by_side(host: Host, launch, build_kernels) -> None:
    """The plain library of the same source reports nothing, and is another file."""
    assert build_kernels("races") != build_kernels("races", race=True)
    plain = ctypes.CDLL(str(build_kernels("races")))
    assert launch("blocks_write_one_cell") == LAUNCH_FAILURE
    x = host.array(np.zeros(512, np.int32))
    plain.launch_blocks_write_one_cell(x.pointer, 32)
    assert host.synchronize() == SUCCESS
