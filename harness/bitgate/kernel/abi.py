"""ctypes mirrors of kernels/include/bitgate/abi.h. Field names, order and types are those of the header."""

from __future__ import annotations

import struct
from ctypes import (
    CDLL,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
    string_at,
)
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, TypeAlias

ABI_VERSION = 2
MAX_RANK = 8
MAX_ARGS = 48
NAME_BYTES = 160
REASON_BYTES = 256
MOST_INTEGERS = 4096
"""Most integers that are read of a library's value, which may state any count."""
MOST_TEXT = 1 << 16
"""Most bytes that are read of a library's text, which may have no end."""


Value: TypeAlias = "int | float | str | tuple[int, ...]"
"""The value of a problem's attribute, or of a fact about an instance or a launch."""


class AbiStatus(IntEnum):
    """The values of ``enum bitgate_status``."""

    OK = 0
    REFUSED = 1
    BAD_ARGUMENT = 2
    HIP_ERROR = 3
    WORKSPACE = 4


class EventKind(IntEnum):
    """The values of ``enum bitgate_event_kind``."""

    KERNEL = 0
    MEMSET = 1
    COPY = 2


class ValueKind(IntEnum):
    """The values of ``enum bitgate_value_kind``."""

    INTEGER = 0
    REAL = 1
    TEXT = 2
    INTEGERS = 3


_INTEGER, _TEXT, _INTEGERS = (int(kind) for kind in (ValueKind.INTEGER, ValueKind.TEXT, ValueKind.INTEGERS))


class _Abi(Structure):
    """Base of the mirrors; ``_fields_`` of a subclass is its layout."""

    _fields_: ClassVar[Any]


class CValue(_Abi):
    _fields_: ClassVar[Any] = [
        ("name", c_char_p),
        ("kind", c_int32),
        ("count", c_uint32),
        ("integer", c_int64),
        ("real", c_double),
        ("text", c_char_p),
        ("integers", POINTER(c_int64)),
    ]


class CTensor(_Abi):
    _fields_: ClassVar[Any] = [
        ("role", c_char_p),
        ("access", c_int32),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("reserved", c_int32),
        ("lengths", c_int64 * MAX_RANK),
        ("strides", c_int64 * MAX_RANK),
        ("layout", c_char_p),
    ]


class CProblem(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("alignment", c_int32),
        ("operation", c_char_p),
        ("tensor_count", c_uint32),
        ("attribute_count", c_uint32),
        ("tensors", POINTER(CTensor)),
        ("attributes", POINTER(CValue)),
    ]


class COption(_Abi):
    _fields_: ClassVar[Any] = [("name", c_char_p), ("value", c_char_p)]


class COptions(_Abi):
    _fields_: ClassVar[Any] = [("struct_size", c_uint32), ("count", c_uint32), ("items", POINTER(COption))]


class CBuffers(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("tensor_count", c_uint32),
        ("tensors", POINTER(c_void_p)),
        ("workspace", c_void_p),
        ("workspace_bytes", c_int64),
    ]


class CReason(_Abi):
    _fields_: ClassVar[Any] = [("clause", c_char * 64), ("text", c_char * REASON_BYTES)]


class CInstanceInfo(_Abi):
    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("fact_count", c_uint32),
        ("family", c_char_p),
        ("name", c_char_p),
        ("operation", c_char_p),
        ("facts", POINTER(CValue)),
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
        ("launches", c_int32),
        ("zero_fill", c_int32),
        ("hip_error", c_int32),
        ("workspace_bytes", c_int64),
        ("path", c_char * 64),
        ("instance", c_char * 96),
        ("fact_capacity", c_uint32),
        ("fact_count", c_uint32),
        ("facts", POINTER(CValue)),
        ("part_capacity", c_uint32),
        ("part_count", c_uint32),
        ("part_columns", c_char_p),
        ("parts", POINTER(c_int64)),
        ("event_capacity", c_uint32),
        ("event_count", c_uint32),
        ("events", POINTER(CLaunch)),
        ("kernarg_capacity", c_uint64),
        ("kernarg_count", c_uint64),
        ("kernargs", POINTER(c_uint8)),
        ("reason", CReason),
    ]


