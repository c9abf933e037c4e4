"""Mutants of what only a GPU's compiler reads: they are found, and switched in its code."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.plain_family import plain_family

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.results.record import Key, Outcome, Verdict
from bitgate.tools.faults.mutation import library
from bitgate.tools.faults.mutation.sources import Population, population
from bitgate.tools.faults.mutation.switching import SwitchedProcess
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import Opening

SOURCE = """#include <hip/hip_runtime.h>
#include <cstdint>
struct Half {
  uint16_t bits;
};
#if defined(__HIP_PLATFORM_HOST__)
__device__ inline int step(int a) { return a * 3; }
#else
__device__ inline int step(int a) { return a * 4; }
#endif
template <int n> __device__ Half quiet() { return Half{0x7E00}; }
__global__ void steps(int* cells, int count) {
  int* const end = count + cells;
  if (threadIdx.x < count)
    *(end - threadIdx.x) = step(count) + quiet<1>().bits;
}
extern "C" __attribute__((visibility("default"))) void* kernel() { return reinterpret_cast<void*>(steps); }
"""


@pytest.fixture
def family(tmp_path: Path) -> KernelFamily:
    (tmp_path / "steps.hip.cpp").write_text(SOURCE)
    return plain_family(tmp_path, "steps.hip.cpp", name="steps", platforms=("host", "amd", "nvidia"))


def _mutants(builder: Builder, family: KernelFamily) -> Population:
    return population(builder, [family], ours(), "", ())


@pytest.mark.needs("nvcc")
def test_a_library_for_nvidia_gpus(family: KernelFamily, tmp_path: Path) -> None:
    builder = Builder("nvidia", arch="sm_90")
    drawn = _mutants(builder, family)
    edits = {(mutant.original, mutant.mutated) for mutant in drawn.families}
    assert ("a * 4", "a / 4") in edits, "what the host's compiler does not read"
    assert ("a * 3", "a / 3") not in edits
    built = library.build(builder, family, list(drawn.families), drawn.paths, _folder(tmp_path), print)
    left_out = set(drawn.families) - set(built.mutants.values())
    assert {mutant.mutated for mutant in left_out} == {"count - cells"}
    path = builder.family(family, {str(tmp_path / "steps.hip.cpp"): built.overlay[str(tmp_path / "steps.hip.cpp")]})
    exports = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    assert {"bitgate_mutants_turn", "bitgate_mutants_reached", "bitgate_mutants_count"} <= set(exports.split())


def test_device_code_for_amd_gpus_reads_the_switch(family: KernelFamily, tmp_path: Path) -> None:
    drawn = _mutants(Builder(), family)
    numbered = dict(enumerate(drawn.families, 1))
    device = Builder("amd", arch="gfx942")
    schemata = library.Schemata(device, family, drawn.paths, _folder(tmp_path), len(numbered), attributed=False)
    kept = {number: mutant for number, mutant in numbered.items() if mutant.mutated != "count - cells"}
    overlay = {str(path): schema for path, schema in schemata.write(kept).items()}
    code = device.code_objects(family, overlay=overlay)["steps"].with_suffix(".s").read_text()
    assert "device_switchE@" in code
    assert "device_reachedE@" in code


def test_only_the_mutants_family_is_built_of_them(
    family: KernelFamily, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.cpp"
    other.write_text("int other;\n")
    plain, overlay = Builder().family(family), {str(tmp_path / "steps.hip.cpp"): other}
    monkeypatch.setenv("BITGATE_OVERLAY_FAMILY", "another")
    assert Builder().family(family, overlay) == plain
    monkeypatch.setenv("BITGATE_OVERLAY_FAMILY", "steps")
    assert Builder().family(family, overlay) != plain


class _Process(SwitchedProcess):
    """A process whose device answers a turn of the switch with these HIP errors, one after the other."""

    def __init__(self, target: str, *errors: int) -> None:
        super().__init__(Opening(target), progress=lambda line: None, output=lambda data: None)
        self.errors, self.ended = list(errors), 0

    def call(self, *_: Any) -> int:
        return self.errors.pop(0)

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def planned(family: KernelFamily) -> PlannedCase:
    return PlannedCase(parse_case_id("fwd_f32_nhwgc_g1n1k8c8_y1x1_h3x3"), Kernel(family, family.instances[0]))


def test_a_broken_context_is_left_with_its_process(planned: PlannedCase) -> None:
    process = _Process("sm_90", 700, 0)
    process.turn(planned, 3)
    assert (process.ended, process.errors) == (1, [])
    with pytest.raises(UsageError, match="cannot be turned on sm_90: HIP error 100"):
        _Process("sm_90", 700, 100).turn(planned, 3)


@pytest.mark.parametrize(
    ("target", "outcome", "ended"),
    [("sm_90", Outcome.CRASHED, 1), ("sm_90", Outcome.MISMATCH, 0), ("host", Outcome.CRASHED, 0)],
)
def test_a_gpu_s_process_ends_with_a_crash(target: str, outcome: Outcome, ended: int) -> None:
    process = _Process(target)
    process.end_if_broken(Verdict(Key("c", "k", "only", (), "exact", 0, "forward", target), outcome))
    assert process.ended == ended


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "schemata"
    folder.mkdir()
    return folder
