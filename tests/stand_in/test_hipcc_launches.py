"""Whole libraries by ROCm's compiler, on a runtime that records: what they launch for gfx90a is what the host launches.

Registration of their fat binaries, the look-up of each kernel in a code object, and the way of every argument through
hipLaunchKernel are the compiler's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ctypes import CDLL, POINTER, RTLD_GLOBAL, byref, c_char_p, c_double, c_int, c_uint8, c_uint32, c_uint64
from pathlib import Path
from typing import Any

import pytest
from tests.stand_in.stand_in import HERE, StandIn, build

from bitgate.kernel.build import Builder
from bitgate.kernel.registry import families

pytestmark = pytest.mark.needs("hipcc")

TARGET = "gfx90a"
FAMILIES = sorted(
    name
    for name, family in families().items()
    if {"host", "amd"} <= set(family.platforms) and "probe" not in family.operations  # those have a separate test
)
STATED = {"cu_count": "8", "occupancy": "2", "sums": "tile"}
"""Options by which nothing depends on what a device answers, or is; of a family that has them."""
EACH = 2
"""Cases of an instance."""


@pytest.fixture(scope="module")
def rocm(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return build(tmp_path_factory.mktemp("rocm") / "rocm")


@pytest.mark.nightly
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_launches_what_the_host_launches(rocm: StandIn, name: str) -> None:
    cases = few_of_each_instance(name)
    assert {case["instance"] for case in cases} == {i.name for i in families()[name].on(TARGET).instances}
    host = recorded("host", name, cases, dict(os.environ))
    rocm.says(f"device {TARGET}:sramecc+:xnack- cu={host['compute_units']}")
    amd = recorded("amd", name, cases, rocm.environment(os.environ))
    assert_the_same(cases, host, amd)


@pytest.mark.nightly
def test_the_probes_launch_each_fragment_as_the_host_does(rocm: StandIn) -> None:
    rocm.says(f"device {TARGET}:sramecc+:xnack-")
    amd = recorded("amd", "platform_probe", [], rocm.environment(os.environ), {"probes": None})
    assert len(amd["probes"]) > 8
    host = recorded("host", "platform_probe", [], dict(os.environ), {"probes": amd["probes"]})
    assert_the_same([{"fragment": name} for name in amd["probes"]], host, amd)


def assert_the_same(cases: list[dict[str, Any]], host: Any, amd: Any) -> None:
    wrong = []
    for case, expected, found in zip(cases, host["launches"], amd["launches"], strict=True):
        assert expected, case
        assert len(expected) == len(found), case
        for one, other in zip(expected, found, strict=True):
            if one["kind"] == "KERNEL":
                assert other.pop("symbols")[0] in one.pop("symbols"), case
                assert other.pop("same_bytes"), case
                reached = other.pop("reached")
                assert reached == {key: other[key] for key in reached}, case
            wrong += [(case, one, other)] if one != other else []
    assert not wrong, wrong[0]


def few_of_each_instance(name: str) -> list[dict[str, Any]]:
    plan = run("-m", "bitgate", "cases", "--tier", "regression", "--target", TARGET, "--kernel", f"{name}.*", "--json")
    taken: dict[str, list[dict[str, Any]]] = {}
    for case in json.loads(plan)["plan"]["cases"]:
        of_instance = taken.setdefault(case["instance"], [])
        if case["kernel"] == name and len(of_instance) < EACH and case["refused"] == "":
            options = {key: value for key, value in STATED.items() if families()[name].option(key)} | case["options"]
            of_instance.append({**{key: case[key] for key in ("case", "kernel", "instance")}, "options": options})
    return [case for of_instance in taken.values() for case in of_instance]


def recorded(
    platform: str,
    name: str,
    cases: list[dict[str, Any]],
    environment: dict[str, str],
    more: dict[str, Any] | None = None,
) -> Any:
    builder = Builder("amd", arch=TARGET) if platform == "amd" else Builder()
    plan = {**(more or {}), "cases": cases, "libraries": {name: str(builder.family(families()[name]))}}
    return json.loads(run(str(HERE / "record_launches.py"), platform, TARGET, json.dumps(plan), env=environment))


def run(*command: str, env: dict[str, str] | None = None) -> str:
    *words, last = command
    said = subprocess.run(
        [sys.executable, *(words if last.startswith("{") else command)],
        input=last if last.startswith("{") else None,
        capture_output=True,
        text=True,
        env=env,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


PROGRAM = """
#include <hip/hip_runtime.h>
__global__ void add(int* to, int what, double other) { *to += what + (int)other; }
extern "C" void go(int* to) { add<<<dim3(3, 2), 64, 128>>>(to, 7, 2.5); }
"""


@pytest.mark.nightly
def test_a_launch_in_angle_brackets_is_configured_and_looked_up(tmp_path: Path, rocm: StandIn) -> None:
    (tmp_path / "add.hip.cpp").write_text(PROGRAM)
    command = ["hipcc", f"--offload-arch={TARGET}", "-shared", "-fPIC", "add.hip.cpp", "-o", "libadd.so"]
    subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "HIP_PLATFORM": "amd"})
    rocm.says(f"device {TARGET}")
    script = f"import test_hipcc_launches as t; t.launch_in_brackets({str(tmp_path / 'libadd.so')!r})"
    environment = rocm.environment(os.environ)
    environment["PYTHONPATH"] = f"{HERE}:{environment.get('PYTHONPATH', '')}"
    assert run("-c", script, env=environment).strip() == "_Z3addPiid 3 2 1 64 1 1 128 1 7 2.5"


def launch_in_brackets(library: str) -> None:
    """Return the launch as the stand-in has it, from a separate process."""
    api = CDLL("libamdhip64.so.5", mode=RTLD_GLOBAL)
    api.standInLaunch.restype = c_char_p
    api.standInKernel(b"_Z3addPiid", (c_uint32 * 6)(0, 8, 8, 4, 16, 8), 3)
    CDLL(library).go(None)
    sizes, lds, count, configured = (c_uint32 * 6)(), c_uint64(), c_uint64(), c_int()
    kernarg = POINTER(c_uint8)()
    name = api.standInLaunch(0, sizes, byref(lds), byref(kernarg), byref(count), byref(configured))
    data = bytes(kernarg[: count.value])
    value, other = int.from_bytes(data[8:12], "little"), c_double.from_buffer_copy(data[16:24]).value
    print(name.decode(), *sizes, lds.value, configured.value, value, other)
