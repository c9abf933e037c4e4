"""The reader of code objects: the ELF note, bundles, and what it says of files that are none."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from msgspec.msgpack import encode

from bitgate.core.errors import UsageError
from bitgate.kernel.build.code_object import Argument, bundled, parse

KERNEL = {
    ".name": "_ZN6family6kernelIN7bitgate3f16EEEvPKT_i",
    ".args": [
        {".address_space": "global", ".offset": 0, ".size": 8, ".value_kind": "global_buffer"},
        {".offset": 8, ".size": 4, ".value_kind": "by_value"},
        {".offset": 16, ".size": 4, ".value_kind": "hidden_block_count_x"},
    ],
    ".kernarg_segment_size": 272,
    ".group_segment_fixed_size": 65536,
    ".private_segment_fixed_size": 0,
    ".wavefront_size": 64,
    ".max_flat_workgroup_size": 256,
    ".vgpr_count": 40,
    ".sgpr_count": 30,
    ".agpr_count": 8,
    ".vgpr_spill_count": 1,
    ".sgpr_spill_count": 2,
    ".uses_dynamic_stack": False,
}


def elf(*notes: Any, target: str = "amdgcn-amd-amdhsa--gfx942:xnack+") -> bytes:
    """An ELF file of one PT_NOTE segment; each note lists kernels."""
    body = b"".join(
        struct.pack("<III", 7, len(content), 32) + b"AMDGPU\0\0" + content + b"\0" * (-len(content) % 4)
        for content in (encode({"amdhsa.target": target, "amdhsa.kernels": note}) for note in notes)
    )
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + bytes(16) + struct.pack("<Q", 64) + bytes(14)
    header += struct.pack("<HH", 56, 1) + bytes(6)
    return header + struct.pack("<IIQQQQ", 4, 4, 120, 0, 0, len(body)) + bytes(16) + body


def test_a_kernel_is_read_from_its_note():
    code = parse(elf([KERNEL], [{**KERNEL, ".name": "plain"}]))
    kernel, plain = code.kernels
    assert (code.target, plain.function) == ("gfx942", "plain")
    assert (kernel.function, code.kernel("plain")) == ("kernel", plain)
    assert kernel.explicit == (Argument(0, 8, "global_buffer"), Argument(8, 4, "by_value"))
    assert [argument.is_pointer for argument in kernel.explicit] == [True, False]
    assert (kernel.explicit_bytes, kernel.kernarg_bytes, kernel.lds) == (12, 272, 65536)
    assert (kernel.vgprs, kernel.agprs, kernel.vgpr_spills, kernel.sgpr_spills) == (40, 8, 1, 2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a 64-bit"),
        (b"\x7fELF\x01\x01" + bytes(100), "not a 64-bit"),
        (elf(), "no AMDGPU metadata note"),
        (elf([KERNEL])[:-40], "ends after the file"),
        (elf([{".name": "k"}]), ".kernarg_segment_size"),
        (elf([], target="gfx942"), "out of range"),
    ],
)
def test_other_files_are_refused_with_the_reason(data, reason):
    with pytest.raises(UsageError, match=f"some.co is no AMDGPU code object that bitgate can read: .*{reason}"):
        parse(data, "some.co")


def test_a_library_bundles_one_code_object_a_unit_and_target():
    def bundle(*entries: tuple[str, bytes]) -> bytes:
        names = [f"hipv4-amdgcn-amd-amdhsa--{target}".encode() for target, _ in entries]
        offset = 32 + sum(24 + len(name) for name in names)
        head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
        for name, (_, data) in zip(names, entries, strict=True):
            head += struct.pack("<QQQ", offset, len(data), len(name)) + name
            offset += len(data)
        return head + b"".join(data for _, data in entries)

    library = b"elf" + bundle(("gfx90a", b"one"), ("gfx942:xnack-", b"two")) + bytes(9) + bundle(("gfx942", b"three"))
    assert bundled(library, "gfx942") == [b"two", b"three"]
    assert bundled(library, "gfx90a") == [b"one"]
    assert bundled(library, "gfx1100") == []
    assert bundled(library, "gfx942_xnack+") == [b"three"]
    generic = bundle(("gfx9-4-generic", b"four"), ("gfx11-generic", b"five"))
    assert [bundled(generic, target) for target in ("gfx950", "gfx1151", "gfx90a")] == [[b"four"], [b"five"], []]
