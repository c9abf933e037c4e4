"""A ROCm that is not the one at hand ends in one line that says what to do: each illness by a stand-in for its runtime.

Nothing here is hardware, and no kernel runs: what is shown is how far a command comes, and what it says then.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest
from hip import hip
from tests.stand_in.stand_in import Node, StandIn, build, lists, write

from bitgate.cli.main import run
from bitgate.runtime import kfd
from bitgate.runtime.errors import ADVICE
from bitgate.runtime.hip_python import CALLED

CASE = "fwd_f32_nhwgc_g1n1k8c8_y1x1_h3x3"
MI300X = "device gfx942:sramecc+:xnack- cu=304"
OURS = Path(__file__).resolve().parents[2] / "harness"


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of an error."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert "Traceback" not in self.out + self.err
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0].removeprefix("bitgate: ")


Bitgate = Callable[..., Said]


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole runtime, built once."""
    return build(tmp_path_factory.mktemp("whole") / "rocm").root


@pytest.fixture
def rocm(tmp_path: Path, runtime: Path) -> StandIn:
    """That runtime, on a machine with one MI300X."""
    made = StandIn(runtime, tmp_path / "stage.txt")
    made.says(MI300X)
    lists(made.machine, Node())
    return made


def bitgate(rocm: StandIn, *words: str, **environment: str) -> Said:
    hidden = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCM_BOOTSTRAP_DISABLE_DETECTION")
    base = {name: value for name, value in os.environ.items() if name not in hidden}
    folders = (environment.pop("PYTHONPATH", ""), str(OURS), os.environ.get("PYTHONPATH", ""))
    path = {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run(
        [sys.executable, "-m", "bitgate", *words],
        capture_output=True,
        text=True,
        env=rocm.environment({**base, **path, **environment}),
        timeout=300,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def verified(rocm: StandIn, target: str = "gfx942", **environment: str) -> str:
    """The line in which ``bitgate verify`` ends."""
    return bitgate(rocm, "verify", "--target", target, CASE, **environment).line


def verified_by_nobody(rocm: StandIn) -> str:
    """The same for a user who is not root: root may open everything."""
    if os.getuid() != 0:
        return verified(rocm)
    with TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        shutil.copytree(rocm.machine, Path(name) / "machine")
        base = rocm.environment(os.environ) | {
            "BITGATE_SYSTEM_ROOT": f"{name}/machine",
            "BITGATE_CACHE": f"{name}/cache",
        }
        base.pop("ROCM_BOOTSTRAP_DISABLE_DETECTION", None)
        said, tell = os.pipe()
        child = os.fork()
        if child == 0:
            nobody_verifies(base, name, tell)
        os.close(tell)
        with os.fdopen(said) as reader:
            text = reader.read()
        return Said(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "", text).line


def nobody_verifies(environment: dict[str, str], folder: str, tell: int) -> NoReturn:
    """In a separate process, which drops root once all modules are there: its user may not read them."""
    try:
        os.environ.clear()
        os.environ.update(environment | {"BITGATE_SYSTEM_ROOT": folder})
        os.chdir(folder)
        sys.stderr = io.StringIO()
        run(["verify", "--target", "gfx942", CASE])
        os.environ.update(environment)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        sys.stderr = io.StringIO()
        code = run(["verify", "--target", "gfx942", CASE])
        os.write(tell, sys.stderr.getvalue().encode())
        os._exit(code)
    finally:
        os._exit(99)


def problem(rocm: StandIn, what: str = "gfx942", **environment: str) -> dict[str, str]:
    """What ``bitgate doctor`` says is wrong, and what to do."""
    said = bitgate(rocm, "doctor", "--json", **environment)
    assert said.code in (0, 2), said.err
    assert "Traceback" not in said.err, said.err
    (found,) = (one for one in json.loads(said.out)["problems"] if one["what"] == what)
    return {"why": found["why"], "fix": found["fix"]}


@pytest.mark.needs("hipcc")
def test_a_device_that_opens_is_told_as_hip_tells_of_it(rocm: StandIn) -> None:
    said = bitgate(rocm, "doctor", "--json")
    (row,) = (row for row in json.loads(said.out)["targets"] if row["name"] == "gfx942")
    assert (
        "HIP 6.4 opens it as device 0: 304 CUs, waves of 64, 64 KiB of LDS a block, 64.0 of 64.0 GiB" in row["detail"]
    )


_LACKING = "import sys; from pathlib import Path; from bitgate.runtime.hip_python import lacking;"
_EACH = "print(*(','.join(lacking(Path(path))) for path in sys.argv[1:]), sep='\\n')"


def test_each_function_that_a_runtime_lacks_is_found(tmp_path: Path) -> None:
    made = [build(tmp_path / name, without=[name], version="hip_6.0", soname="libamdhip64.so.6") for name in CALLED]
    paths = [str(rocm.root / "lib" / "libamdhip64.so.6") for rocm in made]
    found = subprocess.run(
        [sys.executable, "-c", _LACKING + _EACH, *paths],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(OURS)},
    )
    assert found.stdout.split() == list(CALLED)


@pytest.mark.parametrize("name", ["hipGetDeviceCount", "hipGetErrorName", "hipMalloc"])
def test_a_runtime_without_a_function_ends_in_one_line(tmp_path: Path, name: str) -> None:
    rocm = build(tmp_path / "rocm", MI300X, without=[name], version="hip_6.0", soname="libamdhip64.so.6")
    lists(rocm.machine, Node())
    expected = f"{rocm.root}/lib/libamdhip64.so.6 lacks {name}: bitgate needs ROCm 6.4 or later, install it"
    assert verified(rocm) == expected


def test_what_bitgate_calls_is_all_of_what_is_looked_for() -> None:
    apart = {"hip_python.py", "loader.py"}  # the list itself, and a program that exported capsules bring along
    text = "".join(path.read_text() for path in OURS.rglob("bitgate/**/*.py") if path.name not in apart)
    called = set(re.findall(r"\.(hip[A-Z]\w+)\(", text)) | set(re.findall(r'"(hip[A-Z]\w+)"', text))
    errors = {name for name in called if name.startswith("hipError")}
    description = {"hipGetDeviceProperties", "hipGetDevicePropertiesR0600", "hipDeviceProp_t"}
    description |= {"hipMemAccessDesc", "hipMemAllocationProp"}
    virtual_memory = (OURS.parent / "kernels/platforms/hip_api_gpu.txt").read_text().split("\n\n")[1].split()
    does_without = {"hipDeviceGetPCIBusId", "hipDeviceGetUuid", *virtual_memory}
    assert called - errors - description - does_without == set(CALLED)


def test_rocm_5_has_no_description_that_is_understood(tmp_path: Path) -> None:
    rocm = build(tmp_path / "rocm", MI300X, "version 50713020", without=["hipGetDevicePropertiesR0600"])
    lists(rocm.machine, Node())
    line = verified(rocm)
    assert line.startswith("HIP does not describe device 0 (hipGetDeviceProperties")
    assert line.endswith("pip install 'hip-python==5.7.*'")


def test_properties_of_another_layout_are_no_architecture(rocm: StandIn) -> None:
    rocm.says(MI300X, "properties other")
    assert re.search(r"architecture of device 0 '': HIP 6.4 and hip-python \S+ do not fit; pip install", verified(rocm))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["fail hipStreamCreateWithFlags 4242"], "hipStreamCreateWithFlags: error 4242: hipErrorUnknown"),
        (
            ["fail hipStreamCreateWithFlags 4242", "error 4242 hipErrorOutOfMemory"],
            "hipStreamCreateWithFlags: hipErrorOutOfMemory: hipErrorOutOfMemory;"
            " another process may hold the device's memory",
        ),
        (
            ["fail hipStreamCreateWithFlags 2", "error 2 hipErrorInsufficientDriver"],
            "hipStreamCreateWithFlags: hipErrorInsufficientDriver: hipErrorInsufficientDriver;"
            " the driver is older than ROCm",
        ),
        (
            ["fail hipDeviceGetAttribute 1"],
            "hipDeviceGetAttribute: hipErrorInvalidValue: hipErrorInvalidValue: HIP 6.4 and",
        ),
        (["fail hipMemGetInfo 214"], "hipMemGetInfo: hipErrorECCNotCorrectable"),
    ],
)
def test_an_error_has_the_runtimes_name_for_its_number(rocm: StandIn, lines: list[str], expected: str) -> None:
    rocm.says(MI300X, *lines)
    assert verified(rocm).startswith(f"gfx942 cannot be opened: {expected}")


