"""The kernel sources compile unchanged for gfx90a with ROCm's compiler."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from bitgate.kernel.build import Builder
from bitgate.kernel.registry import families

pytestmark = pytest.mark.needs("hipcc")

# One unit of each kind; the others differ in the element type alone.
UNITS = {
    "naive_conv": "naive_conv_bf16.hip.cpp",
    "grouped_bwd_data": "grouped_bwd_data_f16.hip.cpp",
    "grouped_fwd": "grouped_fwd_f16.hip.cpp",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", UNITS)
def test_compiles_for_gfx90a(name):
    family = families()[name]
    library = Builder("amd", arch="gfx90a").family(replace(family, sources=("library.hip.cpp", UNITS[name])))
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    assert " T bitgate_run" in symbols
    assert b"amdgcn-amd-amdhsa--gfx90a" in library.read_bytes()
