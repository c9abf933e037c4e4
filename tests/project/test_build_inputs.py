"""What a declaration gives to the build: folders of headers, flags, defines, and libraries with another API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bitgate.kernel import skeleton

NAME = "vendor_sums"
CASE = f"{NAME}_f32_r5c7"
HEADER = """
#pragma once
inline int vendor_rows(int rows) { return rows; }
extern "C" void vendor_weighted_sums(const float* x, const float* w, float* y, int rows, int columns, int pitch,
                                     void* stream);
"""
LIBRARY = """
#include <hip/hip_runtime.h>
#include "vendor.h"

__global__ void sums(const float* x, const float* w, float* y, int rows, int columns, int pitch) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int c = 0; r < rows && c < columns; ++c)
    sum += x[r * pitch + c] * w[c];
  if (r < rows)
    y[r] = sum;
}
void vendor_weighted_sums(const float* x, const float* w, float* y, int rows, int columns, int pitch, void* stream) {
  sums<<<(rows + 63) / 64, 64, 0, static_cast<hipStream_t>(stream)>>>(x, w, y, rows, columns, pitch);
}
"""
CALL = """
#ifndef FACTOR
#error "FACTOR is stated by the declaration"
#endif
  vendor_weighted_sums(buffers.x, buffers.w, buffers.y, vendor_rows(shape.rows) - 1 + FACTOR, shape.columns,
                       shape.x_row, context.stream);
  context.record.launches"""
SETTINGS = """    include_dirs=("../../vendor",),
    defines={"FACTOR": 1},
    flags={"host": ("-Wno-unused-variable",), "amd": ("-munsafe-fp-atomics",)},
    libraries=("../../vendor/libvendor.so", "m"),
    sources="""


@pytest.fixture
def vendor(empty: Any) -> Any:
    """A new kernel that calls an existing library by its C API, which launches a kernel itself."""
    skeleton.make(skeleton.Skeleton(NAME), empty.folder)
    empty.write(f"{NAME}/vendor/vendor.h", HEADER)
    build(empty, LIBRARY)
    edit(empty, "declaration.py", "    sources=", SETTINGS)
    source = f"{NAME}.hip.cpp"
    text = (empty.folder / NAME / "kernels" / NAME / source).read_text()
    begin, end = text.index("  bitgate::launch("), text.index(" = 1;\n  std::snprintf")
    edit(empty, source, text[begin:end], CALL)
    edit(empty, source, '#include "bitgate/record.hpp"', '#include "bitgate/record.hpp"\n#include "vendor.h"')
    return empty


def edit(repository: Any, file: str, old: str, new: str, folder: str = f"kernels/{NAME}") -> None:
    path = repository.folder / NAME / folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def build(repository: Any, text: str, output: str = "libvendor.so", *words: str) -> None:
    source = repository.write(f"{NAME}/vendor/vendor.hip", text)
    words = words or ("-shared", "-fPIC")
    command = [sys.executable, "-m", "bitgate.cli.hipcc", *words, str(source), "-o", str(source.with_name(output))]
    subprocess.run(command, check=True)


def verdict(repository: Any) -> tuple[str, str]:
    done = repository.bitgate("verify", CASE, "--target=host", "--json", below=NAME)
    (found,) = done.document["verdicts"]
    return found["verdict"], found["reason"]


def test_a_library_with_a_c_api_is_linked_and_called(vendor: Any) -> None:
    assert verdict(vendor) == ("PASS", "")


def test_a_changed_header_rebuilds_what_includes_it(vendor: Any) -> None:
    assert verdict(vendor)[0] == "PASS"
    edit(vendor, "vendor.h", "return rows;", "return rows - 1;", folder="vendor")
    assert verdict(vendor)[0] == "MISMATCH"


def test_a_changed_library_is_linked_anew(vendor: Any) -> None:
    assert verdict(vendor)[0] == "PASS"
    build(vendor, LIBRARY.replace("float sum = 0;", "float sum = 1;"))
    assert verdict(vendor)[0] == "MISMATCH"


def test_a_static_library_does_as_well(vendor: Any) -> None:
    build(vendor, LIBRARY, "vendor.o", "-c", "-fPIC", "-O2")
    folder: Path = vendor.folder / NAME / "vendor"
    subprocess.run(["ar", "rcs", "libvendor.a", "vendor.o"], cwd=folder, check=True)
    (folder / "libvendor.so").unlink()
    edit(vendor, "declaration.py", "libvendor.so", "libvendor.a")
    assert verdict(vendor) == ("PASS", "")


def test_defines_and_flags_are_part_of_the_key(vendor: Any) -> None:
    assert verdict(vendor)[0] == "PASS"
    edit(vendor, "declaration.py", '{"FACTOR": 1}', '{"FACTOR": 0}')
    assert verdict(vendor)[0] == "MISMATCH"
    edit(vendor, "declaration.py", 'defines={"FACTOR": 0}', "defines={}")
    outcome, reason = verdict(vendor)
    assert (outcome, "FACTOR is stated by the declaration" in reason) == ("BUILD_FAILED", True)
    edit(vendor, "declaration.py", '"-Wno-unused-variable"', '"-DFACTOR=1"')
    assert verdict(vendor) == ("PASS", "")


def test_a_symbol_that_no_library_has_is_named(vendor: Any) -> None:
    edit(vendor, "declaration.py", '"../../vendor/libvendor.so"', '"dl"')
    outcome, reason = verdict(vendor)
    assert (outcome, "vendor_weighted_sums" in reason) == ("BUILD_FAILED", True), reason


FAULTS = {
    "folder": (('"../../vendor",', '"../vendor",'), "include_dirs names '../vendor', and "),
    "library": (("vendor.so", "vend.so"), "libraries names '../../vendor/libvend.so': "),
    "platform": (('"amd":', '"rocm":'), "flags are for 'rocm': the platforms are host, amd, nvidia"),
    "flags": (('("-munsafe-fp-atomics",)', '"-munsafe-fp-atomics"'), "flags"),
    "define": (('{"FACTOR": 1}', '{"FACTOR": 1.5}'), "defines"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_is_one_line(vendor: Any, fault: str) -> None:
    (old, new), said = FAULTS[fault]
    edit(vendor, "declaration.py", old, new)
    done = vendor.bitgate("verify", CASE, "--target=host", below=NAME)
    (line,) = done.err.splitlines()
    assert (done.code, said in line) == (2, True), done.said