def test_advice_is_for_errors_that_hip_has() -> None:
    assert [name for name in ADVICE if not hasattr(hip.hipError_t, name)] == []


def test_a_runtime_that_sees_no_device_says_what_hides_them(rocm: StandIn) -> None:
    rocm.says()
    assert verified(rocm, ROCR_VISIBLE_DEVICES="3") == (
        "the HIP runtime does not start: hipGetDeviceCount: hipErrorNoDevice: hipErrorNoDevice; the driver lists no"
        " device to this process: bitgate doctor says why (here ROCR_VISIBLE_DEVICES=3)"
    )


@pytest.mark.needs("hipcc")
def test_a_runtime_that_ends_the_process_is_told_as_that(rocm: StandIn) -> None:
    rocm.says(MI300X, "abort hipGetDeviceCount")
    said = bitgate(rocm, "verify", "--target", "gfx942", CASE)
    assert said.code == 2
    assert said.err.splitlines() == [
        "stand-in: hipGetDeviceCount aborts",
        "bitgate: the process for kernels of gfx942 does not start: its process died of SIGABRT: see bitgate doctor",
    ]
    assert problem(rocm) == {
        "why": "opening gfx942 ended: its process died of SIGABRT (stand-in: hipGetDeviceCount aborts)",
        "fix": "see dmesg, and reinstall ROCm",
    }


