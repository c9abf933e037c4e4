"""ctypes mirrors of kernels/include/bitgate/abi.h. Field names, order and types are those of the header."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Array,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)
from enum import IntEnum
from typing import Any, ClassVar

ABI_VERSION = 1
MAX_SPATIAL = 3
MAX_RANK = 6
MAX_D = 4
MAX_ARGS = 48
NAME_BYTES = 160
REASON_BYTES = 256


def operation_code(name: str) -> int:
    """The value of ``enum bitgate_operation``; ValueError for an operation that the enumeration does not have."""
    # A probe has no code of its own: abi_1.py says what its libraries are asked about instead.
    return ("fwd", "bwd_data", "bwd_weight", "gemm").index("fwd" if name == "probe" else name)


class Status(IntEnum):
    """``enum bitgate_status``."""

    OK = 0
    REFUSED = 1
    BAD_ARGUMENT = 2
    HIP_ERROR = 3
    WORKSPACE = 4


class EventKind(IntEnum):
    """``enum bitgate_event_kind``."""

    KERNEL = 0
    MEMSET = 1
    COPY = 2


class _Abi(Structure):
    """Base of the mirrors; ``_fields_`` of a subclass is its layout."""

    _fields_: ClassVar[Any]


class CTensor(_Abi):
    _fields_: ClassVar[Any] = [
        ("dtype", c_int32),
        ("rank", c_int32),
        ("lengths", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
        ("layout", c_char * 16),
    ]


class CElementwise(_Abi):
    _fields_: ClassVar[Any] = [("kind", c_int32), ("reserved", c_int32), ("alpha", c_double), ("beta", c_double)]


class CProblem(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("operation", c_int32),
        ("ndim", c_int32),
        ("num_d", c_int32),
        ("compute_dtype", c_int32),
        ("split_k", c_int32),
        ("alignment", c_int32),
        ("d_aliases_output", c_int32),
        ("in_", CTensor),
        ("wei", CTensor),
        ("out", CTensor),
        ("d", CTensor * MAX_D),
        ("in_op", CElementwise),
        ("wei_op", CElementwise),
        ("out_op", CElementwise),
        ("stride", c_int64 * MAX_SPATIAL),
        ("dilation", c_int64 * MAX_SPATIAL),
        ("left_pad", c_int64 * MAX_SPATIAL),
        ("right_pad", c_int64 * MAX_SPATIAL),
    ]


class COption(_Abi):
    _fields_: ClassVar[Any] = [("name", c_char_p), ("value", c_char_p)]


class COptions(_Abi):
    _fields_: ClassVar[Any] = [("struct_size", c_uint32), ("count", c_uint32), ("items", POINTER(COption))]


class CBuffers(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("in_", c_void_p),
        ("wei", c_void_p),
        ("out", c_void_p),
        ("d", c_void_p * MAX_D),
        ("workspace", c_void_p),
        ("workspace_bytes", c_int64),
    ]


class CReason(_Abi):
    _fields_: ClassVar[Any] = [("clause", c_char * 64), ("text", c_char * REASON_BYTES)]


class CInstanceInfo(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("operation", c_int32),
        ("family", c_char * 64),
        ("name", c_char * 96),
        ("dtypes", c_char * 64),
        ("layouts", c_char * 128),
        ("accumulator", c_char * 16),
        ("tile_m", c_int32),
        ("tile_n", c_int32),
        ("tile_k", c_int32),
        ("vector_a", c_int32),
        ("vector_b", c_int32),
        ("vector_c", c_int32),
        ("block_size", c_int32),
        ("wave_size", c_int32),
        ("frag_m", c_int32),
        ("frag_n", c_int32),
        ("frag_k", c_int32),
        ("lds_bytes", c_int64),
    ]


class COptionInfo(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char * 64),
        ("values", c_char * 128),
        ("production", c_char * 32),
        ("help", c_char * REASON_BYTES),
    ]


class CSubGemm(_Abi):
    _fields_: ClassVar[Any] = [
        ("index", c_int32),
        ("bucket", c_int32),
        ("launched", c_int32),
        ("main_loop", c_int32),
        ("tilde", c_int32 * MAX_SPATIAL),
        ("taps", c_int32 * MAX_SPATIAL),
        ("slice_begin", c_int64 * MAX_SPATIAL),
        ("slice_length", c_int64 * MAX_SPATIAL),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("first_block", c_int64),
        ("blocks", c_int64),
    ]


class CLaunchArg(_Abi):
    _fields_: ClassVar[Any] = [("offset", c_uint32), ("size", c_uint32), ("kind", c_uint32)]


class CLaunch(_Abi):
    _fields_: ClassVar[Any] = [
        ("kind", c_int32),
        ("wave_size", c_int32),
        ("name", c_char * NAME_BYTES),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("lds_bytes", c_uint64),
        ("arg_count", c_uint32),
        ("kernarg_bytes", c_uint32),
        ("kernarg_offset", c_uint64),
        ("args", CLaunchArg * MAX_ARGS),
        ("address", c_uint64),
        ("source", c_uint64),
        ("bytes", c_uint64),
        ("function", c_uint64),
        ("launcher", c_uint64),  # a function pointer
    ]


class CDispatchRecord(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("gemms_count", c_int32),
        ("buckets", c_int32),
        ("launches", c_int32),
        ("split_k", c_int32),
        ("split_n", c_int32),
        ("zero_fill", c_int32),
        ("main_loop", c_int32),
        ("workspace_bytes", c_int64),
        ("path", c_char * 64),
        ("instance", c_char * 96),
        ("sub_gemm_capacity", c_uint32),
        ("sub_gemm_count", c_uint32),
        ("sub_gemms", POINTER(CSubGemm)),
        ("event_capacity", c_uint32),
        ("event_count", c_uint32),
        ("events", POINTER(CLaunch)),
        ("kernarg_capacity", c_uint64),
        ("kernarg_count", c_uint64),
        ("kernargs", POINTER(c_uint8)),
        ("reason", CReason),
        ("hip_error", c_int32),
        ("reserved2", c_int32),
    ]


class CAbiInfo(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("version", c_uint32),
        ("sizeof_tensor", c_uint32),
        ("sizeof_problem", c_uint32),
        ("sizeof_options", c_uint32),
        ("sizeof_buffers", c_uint32),
        ("sizeof_reason", c_uint32),
        ("sizeof_instance_info", c_uint32),
        ("sizeof_option_info", c_uint32),
        ("sizeof_sub_gemm", c_uint32),
        ("sizeof_launch", c_uint32),
        ("sizeof_dispatch_record", c_uint32),
        ("family", c_char * 64),
        ("target", c_char * 32),
    ]


SIZES: dict[str, int] = {
    f"sizeof_{name}": sizeof(structure)
    for name, structure in (
        ("tensor", CTensor),
        ("problem", CProblem),
        ("options", COptions),
        ("buffers", CBuffers),
        ("reason", CReason),
        ("instance_info", CInstanceInfo),
        ("option_info", COptionInfo),
        ("sub_gemm", CSubGemm),
        ("launch", CLaunch),
        ("dispatch_record", CDispatchRecord),
    )
}
"""The size of each structure as this side lays it out, by the field of ``bitgate_abi_info`` that states the other's."""

