"""Compiled device code as a kernel: its parameters are read from the file, and launches are held to them."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bitgate import verify
from bitgate.core.errors import UsageError
from bitgate.kernel.build import Builder
from bitgate.kernel.build.device_module import module_for
from bitgate.kernel.build.source_unit import unit_text
from bitgate.kernel.errors import KernelFailed
from bitgate.kernel.launch_list import kernels_of, launch_list
from bitgate.kernel.registry import load_family
from bitgate.model import parse_case_id

KERNELS = """
struct Pair { int rows; float scale; };
extern "C" __global__ void scaled(const float* in, float* out, long long cells, float scale, Pair pair,
                                  unsigned char flag) {
  if (threadIdx.x < cells)
    out[threadIdx.x] = in[threadIdx.x] * scale * pair.scale + flag;
}
template <class T> __global__ void copied(const T* in, T* out) { out[threadIdx.x] = in[threadIdx.x]; }
template __global__ void copied<float>(const float*, float*);
"""
PTX = """
.version 8.3
.target sm_80
.address_size 64
.visible .entry scaled(
  .param .u64 scaled_param_0,
  .param .u64 .ptr .global .align 4 scaled_param_1,
  .param .u64 scaled_param_2,
  .param .f32 scaled_param_3,
  .param .align 4 .b8 scaled_param_4[8],
  .param .u8 scaled_param_5
)
{
  ret;
}
"""
DECLARATION = """
from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch
from bitgate.operation import F32_ACCUMULATION

FAMILY = KernelFamily(
    name="modules", operations=("gemm",), platforms=("amd", "nvidia"), sources=SOURCES,
    source=DeviceSource(kernels=("scaled",), launches=lambda problem, instance, options: []),
    instances=(Instance("f32", "all", ("f32",), ("rcr",), (0,), F32_ACCUMULATION),),
)
"""
PLACES = [(0, 8), (8, 8), (16, 8), (24, 4), (28, 8), (36, 1)]
"""Where the six parameters of `scaled` lie, whichever compiler: offset and size."""


def declared(folder: Path, *sources: str, edit: tuple[str, str] = ("", "")) -> Path:
    text = DECLARATION.replace("SOURCES", repr(sources)).replace(*edit)
    file = folder / f"declaration_{abs(hash((text, *(folder.iterdir()))))}.py"  # a file is read once
    file.write_text(text)
    return file


def places(folder: Path, target: str, *sources: str) -> list[tuple[int, int]]:
    found = module_for(load_family(declared(folder, *sources)), target).parameters("scaled")
    return [(one.offset, one.size) for one in found]


def test_parameters_of_ptx_are_read(tmp_path: Path) -> None:
    (tmp_path / "scaled.ptx").write_text(PTX)
    assert places(tmp_path, "sm_90", "scaled.ptx") == PLACES
    found = module_for(load_family(declared(tmp_path, "scaled.ptx")), "sm_90").parameters("scaled")
    assert [one.code for one in found] == ["x8", "x8", "x8", "f4", "s8", "x1"]


@pytest.fixture(scope="module")
def code_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernels as code objects for two targets."""
    folder = tmp_path_factory.mktemp("code_objects")
    (folder / "scaled.cu").write_text(KERNELS)
    family = load_family(declared(folder, "scaled.cu"))
    for target in ("gfx90a", "gfx1100"):
        (made,) = Builder("amd", lambda line: None, arch=target).code_objects(family).values()
        shutil.copy(made, folder / f"{target}.hsaco")
    return folder


def test_the_code_object_for_a_target_is_taken(code_objects: Path) -> None:
    files = "gfx90a.hsaco", "gfx1100.hsaco"
    for target in ("gfx90a", "gfx1100"):
        assert places(code_objects, target, *files) == PLACES
        family = load_family(declared(code_objects, *files))
        assert f'BITGATE_MODULE_IMAGE("{code_objects / target}.hsaco")' in unit_text(family, target)
    with pytest.raises(UsageError, match=r"no module for gfx942: gfx90a\.hsaco is for gfx90a, gfx1100\.hsaco is"):
        places(code_objects, "gfx942", *files)
    with pytest.raises(UsageError, match=r"no module for sm_90: gfx90a\.hsaco is for gfx90a"):
        places(code_objects, "sm_90", *files)