@pytest.mark.parametrize(
    ("device", "odd"),
    [
        ("wave=0", "waves of 0 lanes, where it has 64"),
        ("wave=32", "waves of 32 lanes, where it has 64"),
        ("cu=0", "0 compute units"),
        ("attribute74=0", "0 bytes of LDS a block"),
        ("attribute56=0", "blocks of 0 threads"),
        ("total=0", "0 bytes of memory"),
    ],
)
def test_impossible_devices_mean_hip_python_of_another_release(rocm: StandIn, device: str, odd: str) -> None:
    rocm.says(f"{MI300X} {device}")
    line = verified(rocm)
    assert line.startswith(f"HIP says of device 0 (gfx942) {odd}: HIP 6.4 and hip-python ")
    assert line.endswith("do not fit; pip install 'hip-python==6.4.*'")


def test_features_that_differ_are_reported_with_how_to_set_them(rocm: StandIn) -> None:
    assert verified(rocm, "gfx942:xnack+") == (
        "HIP lists gfx942:sramecc+:xnack-, which does not run code for gfx942:xnack+: take the target without features,"
        " or set the device so (xnack+: HSA_XNACK=1, and amdgpu.noretry=0)"
    )


def test_an_architecture_that_nobody_knows_is_no_reason_to_fail(rocm: StandIn) -> None:
    shutil.rmtree(rocm.machine)
    lists(rocm.machine, Node(version=130000))
    assert "this bitgate knows no such architecture" in problem(rocm, "gfx1300")["why"]
    assert "gfx942 is not present on this machine (found: gfx1300, host)" in verified(rocm)


@pytest.mark.needs("hipcc")
def test_of_two_kinds_the_right_one_is_opened(rocm: StandIn) -> None:
    shutil.rmtree(rocm.machine)
    lists(rocm.machine, Node(90010, 104, 65536), Node())
    rocm.says("device gfx90a:sramecc+:xnack- cu=104", MI300X)
    said = json.loads(bitgate(rocm, "doctor", "--json").out)
    assert [row["detail"].partition(", ")[0] for row in said["targets"][:2]] == [
        "AMD gfx90a; HIP 6.4 opens it as device 0: 104 CUs",
        "AMD gfx942; HIP 6.4 opens it as device 1: 304 CUs",
    ]


def test_a_device_hidden_from_hip_is_reported_with_the_cause(rocm: StandIn) -> None:
    rocm.says("device gfx90a:sramecc+:xnack-")
    assert verified(rocm, HIP_VISIBLE_DEVICES="1") == (
        "HIP lists no gfx942 device (it lists gfx90a:sramecc+:xnack-): see HIP_VISIBLE_DEVICES and"
        " ROCR_VISIBLE_DEVICES (here HIP_VISIBLE_DEVICES=1)"
    )


@pytest.mark.needs("hipcc")
def test_a_partitioned_gpu_is_eight_small_ones(rocm: StandIn) -> None:
    shutil.rmtree(rocm.machine)
    lists(rocm.machine, *[Node(compute_units=38, mib=24576)] * 8, partition=("CPX", "NPS4"))
    rocm.says(*[f"device gfx942:sramecc+:xnack- cu=38 free={24 << 30} total={24 << 30}"] * 8)
    said = bitgate(rocm, "doctor")
    assert "ok 8 x gfx942: 38 CUs, 24.0 GiB each; compute partition CPX, memory partition NPS4\n" in said.out
    assert "ok gfx942: AMD gfx942; HIP 6.4 opens it as device 0: 38 CUs" in said.out


@pytest.mark.needs("hipcc")
def test_a_device_without_free_memory_opens_with_a_warning(rocm: StandIn) -> None:
    rocm.says(f"{MI300X} free=0 total={192 << 30}")
    assert "0.0 GiB of its memory are free: see who holds the rest with amd-smi" in bitgate(rocm, "doctor").out


def test_no_kfd_is_a_container_without_its_devices(rocm: StandIn) -> None:
    shutil.rmtree(rocm.machine)
    lists(rocm.machine, Node(), kfd=False)
    assert verified(rocm) == (
        "gfx942 is present, but /dev/kfd does not exist, though the driver lists 1 GPU: start the container with"
        " --device=/dev/kfd --device=/dev/dri --group-add=video --group-add=render"
    )
    assert problem(rocm)["fix"].startswith("start the container with --device=/dev/kfd")


