"""The ctypes mirrors lay every field where the C compiler does."""

from __future__ import annotations

import subprocess
from ctypes import sizeof
from pathlib import Path

from bitgate.core import paths
from bitgate.kernel import abi
from bitgate.kernel.build import find_host_compiler
from bitgate.kernel.c_problem import Access

STRUCTURES = {
    "bitgate_value": abi.CValue,
    "bitgate_tensor": abi.CTensor,
    "bitgate_problem": abi.CProblem,
    "bitgate_option": abi.COption,
    "bitgate_options": abi.COptions,
    "bitgate_buffers": abi.CBuffers,
    "bitgate_reason": abi.CReason,
    "bitgate_instance_info": abi.CInstanceInfo,
    "bitgate_option_info": abi.COptionInfo,
    "bitgate_launch_arg": abi.CLaunchArg,
    "bitgate_launch": abi.CLaunch,
    "bitgate_dispatch_record": abi.CDispatchRecord,
    "bitgate_abi_info": abi.CAbiInfo,
}
CONSTANTS = {
    "BITGATE_ABI_VERSION": abi.ABI_VERSION,
    "BITGATE_MAX_RANK": abi.MAX_RANK,
    "BITGATE_MAX_ARGS": abi.MAX_ARGS,
    "BITGATE_NAME_BYTES": abi.NAME_BYTES,
    "BITGATE_REASON_BYTES": abi.REASON_BYTES,
    **{f"BITGATE_{status.name}": int(status) for status in abi.AbiStatus},
    **{f"BITGATE_{kind.name}": int(kind) for kind in (*abi.EventKind, *abi.ValueKind, *Access)},
}


def test_every_field_lies_where_the_compiler_puts_it(tmp_path: Path) -> None:
    expected = dict(CONSTANTS)
    lines = [f'print("{name}", (long){name});' for name in CONSTANTS]
    for name, mirror in STRUCTURES.items():
        expected[name] = sizeof(mirror)
        lines.append(f'print("{name}", (long)sizeof({name}));')
        for field, *_ in mirror._fields_:
            expected[f"{name}.{field}"] = getattr(mirror, field).offset
            lines.append(f'print("{name}.{field}", (long)offsetof({name}, {field}));')
    source = tmp_path / "layout.c"
    body = "\n".join(line.replace("print(", 'printf("%s %ld\\n", ') for line in lines)
    source.write_text(
        f'#include "bitgate/abi.h"\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n}}\n'
    )
    program = tmp_path / "layout"
    include = f"-I{paths.data_folder('kernels') / 'include'}"
    subprocess.run([*find_host_compiler().command, "-x", "c", include, str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert {name: int(value) for name, value in map(str.split, printed.splitlines())} == expected


def test_a_librarys_info_keeps_its_size_across_versions() -> None:
    assert (sizeof(abi.CAbiInfo), abi.CAbiInfo.version.offset) == (144, 4)
