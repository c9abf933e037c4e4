"""Bring-ups of sound and of broken machines: each fault is named, and distinguished from the others."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.project import ours
from bitgate.tools.faults.fault import choose, read_faults

HERE = Path(__file__).parent
STAND_IN = HERE.parent / "stand_in" / "stand_in.py"
SMALL = ("--target", "host", "--no-smoke", "--kernel", "naive_reduction.*")


@dataclass(frozen=True)
class BringupRun:
    code: int
    document: dict[str, Any]
    stderr: str
    files: Mapping[str, bytes]

    def step(self, name: str) -> dict[str, Any]:
        return next(step for step in self.document["steps"] if step["step"] == name)

    @property
    def results(self) -> list[str]:
        return [step["result"] for step in self.document["steps"]]


def bring_up(out: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> BringupRun:
    command = [sys.executable, "-m", "bitgate", "bringup", "--json", "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    assert "Traceback" not in done.stderr
    return BringupRun(done.returncode, json.loads(done.stdout), done.stderr, bundled(out))


def bundled(path: Path) -> dict[str, bytes]:
    if not path.is_file():
        return {}
    with tarfile.open(path) as tar:
        members = {member.name.removeprefix("first_contact/"): tar.extractfile(member) for member in tar.getmembers()}
        return {name: file.read() for name, file in members.items() if file is not None}


def test_a_runtime_without_a_function_is_a_broken_installation(tmp_path: Path) -> None:
    """A stand-in for ROCm's runtime lacks two functions; one of them bitgate does not need."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("g++", "as", "ld"):  # and no hipcc: its builds are others' tests
        (tools / name).symlink_to(str(shutil.which(name)))
    build = (
        "import sys; from pathlib import Path; from stand_in import build;"
        "build(Path(sys.argv[1]), 'device gfx90a:sramecc+:xnack- cu=104',"
        " without={'hipStreamCreateWithFlags', 'hipMemset2D'})"
    )
    rocm = tmp_path / "rocm"
    subprocess.run([sys.executable, "-c", build, str(rocm)], check=True, cwd=STAND_IN.parent)
    found = bring_up(
        tmp_path / "b.tar.gz",
        "--no-smoke",
        environment={
            "PATH": str(tools),
            "ROCM_PATH": str(rocm),
            "LD_LIBRARY_PATH": str(rocm / "lib"),
            "STAND_IN": str(rocm / "stage.txt"),
            "ROCM_BOOTSTRAP_FORCE_GFX_ARCH": "gfx90a",
        },
    )
    assert (found.code, found.document["verdict"], found.document["target"]) == (2, "installation", "gfx90a")
    assert "lacks hipStreamCreateWithFlags (runtime/device.py and " in found.step("runtime")["sentence"]
    assert "hipMemset2D" not in found.step("runtime")["sentence"]
    missing = found.step("runtime")["detail"]["missing"]
    assert missing == {"hipMemset2D": [], "hipStreamCreateWithFlags": ["runtime/device.py", "verify/side_by_side.py"]}
    assert "lacks hipStreamCreateWithFlags" in found.document["sentence"]
    assert "the administrator of this machine" in found.document["send"]
    assert found.results == ["red"] * 4 + ["not tried"] * 4
    assert found.step("tools")["sentence"].startswith("device is red: ")
    assert found.step("smoke")["sentence"] == "left out as requested"
    assert {"summary.md", "steps.jsonl", "doctor.json", "kernel.log"} <= found.files.keys()
    everything = b"".join(found.files.values())
    assert str(tmp_path).encode() not in everything
    assert str(Path.home() / "").encode() not in everything.replace(b"~/", b"")


def test_a_disk_without_space_loses_nothing_that_can_be_told() -> None:
    found = bring_up(Path("/dev/full"), "--target", "gfx1201", "--no-smoke")
    assert found.code == 2
    last = found.stderr.splitlines()[-1]
    assert last.startswith("bitgate: /dev/full: No space left on device: free some space, or name another place")
    assert "doctor: red: gfx1201 is not on this machine" in found.stderr
    assert found.document["bundle"]["trouble"] == "No space left on device"


