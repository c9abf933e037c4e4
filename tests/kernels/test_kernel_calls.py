"""The C ABI of our libraries, called wrongly: each call comes back with the clause and a sentence that lists what is
known. Below the loader, which would catch most of these first."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import CDLL, POINTER, byref, c_int64, c_uint8, c_void_p, cast, sizeof
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from bitgate.kernel.abi import (
    EXPORTS,
    AbiStatus,
    CBuffers,
    CDispatchRecord,
    CLaunch,
    COption,
    COptions,
    CProblem,
    CReason,
    CValue,
    Value,
    sized,
    values_of,
)
from bitgate.kernel.arguments import c_buffers, c_options
from bitgate.kernel.c_problem import CProblemMemory
from bitgate.model import Tensor, parse_case_id

PROBLEM = parse_case_id("bwd_data_f32_nhwgc_n1k4c4_y3_h6x6_s2_p1")
INSTANCE = b"f32_32x32x16_a1b1c1"


@dataclass(frozen=True)
class Stated:
    """A problem with anything in it, right or wrong."""

    operation: str
    tensors: Mapping[str, Tensor]
    attributes: Mapping[str, Value]
    outputs: tuple[str, ...] = ("in",)
    parts: int = 1


def stated(
    *, operation: str = "bwd_data", tensors: Mapping[str, Tensor | None] | None = None, **attributes: Value | None
) -> CProblemMemory:
    """PROBLEM with other tensors and attributes; None leaves one out."""
    roles = {**PROBLEM.tensors, **(tensors or {})}
    values = {**PROBLEM.attributes, **attributes}
    return CProblemMemory(
        Stated(
            operation,
            {role: tensor for role, tensor in roles.items() if tensor is not None},
            {name: value for name, value in values.items() if value is not None},
        ),
        16,
    )


SOUND = stated()


@pytest.fixture(scope="module")
def raw(bench) -> CDLL:
    library = CDLL(str(bench.library("grouped_bwd_data").path))
    for name, (result, arguments) in EXPORTS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def supported(
    raw: CDLL, *, problem: CProblemMemory = SOUND, instance: bytes = INSTANCE, options: Any = None
) -> tuple[int, str, str]:
    reason = CReason()
    status = raw.bitgate_is_supported(problem.reference, instance, options, byref(reason))
    return status, reason.clause.decode(), reason.text.decode()


def options_of(items: Mapping[str, str]) -> COptions:
    return c_options(tuple(items.items()))


def test_good_calls(raw):
    assert supported(raw) == (AbiStatus.OK, "", "")
    assert supported(raw, options=options_of({"bucket_size": "7", "flat_path_gate": "off"}))[0] == AbiStatus.OK
    assert raw.bitgate_workspace_size(SOUND.reference, INSTANCE, None, None) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"bucket": "1"}, "unknown option 'bucket': known are flat_path_gate, bucket_size, split_n_bytes"),
        ({"flat_path_gate": "on"}, "option flat_path_gate has no value 'on': known are gemms_count,launch_each,off"),
        ({"bucket_size": "33"}, "option bucket_size = '33' is not an integer of 1..32"),
        ({"bucket_size": "0"}, "option bucket_size = '0' is not an integer of 1..32"),
        ({"bucket_size": "2x"}, "option bucket_size = '2x' is not an integer of 1..32"),
    ],
)
def test_unknown_options_and_values(raw, options, text):
    assert supported(raw, options=options_of(options)) == (AbiStatus.BAD_ARGUMENT, "options", text)


def test_unknown_instance_lists_the_known_ones(raw):
    status, clause, text = supported(raw, instance=b"f32_big")
    assert (status, clause) == (AbiStatus.BAD_ARGUMENT, "instance")
    assert text.startswith("grouped_bwd_data has no instance 'f32_big': known are ")
    assert "_32x32x" in text


def flat(rank: int) -> Tensor:
    return replace(PROBLEM.tensors["in"], lengths=(1,) * rank, strides=(1,) * rank)


LONGER = replace(PROBLEM.tensors["out"], lengths=(1, 1, 4, 4, 3))


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (stated(tensors={"wei": None}), "there is no tensor wei"),
        (stated(tensors={"in": flat(3)}), "in has rank 3: a convolution needs 4 to 6"),
        (stated(tensors={"in": flat(7)}), "in has rank 7: a convolution needs 4 to 6"),
        (stated(tensors={"in": flat(6)}), "stride has 2 values, 3 are needed"),
        (stated(stride=(2,)), "stride has 1 values, 2 are needed"),
        (stated(stride=2), "attribute stride is not a list of integers"),
        (stated(split_k=1.0), "attribute split_k is not an integer"),
        (stated(stride=(0, 1)), "axis 0: stride 0, dilation 1 and left pad 1 must be 1, 1 and 0 or more"),
        (stated(tensors={"out": LONGER}), "out has length 4 in dimension 3, the other tensors say 3"),
    ],
)
def test_what_contradicts_itself(raw, problem, text):
    assert supported(raw, problem=problem) == (AbiStatus.BAD_ARGUMENT, "problem", text)


def test_a_size_of_another_version(raw):
    other = CProblem(struct_size=8)
    reason = CReason()
    status = raw.bitgate_is_supported(byref(other), INSTANCE, None, byref(reason))
    assert (status, reason.clause) == (AbiStatus.BAD_ARGUMENT, b"struct_size")


def test_the_result_is_what_is_written(raw):
    reads_all = CProblemMemory(Stated("bwd_data", PROBLEM.tensors, PROBLEM.attributes, outputs=("out",)), 16)
    assert supported(raw, problem=reads_all)[1:] == ("problem", "in is not written, and the result")


@pytest.mark.parametrize(
    ("problem", "clause", "named"),
    [
        (stated(operation="softmax"), "operation", "computes bwd_data, the problem is softmax"),
        (stated(tensors={"mask": PROBLEM.tensors["out"]}), "unknown_role", "bwd_data has no tensor 'mask' here"),
        (stated(causal=1), "unknown_attribute", "bwd_data has no attribute 'causal' here"),
        (stated(op="gelu"), "op", "element-wise operation 'gelu' (op) is unknown"),
        (stated(compute="f4"), "dtypes", "compute type 'f4' is unknown"),
        (stated(out_compute="f4"), "dtypes", "out_compute type 'f4' is unknown"),
        (stated(wei_compute="f8ocp"), "dtypes", "wei_compute is f8ocp, this instance takes f32"),
    ],
)
def test_what_the_library_does_not_know_is_refused_by_name(raw, problem, clause, named):
    """Never ignored: it would not be computed."""
    status, given, text = supported(raw, problem=problem)
    assert (status, given) == (AbiStatus.REFUSED, clause)
    assert named in text


def test_attributes_that_are_not_stated_have_their_default(raw):
    """3x3 outputs of stride 2 and pad 1 on either side: without pads there are 2x2."""
    out = replace(PROBLEM.tensors["out"], lengths=(1, 1, 4, 2, 2))
    assert supported(raw, problem=stated(left_pad=None, right_pad=None, tensors={"out": out}))[0] == AbiStatus.OK
    assert (
        supported(raw, problem=stated(op="pass", alpha=1.0, split_k=1, compute="f32", wei_compute="f32"))[0]
        == AbiStatus.OK
    )


@pytest.mark.parametrize(("d", "op", "clause"), [(True, "pass", "num_d"), (False, "nd1", "num_d")])
def test_operation_and_d_tensors_go_together(raw, d, op, clause):
    tensors = {"d0": PROBLEM.tensors["in"]} if d else {}
    assert supported(raw, problem=stated(tensors=tensors, op=op))[:2] == (AbiStatus.REFUSED, clause)


def test_operand_operations_are_refused(raw):
    assert supported(raw, problem=stated(wei_op="scale"))[:2] == (AbiStatus.REFUSED, "op")


def test_null_arguments(raw):
    assert raw.bitgate_is_supported(None, INSTANCE, None, None) == AbiStatus.BAD_ARGUMENT
    assert raw.bitgate_is_supported(SOUND.reference, None, None, None) == AbiStatus.BAD_ARGUMENT
    assert raw.bitgate_run(SOUND.reference, INSTANCE, None, None, None, None) == AbiStatus.BAD_ARGUMENT
    record = sized(CDispatchRecord)
    assert raw.bitgate_run(SOUND.reference, INSTANCE, None, None, byref(record), None) == AbiStatus.BAD_ARGUMENT
    assert record.reason.clause == b"struct_size"
    buffers = c_buffers(SOUND.roles, {"in": 16, "wei": 16}, (0, 0))
    status = raw.bitgate_run(SOUND.reference, INSTANCE, None, byref(buffers), byref(record), None)
    assert (status, record.reason.text) == (AbiStatus.BAD_ARGUMENT, b"buffer out is null")
    two = CBuffers(struct_size=sizeof(CBuffers), tensor_count=2, tensors=(c_void_p * 2)(16, 16))
    status = raw.bitgate_run(SOUND.reference, INSTANCE, None, byref(two), byref(record), None)
    assert record.reason.text == b"2 buffers are given, the problem has 3 tensors"
    empty = COptions(struct_size=sizeof(COptions), count=1, items=POINTER(COption)())
    assert supported(raw, options=empty)[:2] == (AbiStatus.BAD_ARGUMENT, "options")


def test_record_is_cut_at_its_capacity_and_still_counts(raw, bench):
    """Four sub-GEMMs, a memset and a launch, into room for two facts, one part, one event and no kernel arguments."""
    names = ("in", "wei", "out")
    buffers = [bench.device.alloc(PROBLEM.tensors[name].bytes, name=name) for name in names]
    event = (CLaunch * 1)()
    record = sized(CDispatchRecord)
    record.event_capacity, record.events = 1, event
    facts, parts = (CValue * 2)(), (c_int64 * 30)()
    record.fact_capacity, record.facts = 2, facts
    record.part_capacity, record.parts = 30, parts
    record.kernargs = cast((c_uint8 * 1)(), POINTER(c_uint8))
    pointers = {name: buffer.pointer for name, buffer in zip(names, buffers, strict=True)}
    status = raw.bitgate_run(
        SOUND.reference, INSTANCE, None, byref(c_buffers(SOUND.roles, pointers, (0, 0))), byref(record), None
    )
    bench.device.synchronize()
    assert status == AbiStatus.OK
    assert (record.event_count, record.part_count, event[0].name) == (2, 4, b"zero_fill")
    assert record.fact_count > 2
    assert values_of(facts, 2) == {"split_k": 1, "split_n": 1}
    columns = record.part_columns.decode().split(",")
    assert parts[columns.index("k")] == 4 * 2 * 2  # of the first: K times its taps
    assert set(parts[len(columns) :]) == {0}  # the second had no room
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
