"""The C ABI of our libraries, called wrongly: each call comes back with the clause and a sentence that lists what is
known. Below the loader, which would catch most of these first."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import CDLL, POINTER, byref, c_uint8, cast, sizeof
from typing import Any

import numpy as np
import pytest

from bitgate.kernel.abi import EXPORTS, CBuffers, CDispatchRecord, CLaunch, COption, COptions, CReason, Status, sized
from bitgate.kernel.arguments import c_buffers, c_options, c_problem
from bitgate.operation import parse_case_id

PROBLEM = parse_case_id("bwd_data_f32_nhwgc_n1k4c4_y3_h6x6_s2_p1")
INSTANCE = b"f32_32x32x16_a1b1c1"


@pytest.fixture(scope="module")
def raw(bench) -> CDLL:
    library = CDLL(str(bench.library("grouped_bwd_data").path))
    for name, (result, arguments) in EXPORTS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def supported(
    raw: CDLL, *, problem: Any = None, instance: bytes = INSTANCE, options: Any = None
) -> tuple[int, str, str]:
    reason = CReason()
    problem = c_problem(PROBLEM) if problem is None else problem
    status = raw.bitgate_is_supported(byref(problem), instance, options, byref(reason))
    return status, reason.clause.decode(), reason.text.decode()


def options_of(items: Mapping[str, str]) -> COptions:
    return c_options(tuple(items.items()))


def test_good_calls(raw):
    assert supported(raw) == (Status.OK, "", "")
    assert supported(raw, options=options_of({"bucket_size": "7", "flat_path_gate": "off"}))[0] == Status.OK
    assert raw.bitgate_workspace_size(byref(c_problem(PROBLEM)), INSTANCE, None, None) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"bucket": "1"}, "unknown option 'bucket': known are flat_path_gate, bucket_size, split_n_bytes"),
        ({"flat_path_gate": "on"}, "option flat_path_gate has no value 'on': known are gemms_count,off"),
        ({"bucket_size": "33"}, "option bucket_size = '33' is not an integer of 1..32"),
        ({"bucket_size": "0"}, "option bucket_size = '0' is not an integer of 1..32"),
        ({"bucket_size": "2x"}, "option bucket_size = '2x' is not an integer of 1..32"),
    ],
)
def test_unknown_options_and_values(raw, options, text):
    assert supported(raw, options=options_of(options)) == (Status.BAD_ARGUMENT, "options", text)


def test_unknown_instance_lists_the_known_ones(raw):
    status, clause, text = supported(raw, instance=b"f32_big")
    assert (status, clause) == (Status.BAD_ARGUMENT, "instance")
    assert text.startswith("grouped_bwd_data has no instance 'f32_big': known are ")
    assert "_32x32x" in text


def copied_problem(**changes: int) -> Any:
    problem = type(c_problem(PROBLEM)).from_buffer_copy(c_problem(PROBLEM))
    for name, value in changes.items():
        setattr(problem, name, value)
    return problem


@pytest.mark.parametrize(
    ("problem", "clause"),
    [
        (copied_problem(struct_size=8), "struct_size"),
        (copied_problem(ndim=4), "problem"),
        (copied_problem(ndim=0), "problem"),
        (copied_problem(ndim=3), "problem"),
    ],
)
def test_malformed_problems(raw, problem, clause):
    status, given, text = supported(raw, problem=problem)
    assert (status, given) == (Status.BAD_ARGUMENT, clause)
    assert text


def test_tensors_that_contradict_each_other(raw):
    problem = copied_problem()
    problem.out.lengths[3] = 4
    assert supported(raw, problem=problem) == (
        Status.BAD_ARGUMENT,
        "problem",
        "out has length 4 in dimension 3, the other tensors say 3",
    )


@pytest.mark.parametrize(("num_d", "kind", "clause"), [(1, 0, "num_d"), (0, 3, "num_d"), (0, 17, "op")])
def test_operation_and_d_tensors_go_together(raw, num_d, kind, clause):
    problem = copied_problem(num_d=num_d)
    problem.d[0] = problem.in_
    problem.out_op.kind = kind
    assert supported(raw, problem=problem)[:2] == (Status.REFUSED, clause)


def test_operand_operations_are_refused(raw):
    problem = copied_problem()
    problem.wei_op.kind = 1
    assert supported(raw, problem=problem)[:2] == (Status.REFUSED, "op")


def test_null_arguments(raw):
    assert raw.bitgate_is_supported(None, INSTANCE, None, None) == Status.BAD_ARGUMENT
    assert raw.bitgate_is_supported(byref(c_problem(PROBLEM)), None, None, None) == Status.BAD_ARGUMENT
    assert raw.bitgate_run(byref(c_problem(PROBLEM)), INSTANCE, None, None, None, None) == Status.BAD_ARGUMENT
    record = sized(CDispatchRecord)
    assert raw.bitgate_run(byref(c_problem(PROBLEM)), INSTANCE, None, None, byref(record), None) == Status.BAD_ARGUMENT
    assert record.reason.clause == b"struct_size"
    buffers = CBuffers(struct_size=sizeof(CBuffers), in_=16, wei=16)
    status = raw.bitgate_run(byref(c_problem(PROBLEM)), INSTANCE, None, byref(buffers), byref(record), None)
    assert (status, record.reason.text) == (Status.BAD_ARGUMENT, b"buffer out is null")
    empty = COptions(struct_size=sizeof(COptions), count=1, items=cast(None, POINTER(COption)))
    assert supported(raw, options=empty)[:2] == (Status.BAD_ARGUMENT, "options")


def test_record_is_cut_at_its_capacity_and_still_counts(raw, bench):
    """Four sub-GEMMs, a memset and a launch, into room for one event and no kernel arguments."""
    names = ("in", "wei", "out")
    buffers = [bench.device.alloc(PROBLEM.tensors[name].bytes, name=name) for name in names]
    event = (CLaunch * 1)()
    record = sized(CDispatchRecord)
    record.event_capacity, record.events = 1, event
    record.kernargs = cast((c_uint8 * 1)(), POINTER(c_uint8))
    pointers = {name: buffer.pointer for name, buffer in zip(names, buffers, strict=True)}
    status = raw.bitgate_run(
        byref(c_problem(PROBLEM)), INSTANCE, None, byref(c_buffers(pointers, (0, 0))), byref(record), None
    )
    bench.device.synchronize()
    assert status == Status.OK
    assert (record.event_count, record.sub_gemm_count, event[0].name) == (2, 4, b"zero_fill")
    assert (event[0].address, event[0].bytes) == (pointers["in"], PROBLEM.tensors["in"].bytes)
    assert record.kernarg_count > 1000
    for buffer in buffers:
        buffer.free()


def test_launches_are_recorded_with_their_arguments(bench, integers):
    """The bytes of the pointer arguments are the buffers' addresses: what a capsule relocates."""
    outcome = bench.run(PROBLEM, integers(PROBLEM), "grouped_bwd_data", INSTANCE.decode())
    fill, launch = outcome.record.events
    assert (fill.name, launch.name) == ("zero_fill", "kernel_grouped")
    assert launch.block == (64, 1, 1)
    assert launch.wave_size == 64
    offset, size, is_pointer = launch.args[3]
    assert is_pointer
    assert int(np.frombuffer(launch.kernargs[offset : offset + size], np.uint64)[0]) == fill.address
    assert len(launch.kernargs) == sum(launch.args[-1][:2]) <= 4096
