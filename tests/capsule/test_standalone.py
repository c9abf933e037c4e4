"""A case as one HIP file that needs no bitgate: built by g++ here, it shows the same wrong cells as the verdict."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.core.project import own_kernels
from bitgate.kernel.build import Builder
from bitgate.model import registry
from bitgate.tools.faults.fault import choose, read_faults

CHECKOUT = own_kernels().parent
CASE = "bwd_data_f16_nhwgc_g1n1k16c8_y3_h8_s3_p1"
KERNEL = "grouped_bwd_data.f16_32x32x32_a1b1c1_w32"


@pytest.fixture(scope="module")
def hip_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the Makefile calls HIP_HOST: the host platform's headers and its runtime."""
    folder = tmp_path_factory.mktemp("hip")
    (folder / "lib").mkdir()
    (folder / "lib" / "libamdhip64.so").symlink_to(Builder("host").runtime())
    (folder / "include").symlink_to(CHECKOUT / "kernels" / "platforms" / "host" / "include")
    return folder


def write(folder: Path, case: str, kernel: str, *more: str) -> None:
    command = ["capsule", "write", case, "--standalone", "--kernel", kernel, "--out", str(folder)]
    assert run([*command, *(more if "--target" in more else ("--target", "sm_90", *more))]) == 0


def built_and_run(folder: Path, hip_host: Path) -> subprocess.CompletedProcess[str]:
    """Where nothing but the folder is known."""
    made = subprocess.run(["make", "host", f"HIP_HOST={hip_host}"], cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert "warning" not in made.stderr, made.stderr
    return subprocess.run(["./case"], cwd=folder, capture_output=True, text=True)


@pytest.mark.needs("make")
def test_a_right_kernel_ends_with_0(tmp_path, hip_host):
    write(tmp_path, CASE, KERNEL)
    done = built_and_run(tmp_path, hip_host)
    assert (done.returncode, done.stdout) == (0, "in: 0 of 512 cells are wrong\n")
    source, *others = ((tmp_path / name).read_text() for name in ("case.hip.cpp", "Makefile", "README.txt"))
    assert '#include "' not in source
    assert str(CHECKOUT) not in "".join([source, *others])


@pytest.mark.needs("make")
@pytest.mark.parametrize("name", ["out.bin", "expected_in.bin"])
def test_data_that_were_cut_are_not_read(tmp_path, hip_host, name):
    write(tmp_path, CASE, KERNEL)
    data = (tmp_path / name).read_bytes()
    assert built_and_run(tmp_path, hip_host).returncode == 0
    for cut in (b"", data[:-1], data + b"\n"):
        (tmp_path / name).write_bytes(cut)
        done = subprocess.run(["./case"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"{name}: {len(cut)} bytes, not {len(data)}: it was changed")


DEFECTS = {
    "flat_path_drops_sub_gemms": CASE,
    "bwd_group_stride_of_the_other_layout": CASE.replace("nhwgc_g1", "gnhwc_g2"),
}
"""One in what is launched, one in what a kernel computes; with a case that shows it."""


OF_THE_NIGHT = pytest.param("bwd_group_stride_of_the_other_layout", marks=pytest.mark.nightly)


@pytest.mark.needs("make")
@pytest.mark.parametrize("defect", ["flat_path_drops_sub_gemms", OF_THE_NIGHT])
def test_a_defect_shows_the_wrong_cells_of_the_verdict(capsys, tmp_path, hip_host, monkeypatch, defect):
    case = DEFECTS[defect]
    (fault,) = choose(read_faults(sorted((CHECKOUT / "suites" / "faults").glob("*.toml"))), defect)
    fault.plant(CHECKOUT, tmp_path / "overlay")
    monkeypatch.setenv("BITGATE_OVERLAY", str(tmp_path / "overlay"))
    monkeypatch.setenv("BITGATE_OVERLAY_ROOT", str(CHECKOUT))
    monkeypatch.setenv("BITGATE_QUICK_BUILD", "1")
    out = tmp_path / "case"
    write(out, case, KERNEL)
    done = built_and_run(out, hip_host)
    evidence = verified(capsys, case, KERNEL)["diagnosis"]["evidence"]
    first = evidence["first_wrong_cells"][0]
    at = ",".join(map(str, first["at"]))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"in[{at}] = {first['result']:g}, expected {first['reference']:g}"
    assert done.stdout.endswith("in: {wrong} of {of} cells are wrong\n".format(**evidence["cells"]))


def verified(capsys: Any, case: str, kernel: str) -> Any:
    capsys.readouterr()
    run(["verify", case, "--kernel", kernel, "--target", "host", "--json"])
    return json.loads(capsys.readouterr().out)["verdicts"][0]


@pytest.mark.needs("make")
def test_real_numbers_have_their_bounds(tmp_path, hip_host):
    write(tmp_path, CASE, KERNEL, "--fill", "decimal")
    assert built_and_run(tmp_path, hip_host).returncode == 0
    for name in ("in_value.bin", "expected_in.bin"):  # something else is expected of the first cell
        file = tmp_path / name
        file.write_bytes(bytes(7) + b"\x40" + file.read_bytes()[8:])
    again = subprocess.run(["./case"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 1
    assert again.stdout.startswith("in[0,0,0,0,0] = ")


@pytest.mark.needs("make")
def test_an_owners_kernel_is_taken_from_its_own_source(tmp_path, hip_host, monkeypatch):
    monkeypatch.setattr(registry, "_added", {})
    load = ("--load", str(CHECKOUT / "examples" / "pointwise" / "declaration.py"))
    write(tmp_path, "fwd_f32_nhwgc_g1n1k8c8_y1_h4", "*", *load)
    assert built_and_run(tmp_path, hip_host).returncode == 0


@pytest.mark.needs("make")
def test_gaps_and_an_input_in_the_results_place(tmp_path, hip_host):
    write(tmp_path, f"{CASE}_bilinear_gap_gapinw8_gapd0h16", "grouped_bwd_data.f16_32x32x32_a1b1c1_w32")
    done = built_and_run(tmp_path, hip_host)
    assert (done.returncode, done.stdout) == (0, "in: 0 of 512 cells are wrong\n")


def test_a_kernel_that_the_host_cannot_record_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_added", {})
    load = ["--load", str(CHECKOUT / "examples" / "cudnn" / "declaration.py")]
    command = ["capsule", "write", CASE, "--target", "sm_90", "--kernel", "cudnn.*", "--standalone", *load]
    assert run([*command, "--out", str(tmp_path)]) == 2
    assert "cudnn: not for the host platform" in capsys.readouterr().err


def test_an_unknown_target_is_refused(capsys, tmp_path):
    assert run(["capsule", "write", CASE, "--target", "gfx99", "--standalone", "--out", str(tmp_path)]) == 2
    assert "gfx99" in capsys.readouterr().err