def test_an_interrupted_visit_keeps_its_bundle(tmp_path: Path) -> None:
    out = tmp_path / "b.tar.gz"
    command = [sys.executable, "-m", "bitgate", "bringup", "--out", str(out), *SMALL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line.startswith("[3/8]"):
                running.send_signal(signal.SIGINT)
                break
        said, _ = running.communicate()
    assert running.returncode == 130
    assert said.startswith("interrupted: interrupted after runtime")
    steps = [json.loads(line) for line in bundled(out)["steps.jsonl"].splitlines()]
    assert [step["result"] for step in steps] == ["green", "green", "interrupted"] + ["not tried"] * 5


def test_a_sound_machine_is_green(tmp_path: Path) -> None:
    found = bring_up(tmp_path / "b.tar.gz", "--target", "host", "--no-smoke", "--kernel", "naive_reduction.i8")
    assert (found.code, found.document["verdict"]) == (0, "green")
    assert found.results == ["green"] * 7 + ["not tried"]
    assert found.step("probes")["compared"] == 6
    assert found.step("tiny")["compared"] >= 2
    records = [json.loads(line) for line in found.files["records/tiny.jsonl"].splitlines()]
    assert {record["kernel"] for record in records} == {"naive_reduction"}
    assert {record["fingerprint"]["host"] for record in records} == {"HOST"}
    assert b"-std=c++20" in found.files["compiler.txt"]
    assert found.document["bundle"]["bytes"] == (tmp_path / "b.tar.gz").stat().st_size


def test_an_unknown_target_or_kernel_is_told_at_once(tmp_path: Path) -> None:
    for words in (("--target", "gfx9999"), ("--load", str(tmp_path / "none.py"))):
        done = subprocess.run(
            [sys.executable, "-m", "bitgate", "bringup", "--no-smoke", *words], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.nightly
def test_a_wrong_lane_map_is_the_platform(tmp_path: Path) -> None:
    (fault,) = choose(read_faults([ours().root / "suites" / "faults" / "platform.toml"]), "platform_b_transposed")
    fault.plant(ours().root, tmp_path / "overlay")
    found = bring_up(tmp_path / "b.tar.gz", *SMALL, environment={"BITGATE_OVERLAY": str(tmp_path / "overlay")})
    assert (found.code, found.document["verdict"]) == (1, "platform")
    assert "platform_probe.lanes" in found.step("probes")["sentence"]
    assert "bitgate's authors" in found.document["send"]
    assert found.step("tiny")["result"] == "not tried"
    assert "platform_probe.lanes" in json.loads(found.files["lane_maps.json"])
    assert "disassembly/platform_probe.lanes.s" in found.files


@pytest.mark.nightly
def test_device_tools_that_count_wrong_are_the_platform(tmp_path: Path) -> None:
    faults = read_faults([ours().root / "suites" / "faults" / "device_tools.toml"])
    fault = next(fault for fault in faults if "compare" in fault.file or "sums" in fault.file)
    fault.plant(ours().root, tmp_path / "overlay")
    found = bring_up(tmp_path / "b.tar.gz", *SMALL, environment={"BITGATE_OVERLAY": str(tmp_path / "overlay")})
    assert (found.code, found.document["verdict"]) == (1, "platform")
    assert found.step("tools")["result"] == "red"


@pytest.mark.nightly
def test_a_kernel_that_traps_is_the_kernel(tmp_path: Path) -> None:
    declaration = HERE / "trapping" / "declaration.py"
    found = bring_up(tmp_path / "b.tar.gz", "--target", "host", "--no-smoke", "--load", str(declaration))
    assert (found.code, found.document["verdict"]) == (1, "kernel")
    assert "CRASHED" in found.step("tiny")["sentence"]
    assert "trap" in found.step("tiny")["sentence"]
    assert found.document["send"].startswith("send the bundle to the authors of trapping")
    assert b"ud2" in found.files["disassembly/trapping.fwd_f32.s"]
    assert any(re.fullmatch(r"capsules/1_trapping\.fwd_f32/case\.hip\.cpp", name) for name in found.files)


MISCOMPILER = """#!{python}
# g++, but a constant of one instance is another one, where it optimises.
import os, subprocess, sys, tempfile
arguments, read, edited = sys.argv[1:], "", ""
place = next((at for at, word in enumerate(arguments) if word.endswith("naive_reduction.hip.cpp")), None)
if place is not None and "-O2" in arguments:
    read = arguments[place]
    edited = os.path.join(tempfile.mkdtemp(), os.path.basename(read))
    text = open(read).read()
    assert "for (int64_t l = 1;" in text
    open(edited, "w").write(text.replace("for (int64_t l = 1;", "for (int64_t l = sizeof(T) == 1 ? 2 : 1;"))
    arguments[place] = edited
    arguments.insert(place, "-I" + os.path.dirname(read))
code = subprocess.run(["{compiler}", *arguments]).returncode
if edited and "-MF" in arguments:  # what was read is what was named
    depfile = arguments[arguments.index("-MF") + 1]
    listed = open(depfile).read().replace(edited, read)
    open(depfile, "w").write(listed)
sys.exit(code)
"""


@pytest.mark.nightly
def test_a_compiler_that_miscompiles_one_instance_is_suspected(tmp_path: Path) -> None:
    """In a separate cache: the wrapper states the version of what it wraps."""
    wrapper = tmp_path / "g++"
    wrapper.write_text(MISCOMPILER.format(python=sys.executable, compiler=shutil.which("g++")))
    wrapper.chmod(0o755)
    environment = {"CXX": str(wrapper), "BITGATE_CACHE": str(tmp_path / "cache")}
    found = bring_up(tmp_path / "b.tar.gz", *SMALL, environment=environment)
    assert (found.code, found.document["verdict"]) == (1, "kernel")
    reds = found.step("tiny")["reds"]
    assert {red["kernel"] for red in reds} == {"naive_reduction.i8"}
    assert "compiled at -O1 it is right: suspect the compiler" in reds[0]["sentence"]
    assert "the makers of the compiler" in found.document["send"]
    assert "disassembly/naive_reduction.i8.s" in found.files
