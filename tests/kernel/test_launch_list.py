"""Launches of a user's device code, checked against the kernels of its library, and as the integers that it reads."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

from bitgate.kernel import BufferOffset, ClearBuffer, KernelLaunch
from bitgate.kernel.launch_list import LaunchMistake, kernels_of, launch_list
from bitgate.kernel.source import plan_as_json
from bitgate.model import parse_case_id

KERNELS = kernels_of(
    "scale<float>\ti4@4,f4@4,c:f4@4,p:f4@4\nraw\tp:v0@0,s24@8,u1@1,b1@1\nempty\t\nvectors\tc:s16@16,c:p:f4@4\n"
    f"many\t{','.join(['i4@4'] * 49)}\n"
)
GEMM = parse_case_id("gemm_f32_m3n4k5")
LDS = 65536


def listed(*steps: Any, workspace: int = 0, problem: Any = GEMM) -> tuple[int, ...]:
    return launch_list(plan_as_json(workspace, steps), KERNELS, problem, LDS)


def scale(*args: Any, **other: Any) -> KernelLaunch:
    return KernelLaunch("scale<float>", **{"grid": 2, "block": 64, "args": args or (7, 0.5, "in", "out"), **other})


def test_a_launch_becomes_integers() -> None:
    half = struct.unpack("<i", struct.pack("<f", 0.5))[0]
    numbers, pointers = (0, 4, 7, 0, 4, half), (1, 0, 0, 1, 2, 0)
    assert listed(scale(), workspace=8) == (8, 1, 0, 2, 1, 1, 64, 1, 1, 0, 4, *numbers, *pointers)


def test_a_struct_a_flag_and_null_are_passed() -> None:
    data = struct.pack("<3q", 1, -2, 3)
    launch = KernelLaunch("raw", (1, 2, 3), (4, 5), (None, data, 255, True), lds=16)
    assert listed(launch)[2:] == (1, 1, 2, 3, 4, 5, 1, 16, 4, 1, -2, 0, 0, 24, 1, -2, 3, 0, 1, 255, 0, 1, 1)


def test_offsets_are_in_elements_and_in_bytes_of_the_workspace() -> None:
    launch = scale(7, 1, BufferOffset("in", 3), BufferOffset("workspace", 32))
    assert listed(launch, workspace=64)[-6:] == (1, 0, 12, 1, -1, 32)


def test_buffers_are_cleared_before_a_launch() -> None:
    steps = ClearBuffer("out"), ClearBuffer("workspace")
    assert listed(*steps, workspace=48) == (48, 2, -1, 2, 3 * 4 * 4, -1, -1, 48)


def test_an_absent_workspace_is_a_null_pointer() -> None:
    assert listed(scale(7, 1, "in", "workspace"))[-3:] == (1, -2, 0)


def test_a_vector_type_and_a_table_of_pointers_take_any_buffer() -> None:
    assert listed(KernelLaunch("vectors", 1, 1, ("in", "out")))[-6:] == (1, 0, 0, 1, 2, 0)


MISTAKES = {
    "too few": (scale(7, 0.5, "in"), "scale<float> takes 4 arguments (int, float, const float*, float*), 3 are given"),
    "no kernel": (KernelLaunch("scale", 1, 1), "DeviceSource.kernels lists no 'scale': did you mean 'scale<float>'?"),
    "no grid": (scale(grid=0), "grid is [0, 1, 1]: give 1 to (2147483647, 65535, 65535) blocks: where there is"),
    "high grid": (scale(grid=(1, 65536)), "grid is [1, 65536, 1]"),
    "large block": (scale(block=(32, 33)), "block is [32, 33, 1]: give 1 to 1024 threads in all"),
    "much LDS": (scale(lds=LDS + 1), "lds is 65537 bytes: a block has at most 65536"),
    "a role as a number": (scale("in", 1, "in", "out"), "argument 1 is int, the buffer 'in' is a pointer"),
    "a number as a role": (
        scale(7, 1, 8, "out"),
        "argument 3 is const float*, a number is given: name a role (in, wei",
    ),
    "no role": (scale(7, 1, "x", "out"), "argument 3: the problem has no 'x': its roles are in, wei, out, workspace"),
    "too large": (scale(1 << 31, 1, "in", "out"), "argument 1 is int, which does not hold 2147483648"),
    "a fraction": (scale(2.5, 1, "in", "out"), "argument 1 is int, 2.5 is no integer: round it"),
    "a flag of 2": (KernelLaunch("raw", 1, 1, (None, b"0" * 24, 0, 2)), "argument 4 is bool, which does not hold 2"),
    "a struct": (KernelLaunch("raw", 1, 1, (None, 5, 0, 1)), "argument 2 is a struct of 24 bytes: give its bytes"),
    "its bytes": (KernelLaunch("raw", 1, 1, (None, b"0", 0, 1)), "of 24 bytes: 1 are given"),
    "outside": (scale(7, 1, BufferOffset("in", 16), "out"), "offset 16 is outside of 'in', which has 15 elements"),
    "many": (KernelLaunch("many", 1, 1, (0,) * 49), "many has 49 parameters: at most 48 are recorded"),
    "no output": (ClearBuffer("in"), "'in' is no output of the problem (out)"),
    "no workspace": (ClearBuffer("workspace"), "there is no workspace: state its bytes in DeviceSource.workspace"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_names_the_line_that_stated_it(mistake: str) -> None:
    step, said = MISTAKES[mistake]
    with pytest.raises(LaunchMistake, match=re.escape(said)) as found:
        listed(step)
    assert re.match(rf"{re.escape(__file__.rpartition('/')[2])}:\d+: ", str(found.value))


def test_a_pointer_to_elements_of_another_size_is_refused() -> None:
    said = "const float*, whose elements have 4 bytes: 'in' is of f16, of 2"
    with pytest.raises(LaunchMistake, match=re.escape(said)):
        listed(scale(), problem=parse_case_id("gemm_f16_m3n4k5"))


def test_an_output_with_padding_is_not_cleared() -> None:
    with pytest.raises(LaunchMistake, match="'out' has padding, which stays as it is: clear it in a kernel"):
        listed(ClearBuffer("out"), problem=parse_case_id("gemm_f32_m3n4k5_gap"))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "launches returned None: return a list of KernelLaunch, or yield them"),
        ([5], "launches states 5: state a KernelLaunch or a ClearBuffer"),
        ([scale(grid="2")], "grid is '2': give one to three integers"),
        ([scale(grid=())], "grid is (): give one to three integers"),
        ([scale(block=2.0)], "block is 2.0: give one to three integers"),
        ([scale(args="in")], "args is 'in': give a tuple"),
        ([scale(5j)], "argument 1 is 5j: give a role, a number, bytes, BufferOffset or None"),
        ([scale(lds=None)], "lds is None: give an integer"),
        ([KernelLaunch(len, 1, 1)], "kernel is <built-in function len>: give a text"),  # type: ignore[arg-type]
        ([scale(BufferOffset("in", "1"))], "elements is '1': give an integer"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_launch_is_refused(found: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        plan_as_json(0, found)


@pytest.mark.parametrize("size", [-1, 2.0, None, True, 1 << 63])
def test_a_workspace_is_a_number_of_bytes(size: Any) -> None:
    with pytest.raises(TypeError, match="return a number of bytes"):
        plan_as_json(size, [])


def test_launches_without_end_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 4096 launches for one problem"):
        plan_as_json(0, iter(scale, None))