EXPORTS: dict[str, tuple[Any, list[Any]]] = {
    "bitgate_abi": (c_int32, [POINTER(CAbiInfo)]),
    "bitgate_list_instances": (c_int32, [POINTER(CInstanceInfo), c_int32]),
    "bitgate_list_options": (c_int32, [POINTER(COptionInfo), c_int32]),
    "bitgate_is_supported": (c_int32, [POINTER(CProblem), c_char_p, POINTER(COptions), POINTER(CReason)]),
    "bitgate_workspace_size": (c_int64, [POINTER(CProblem), c_char_p, POINTER(COptions), POINTER(CReason)]),
    "bitgate_run": (
        c_int32,
        [POINTER(CProblem), c_char_p, POINTER(COptions), POINTER(CBuffers), POINTER(CDispatchRecord), c_void_p],
    ),
}
"""What a kernel library exports: result type and argument types."""


def sized(structure: type[_Abi]) -> Any:
    """A zeroed structure with ``struct_size`` set, as every call expects."""
    value = structure()
    value.struct_size = sizeof(structure)
    return value


def sized_array(structure: type[_Abi], count: int) -> Array[Any]:
    """``count`` zeroed structures with ``struct_size`` set."""
    values = (structure * count)()
    for value in values:
        value.struct_size = sizeof(structure)
    return values