def test_a_template_is_named_by_its_symbol(code_objects: Path) -> None:
    found = module_for(load_family(declared(code_objects, "gfx90a.hsaco")), "gfx90a")
    with pytest.raises(UsageError, match=r"no kernel 'copied<float>': give the symbol, _Z6copiedIfEvPKT_PS0_$"):
        found.parameters("copied<float>")


@pytest.mark.needs("nvcc")
@pytest.mark.parametrize("flags", [["-cubin"], ["-fatbin"], ["-ptx"], ["-fatbin", "-no-compress"]], ids=" ".join)
def test_what_nvcc_makes_is_read(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "scaled.cu").write_text(KERNELS)
    file = f"scaled.{flags[0].removeprefix('-')}"
    subprocess.run(["nvcc", "-arch=sm_90", *flags, "scaled.cu", "-o", file], cwd=tmp_path, check=True)
    assert places(tmp_path, "sm_90", file) == PLACES


@pytest.mark.needs("nvcc")
def test_a_library_for_nvidia_holds_the_module(tmp_path: Path) -> None:
    (tmp_path / "scaled.ptx").write_text(PTX)
    library = Builder("nvidia", lambda line: None, arch="sm_90").family(load_family(declared(tmp_path, "scaled.ptx")))
    assert PTX.encode() + b"\0" in library.read_bytes()


@pytest.mark.needs("hipcc")
def test_a_library_for_amd_holds_the_module(code_objects: Path) -> None:
    family = load_family(declared(code_objects, "gfx1100.hsaco", "gfx90a.hsaco"))
    library = Builder("amd", lambda line: None, arch="gfx90a").family(family)
    assert (code_objects / "gfx90a.hsaco").read_bytes() in library.read_bytes()
    assert (code_objects / "gfx1100.hsaco").read_bytes() not in library.read_bytes()


CUBIN = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(9) + struct.pack("<H", 190) + bytes(28) + struct.pack("<I", 0x6005A04)
FATBIN = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + struct.pack("<HHIQ", 2, 257, 64, 0) + bytes(12)
COMPRESSED = FATBIN + struct.pack("<I", 90) + bytes(8) + struct.pack("<Q", 0x8011) + bytes(16)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no module that bitgate can read|no AMDGPU code object"),
        (b"text", "no AMDGPU code object"),
        (CUBIN, "no module that bitgate can read"),
        (FATBIN, "no module that bitgate can read: "),
        (COMPRESSED, "a cubin of sm_90 that is compressed .nvcc -no-compress makes one that is not"),
        (PTX.replace(".entry", ".func").encode(), "no AMDGPU code object"),
        (PTX.replace("sm_80", "\xff").encode("latin-1"), ""),
    ],
    ids=["empty", "text", "cubin cut", "fatbin cut", "compressed", "no kernel", "odd bytes"],
)
def test_what_is_no_module_is_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "scaled.fatbin").write_bytes(data)
    if not words:
        assert places(tmp_path, "sm_90", "scaled.fatbin") == PLACES
        return
    with pytest.raises(UsageError, match=words) as caught:
        places(tmp_path, "sm_90", "scaled.fatbin")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sources", "edit", "words"),
    [
        (("scaled.ptx", "scaled.cu"), ("", ""), "'scaled.cu' beside compiled device code"),
        (("missing.cubin",), ("", ""), "missing.cubin is no file"),
        (("scaled.ptx",), ('("amd", "nvidia")', '("host",)'), "compiled device code runs on no host"),
    ],
)
def test_a_wrong_declaration_is_one_line(
    tmp_path: Path, sources: tuple[str, ...], edit: tuple[str, str], words: str
) -> None:
    (tmp_path / "scaled.ptx").write_text(PTX)
    with pytest.raises(UsageError, match=words):
        load_family(declared(tmp_path, *sources, edit=edit))


