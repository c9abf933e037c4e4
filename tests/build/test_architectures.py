"""The table of architectures says of AMD's what LLVM knows of them. The compiler is asked with small kernels."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.targets import ARCHITECTURES, Architecture, target_id
from bitgate.kernel.build.flags import device_code, facts
from bitgate.kernel.build.toolchain import find_device_compiler
from bitgate.kernel.registry import families, select

AMD = [row for row in ARCHITECTURES.values() if row.platform == "amd"]
KERNELS = """
#define KERNEL __attribute__((global)) void
struct Lds { unsigned words[LDS_BYTES / 4]; };
KERNEL lds(unsigned* p) {
  __attribute__((shared)) Lds lds;
  lds.words[p[0]] = p[1];
  p[2] = lds.words[p[3]];
}
#define PAIR(name, Element, builtin)                                        \\
  typedef Element name##_pair __attribute__((ext_vector_type(2)));          \\
  KERNEL name(name##_pair* to, name##_pair values) {                        \\
    builtin((__attribute__((address_space(1))) name##_pair*)to, values);    \\
  }
#if F16
PAIR(f16, _Float16, __builtin_amdgcn_global_atomic_fadd_v2f16)
#endif
#if BF16
PAIR(bf16, short, __builtin_amdgcn_global_atomic_fadd_v2bf16)
#endif
"""


class Asked:
    """What LLVM makes of the kernels for a target: its assembly, None if it refuses."""

    def __init__(self, folder: Path) -> None:
        self._source = folder / "kernels.hip"
        self._source.write_text(KERNELS)
        self._command = [find_device_compiler().command[0], "clang", "-x", "hip", "--target=x86_64-linux-gnu"]
        self._command += ["--offload-device-only", "-nogpuinc", "-nogpulib", "-O1", "-S", "-o", "-"]

    def __call__(self, target: str, lds_bytes: int = 4, *, pairs: tuple[str, ...] = ()) -> str | None:
        defines = [f"-D{dtype.upper()}={int(dtype in pairs)}" for dtype in ("f16", "bf16")]
        command = [*self._command, f"--offload-arch={target}", f"-DLDS_BYTES={lds_bytes}", *defines, str(self._source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None


def differences(row: Architecture, asked: Asked) -> list[str]:
    """What LLVM says otherwise than the row."""
    code = asked(row.name, row.lds_bytes, pairs=row.pair_adds)
    if code is None:
        return [f"{row.name} does not compile with {row.lds_bytes} bytes of LDS and pairs of {row.pair_adds}"]
    wave = re.search(r"\.wavefront_size: *(\d+)", code)
    block = re.search(r"\.max_flat_workgroup_size: *(\d+)", code)
    found = {
        "waves": (row.waves[0], int(wave[1]) if wave else None),
        "largest block": (row.largest_block, int(block[1]) if block else None),
        "more LDS": (False, asked(row.name, row.lds_bytes + 4) is not None),
    }
    for dtype in {"f16", "bf16"} - set(row.pair_adds):
        found[f"pairs of {dtype}"] = (False, asked(row.name, pairs=(dtype,)) is not None)
    for feature in ("sramecc", "xnack"):
        found[feature] = (feature in row.features, asked(f"{row.name}:{feature}-") is not None)
    return [f"{row.name}: {what} is {theirs}, not {ours}" for what, (ours, theirs) in found.items() if ours != theirs]


def test_llvm_agrees(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda row: differences(row, asked), AMD)
    assert [text for texts in found for text in texts] == []


@pytest.mark.parametrize("target", [row.name for row in AMD if row.matrix is not None])
def test_fragments_and_atomics_compile_for_it_without_a_warning(target: str) -> None:
    compiler, kernels = find_device_compiler(), paths.data_folder("kernels")
    folders = (kernels / "platforms/amd/include", kernels / "platforms/host/include", kernels / "include")
    command = [compiler.command[0], "clang", *device_code(target_id(target)), *compiler.headers, "-Werror"]
    command += [*(f"-I{folder}" for folder in folders), "-fsyntax-only", "-x", "hip", "-"]
    source = '#include "bitgate/atomic.hpp"\n#include "bitgate/fragment.hpp"\n'
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_target_without_matrix_units_takes_plain_kernels() -> None:
    family = families()["grouped_fwd"]
    assert all(instance.fragment for instance in family.instances)
    assert [family.on(target).instances for target in ("gfx1030", "gfx908", "gfx9-generic")] == [(), (), ()]
    with pytest.raises(UsageError, match="no kernel that 'grouped_\\*' matches is for gfx1030"):
        select("grouped_*", target="gfx1030")
    naive = families()["naive_conv"]
    assert naive.on("gfx1030").instances == naive.instances


def test_what_kernels_are_told() -> None:
    assert facts(target_id("gfx950:xnack-")) == (
        '-DBITGATE_TARGET="gfx950_xnack-"',
        "-DBITGATE_LDS_BYTES=163840",
        "-DBITGATE_PAIR_ADD_F16=1",
        "-DBITGATE_PAIR_ADD_BF16=1",
        "-DBITGATE_WAVE=64",
        "-DBITGATE_MFMA=9",
        "-DBITGATE_MATRIX_I8_K=32",
        "-DBITGATE_MATRIX_F8_OCP=1",
    )
    assert facts(target_id("sm_80")) == (
        '-DBITGATE_TARGET="sm_80"',
        "-DBITGATE_LDS_BYTES=49152",
        "-DBITGATE_PAIR_ADD_F16=1",
    )


def test_the_documented_command_line_has_the_tables_defines() -> None:
    page = (paths.root() / "docs" / "kernels.md").read_text()
    stated = re.findall(r"-DBITGATE_\w+=\S+", page)
    assert [define.replace("'", "") for define in stated] == list(facts(target_id("gfx90a")))
