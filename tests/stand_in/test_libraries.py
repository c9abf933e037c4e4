"""A kernel library that was built with another ROCm is named for it, and what to do: both runtimes by stand-ins."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.stand_in.stand_in import StandIn, build, write

from bitgate.kernel.cache import Cache
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.examine import examine
from bitgate.kernel.registry import families

REMEDY = "build it with the hipcc of the one that is here"
NEEDY = """
extern "C" int hipMalloc(void**, unsigned long);
extern "C" int take(void** to) { return hipMalloc(to, 1); }
"""


def needy(folder: Path, older: StandIn, soname: str, *flags: str) -> Path:
    """A library that was linked with that runtime."""
    write(folder / "needy.cpp", NEEDY)
    library = folder / "libneedy.so"
    runtime = str(older.root / "lib" / soname)
    subprocess.run(
        ["g++", "-shared", "-fPIC", str(folder / "needy.cpp"), runtime, *flags, "-o", str(library)], check=True
    )
    return library


def refused(library: Path, here: Path, cache: Path) -> str:
    with pytest.raises(LibraryError) as raised:
        examine(library, families()["naive_reduction"], here, None, Cache(cache))
    return str(raised.value)


@pytest.mark.parametrize(
    ("older", "newer", "needs"),
    [
        (("hip_4.2", "libamdhip64.so.4"), ("hip_6.0", "libamdhip64.so.4"), "symbols of version hip_4.2"),
        (("hip_4.2", "libamdhip64.so.4"), ("hip_6.0", "libamdhip64.so.6"), "libamdhip64.so.4"),
        (("hip_4.2", "libamdhip64.so.4"), ("hip_7.0", "libamdhip64.so.7"), "libamdhip64.so.4"),
    ],
)
def test_a_kernel_library_of_another_rocm_is_to_be_built_again(
    tmp_path: Path, older: tuple[str, str], newer: tuple[str, str], needs: str
) -> None:
    theirs = build(tmp_path / "older", version=older[0], soname=older[1])
    ours = build(tmp_path / "newer", version=newer[0], soname=newer[1])
    library, here = needy(tmp_path, theirs, older[1]), ours.root / "lib" / newer[1]
    expected = f"{library}: needs {needs}, which {here} is not or has not: it was built with another ROCm; {REMEDY}"
    assert refused(library, here, tmp_path / "cache") == expected


def test_a_library_that_brings_its_own_runtime_must_be_rebuilt(tmp_path: Path) -> None:
    theirs = build(tmp_path / "older", soname="libamdhip64.so.4")
    ours = build(tmp_path / "newer", version="hip_6.0", soname="libamdhip64.so.6")
    library = needy(tmp_path, theirs, "libamdhip64.so.4", f"-Wl,-rpath,{theirs.root}/lib")
    here = ours.root / "lib" / "libamdhip64.so.6"
    line = refused(library, here, tmp_path / "cache")
    assert line.startswith(f"{library}: brings {theirs.root}/lib/libamdhip64.so.4 along, beside {here}: ")
    assert line.endswith(f"it was built with another ROCm; {REMEDY}")