def planned(*args: dict[str, Any]) -> tuple[int, ...]:
    """The list of one launch of `scaled`, as a module describes it."""
    problem = parse_case_id("gemm_f32_rcr_m2n3k4")
    step = {"kernel": "scaled", "grid": [1, 1, 1], "block": [64, 1, 1], "lds": 0, "where": "here:1", "args": list(args)}
    kernels = kernels_of("scaled\tp:v0@8,x8@8,x8@8,x4@4,x4@4")
    return launch_list({"workspace": 0, "steps": [step]}, kernels, problem, 65536)


POINTER, CELLS = {"role": "in", "elements": 0}, {"integer": "6"}


def test_a_numbers_own_type_decides_where_a_module_tells_the_size() -> None:
    found = planned(POINTER, {"role": "out", "elements": 1}, CELLS, {"real": (2.0).hex()}, {"integer": "-1"})
    (bits,) = struct.unpack("<i", struct.pack("<f", 2.0))
    assert found[11:] == (1, 0, 0, 1, 2, 4, 0, 8, 6, 0, 4, bits, 0, 4, 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("place", "argument", "words"),
    [
        (0, CELLS, "argument 1 is void.*, a number is given"),
        (3, POINTER, "argument 4 is a value of 4 bytes, the buffer 'in' is a pointer"),
        (3, {"integer": str(1 << 32)}, "argument 4 is a value of 4 bytes, which does not hold 4294967296"),
        (4, {"bytes": "00"}, "argument 5 is a value of 4 bytes, of 4 bytes: 1 are given"),
    ],
)
def test_an_argument_that_cannot_be_names_its_place(place: int, argument: dict[str, Any], words: str) -> None:
    args: list[dict[str, Any]] = [POINTER, POINTER, CELLS, {"real": (2.0).hex()}, CELLS]
    args[place] = argument
    with pytest.raises(KernelFailed, match=f"here:1: scaled: {words}"):
        planned(*args)


PLAN = "lambda problem, instance, options: [KernelLaunch('scaled', 1, BLOCK, ARGS, lds=LDS)]"
FITS = "('in', 'out', 6, 2.0, bytes(8), 1)"


@pytest.mark.parametrize(
    ("block", "args", "lds", "words"),
    [
        (64, FITS, 0, ""),
        (64, FITS.replace(", 1)", ")"), 0, "scaled takes 6 arguments .* 5 are given .gfx90a.hsaco."),
        (64, FITS.replace("6", "'wei'"), 0, "argument 3 is a value of 8 bytes, the buffer 'wei' is a pointer"),
        (64, FITS.replace("8", "12"), 0, "argument 5 is a value of 8 bytes, of 8 bytes: 12 are given"),
        (64, FITS, 65537, "lds is 65537 bytes: a block has at most 65536"),
    ],
)
def test_a_code_object_is_held_to_its_launches_on_the_host(
    code_objects: Path, block: int, args: str, lds: int, words: str
) -> None:
    plan = PLAN.replace("BLOCK", str(block)).replace("ARGS", args).replace("LDS", str(lds))
    stated = ("lambda problem, instance, options: []", plan)
    file = declared(code_objects, "gfx90a.hsaco", "gfx1100.hsaco", edit=stated)
    found = verify("gemm_f32_m9n6k5", kernel=str(file), target="host")
    assert found.outcome.value == ("CRASHED" if words else "NOT_RUN"), found.reason
    for file_name in ("gfx90a.hsaco (gfx90a", "gfx1100.hsaco (gfx1100"):
        expected = f"{file_name}, launches: 1, LDS: 0 bytes, spilled registers: 0)"
        assert re.search(words, found.reason) if words else expected in found.reason