def test_no_render_node_is_a_container_without_its_devices(rocm: StandIn) -> None:
    (rocm.machine / "dev/dri/renderD128").unlink()
    assert "/dev/dri/renderD128 does not exist, though the driver lists it: start the container" in verified(rocm)


def test_a_container_with_some_of_the_gpus_has_these(rocm: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(rocm.machine)
    lists(rocm.machine, Node(), Node(), Node())
    for number in (1, 2):
        (rocm.machine / f"dev/dri/renderD{128 + number}").unlink()
    monkeypatch.setenv(kfd.ROOT, str(rocm.machine))
    assert kfd.obstacle(kfd.driver()) == ""
    assert kfd.unseen(kfd.Driver(kfd.driver().gpus[:1], hidden=2)) == ""
    assert kfd.unseen(kfd.Driver(hidden=2)).startswith("the driver hides 2 GPUs from this process: start the container")


def test_a_gpu_without_its_driver_is_found_on_the_bus(rocm: StandIn) -> None:
    shutil.rmtree(rocm.machine)
    for name, text in {"vendor": "0x1002\n", "class": "0x120000\n"}.items():
        write(rocm.machine / "sys/bus/pci/devices/0000:c1:00.0" / name, text)
    why = "the AMD GPU at 0000:c1:00.0 has no driver: load it with modprobe amdgpu, or install it (amdgpu-dkms)"
    assert verified(rocm) == f"gfx942 is not present on this machine (found: host), but {why}"
    assert problem(rocm, "unlisted") == {"why": why.rpartition(": ")[0], "fix": why.rpartition(": ")[2]}


@pytest.mark.parametrize("file", ["dev/kfd", "dev/dri/renderD128", "sys/class/kfd/kfd/topology/nodes/1/properties"])
def test_files_that_the_user_may_not_open(rocm: StandIn, file: str) -> None:
    (rocm.machine / file).chmod(0)
    line = verified_by_nobody(rocm)
    if file.startswith("dev"):
        assert line.startswith(f"gfx942 is present, but /{file} may not be opened by this user: sudo usermod -a -G ")
        assert "$USER and log in again; in a container, start it with --group-add=" in line
    else:
        assert "(found: host), but the driver hides 1 GPU from this process: start the container with --device" in line


def test_without_hip_python_the_release_to_install_is_said(rocm: StandIn, tmp_path: Path) -> None:
    write(rocm.root / ".info" / "version", "6.4.1-83\n")
    write(tmp_path / "none" / "sitecustomize.py", "import sys\nsys.modules['hip'] = None\n")
    assert "pip install 'hip-python==6.4.*'" in verified(rocm, PYTHONPATH=str(tmp_path / "none"))
    found = problem(rocm, "hip-python", PYTHONPATH=str(tmp_path / "none"))
    assert found["fix"].startswith("pip install 'hip-python==6.4.*', with a Python that it has wheels for")


def test_a_hip_python_for_another_python_is_told_as_such(rocm: StandIn, tmp_path: Path) -> None:
    write(tmp_path / "other" / "hip" / "__init__.py")
    line = verified(rocm, PYTHONPATH=str(tmp_path / "other"))
    assert re.match(r"hip-python \S+ is installed and cannot be imported \(.*\): it is for another Python than", line)


@pytest.mark.needs("hipcc")
def test_a_hip_python_of_another_major_release_is_a_warning(rocm: StandIn) -> None:
    said = bitgate(rocm, "doctor").out
    installed = importlib.metadata.version("hip-python")
    if installed.startswith("6."):
        assert "release: pip install" not in said
    else:
        assert f"hip-python {installed} is not of HIP 6.4's release: pip install 'hip-python==6.4.*'" in said


def test_every_line_that_the_document_explains_has_a_test() -> None:
    text = (OURS.parent / "docs" / "rocm.md").read_text()
    cells = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
    shown = [line for cell in cells for line in re.findall(r"`([^`]+)`", cell)]
    assert len(shown) > 20
    here = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")))
    met = re.sub(r'"\n\s+f?"', "", here)
    assert [line for line in shown if line not in met] == []


def test_a_run_without_a_device_ends_before_its_first_test(rocm: StandIn, tmp_path: Path) -> None:
    rocm.says(MI300X, "fail hipStreamCreateWithFlags 4242")
    said = bitgate(rocm, "run", "--tier", "smoke", "--target", "gfx942", BITGATE_OUT=str(tmp_path / "results"))
    assert said.code == 2, said.out + said.err
    assert "gfx942 cannot be opened: hipStreamCreateWithFlags: error 4242: hipErrorUnknown" in said.out + said.err
    assert "Traceback" not in said.out + said.err
    assert len((said.out + said.err).strip().splitlines()) == 1