class CAbiInfo(_Abi):
    """The facts about a library's ABI, of the same size in every version, so that any library can be asked."""

    _fields_: ClassVar[Any] = [
        ("struct_size", c_uint32),
        ("version", c_uint32),
        ("sizeof_value", c_uint32),
        ("sizeof_tensor", c_uint32),
        ("sizeof_problem", c_uint32),
        ("sizeof_options", c_uint32),
        ("sizeof_buffers", c_uint32),
        ("sizeof_reason", c_uint32),
        ("sizeof_instance_info", c_uint32),
        ("sizeof_option_info", c_uint32),
        ("sizeof_launch", c_uint32),
        ("sizeof_dispatch_record", c_uint32),
        ("family", c_char * 64),
        ("target", c_char * 32),
    ]


SIZES: dict[str, int] = {
    f"sizeof_{name}": sizeof(structure)
    for name, structure in (
        ("value", CValue),
        ("tensor", CTensor),
        ("problem", CProblem),
        ("options", COptions),
        ("buffers", CBuffers),
        ("reason", CReason),
        ("instance_info", CInstanceInfo),
        ("option_info", COptionInfo),
        ("launch", CLaunch),
        ("dispatch_record", CDispatchRecord),
    )
}
"""The size of each structure here, by the field of ``bitgate_abi_info`` in which a library states its own."""

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
"""The functions that a kernel library exports, with result type and argument types."""


def sized(structure: type[_Abi]) -> Any:
    """Return a zeroed structure with ``struct_size`` set, as every call expects."""
    value = structure()
    value.struct_size = sizeof(structure)
    return value


def longest_text(structure: type[_Abi], name: str) -> int:
    """Return the bytes of the longest text that a field of characters holds.

    That is one less than fits before the zero: a full field may hold the beginning of a text that was cut.
    """
    size: int = getattr(structure, name).size
    return size - 2


VALUE = struct.Struct("@QiIqdQQ")
"""The layout of ``CValue``, field by field."""
assert VALUE.size == sizeof(CValue)


class RawValue(NamedTuple):
    """A named value as the library left it, with as much of its text and its integers as may be read."""

    name: bytes
    kind: int
    length: int
    integer: int
    real: float
    text: bytes
    integers: tuple[int, ...]


def raw_values(entries: Any, count: int) -> tuple[RawValue, ...]:
    """Return the first ``count`` of an array of named values. ValueError if there is no array."""
    if count and not entries:
        raise ValueError(f"{count} named values at null")
    # Read as bytes: ctypes makes an object of each entry that is looked at.
    data = string_at(entries, count * VALUE.size) if count else b""
    return tuple(_raw_value(*fields) for fields in VALUE.iter_unpack(data))


def _raw_value(name: int, kind: int, count: int, integer: int, real: float, text: int, integers: int) -> RawValue:
    listed: tuple[int, ...] = ()
    if kind == _INTEGERS and integers and count <= MOST_INTEGERS:
        listed = struct.unpack(f"={count}q", string_at(integers, 8 * count))
    return RawValue(_c_text(name), kind, count, integer, real, _c_text(text) if kind == _TEXT else b"", listed)


def value_of(raw: RawValue) -> Value:
    """Return the value. ValueError if it is of an unknown kind, or too long."""
    if raw.kind == _INTEGER:  # most values
        return raw.integer
    if raw.kind == _TEXT:
        return utf_8(raw.text)
    if raw.kind == _INTEGERS:
        if len(raw.integers) != raw.length:
            what = "at null" if raw.length <= MOST_INTEGERS else f"where at most {MOST_INTEGERS} are read"
            raise ValueError(f"{raw.length} integers {what}")
        return raw.integers
    _ = ValueKind(raw.kind)
    return raw.real


def values_of(entries: Any, count: int) -> dict[str, Value]:
    """Return the first ``count`` of an array of named values. ValueError as ``value_of``."""
    return {utf_8(raw.name): value_of(raw) for raw in raw_values(entries, count)}


def utf_8(data: bytes) -> str:
    """Return a text of a library. ValueError if it is not UTF-8, or too long to be read."""
    if len(data) > MOST_TEXT:
        raise ValueError(f"a text of more than {MOST_TEXT} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{data[:40]!r} is not UTF-8") from None


_strnlen = CDLL(None).strnlen
_strnlen.argtypes, _strnlen.restype = (c_void_p, c_size_t), c_size_t


def _c_text(address: int) -> bytes:
    return string_at(address, _strnlen(address, MOST_TEXT + 1)) if address else b""
