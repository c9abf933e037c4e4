"""The parts of capsules: documents, hidden arguments, symbol tables, and the calls that start a code object."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from bitgate.core.untrusted import InvalidInput, shaped
from bitgate.kernel.abi import EventKind
from bitgate.kernel.build import Builder, find_host_compiler
from bitgate.kernel.build.code_object import Argument, symbols
from bitgate.kernel.dispatch import LaunchEvent
from bitgate.kernel.registry import families
from bitgate.runtime.errors import HipError
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named
from bitgate.tools.capsule.library_symbols import LibrarySymbols, external
from bitgate.tools.capsule.manifest import Kernarg, KernelStep, Manifest, Resources, Step
from bitgate.tools.capsule.modules import ModulePlayer
from bitgate.tools.capsule.playing import is_kernel, is_launcher
from bitgate.tools.capsule.recording import hidden_argument

LAUNCH = LaunchEvent(EventKind.KERNEL, "k", (7, 5, 3), (64, 2, 1), 96, 0, (), b"", 0, 0, 0)


@given(st.from_type(Manifest))
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_manifest_survives_json(manifest):
    text = json.dumps(to_builtins(manifest))
    assert json.dumps(to_builtins(shaped(Manifest, json.loads(text)))) == text


@given(st.from_type(Resources), st.sampled_from(["vgprs", "scratch"]), st.none() | st.text() | st.just(1.5))
def test_a_document_of_another_form_says_where(resources, name, wrong):
    document = to_builtins(resources)
    with pytest.raises(InvalidInput, match=f"Expected 'int', got .* - at '\\$.{name}'"):
        shaped(Resources, {**document, name: wrong})
    del document[name]
    with pytest.raises(InvalidInput, match=f"missing required field '{name}'"):
        shaped(Resources, document)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("hidden_block_count_y", 5),
        ("hidden_group_size_x", 64),
        ("hidden_remainder_z", 0),
        ("hidden_global_offset_x", 0),
        ("hidden_grid_dims", 3),
        ("hidden_dynamic_lds_size", 96),
        ("hidden_none", 0),
        ("hidden_hostcall_buffer", None),
        ("hidden_of_tomorrow", None),
    ],
)
def test_hidden_arguments_of_a_launch(kind, value):
    found = hidden_argument(Argument(16, 4, kind), LAUNCH)
    assert (found.offset, found.size, found.kind, found.value) == (16, 4, kind, value)
    assert bool(found.note) == (value is None)


def test_a_library_tells_hidden_functions_by_their_addresses():
    builder = Builder("host")
    open_device(named("host"), builder)
    library = builder.family(families()["naive_conv"])
    table = LibrarySymbols(library)
    names = [symbol.name for symbol in symbols(library.read_bytes()) if "kernel_fwd" in symbol.name]
    assert names
    for name in names:
        address = table.address(name)
        assert address is not None
        assert name in table.names(address)
    assert table.address("_Z7nothing") is None


@pytest.mark.parametrize(
    ("static", "name"),
    [
        ("_ZN6familyL11kernel_flatIN7bitgate3f16EEEvPKT_", "_ZN6family11kernel_flatIN7bitgate3f16EEEvPKT_"),
        ("_ZL6kernelPf", "_Z6kernelPf"),
        ("_ZN6family10kernel_L12IfEEvPT_", "_ZN6family10kernel_L12IfEEvPT_"),
        ("bitgate_run", "bitgate_run"),
    ],
)
def test_a_kernel_made_static_by_nvcc_has_the_code_objects_name(static, name):
    assert external(static) == name


RELAUNCH = "_ZN7bitgate6detail8relaunchI"


@pytest.mark.parametrize(
    ("symbol", "is_one"),
    [
        (f"{RELAUNCH}JPKfPfEEEiPK14bitgate_launchPKhPv", True),
        # Copies of elements of a byte: the pointer to bytes is named before.
        (f"{RELAUNCH}JPKhPhNS_13implicit_gemm9TransposeEEEEiPK14bitgate_launchS3_Pv", True),
        (f"{RELAUNCH}JPKfPfEEEiPK14bitgate_launchPv", False),
        ("_ZN7bitgate6detail6refuseEPK14bitgate_launchPKhPv", False),
    ],
)
def test_launchers_are_known_by_their_names(symbol, is_one):
    assert is_launcher(symbol) == is_one
    assert not is_kernel(symbol)


@given(st.data())
@settings(max_examples=25)
def test_a_cut_library_is_an_error_and_nothing_worse(data):
    whole = Builder("host").runtime().read_bytes()
    length = data.draw(st.integers(0, len(whole) - 64))
    with pytest.raises(ValueError, match=r"cut|not a 64-bit"):
        symbols(whole[:length])


STAND_IN = Path(__file__).with_name("module_calls.c")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HIP's module functions as a library that writes down how it is called."""
    library = tmp_path_factory.mktemp("runtime") / "libmodules.so"
    command = [*find_host_compiler().command, "-x", "c", "-shared", "-fPIC", str(STAND_IN), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def step(**changes) -> KernelStep:
    kernarg = Kernarg(16, 12, 8, bytes(range(16)).hex(), (), (), ())
    values = {
        "name": "k",
        "code_object": "unit.co",
        "symbol": "_Z1k",
        "descriptor": "_Z1k.kd",
        "grid": (7, 5, 3),
        "grid_threads": (448, 10, 3),
        "block": (64, 2, 1),
        "wave_size": 64,
        "lds_dynamic": 96,
        "lds_static": 32,
        "kernarg": kernarg,
        "resources": Resources(1, 0, 1, 0, 128),
        "launcher": "",
    }
    return KernelStep(**{**values, **changes})


def test_a_code_object_is_started_as_hip_documents_it(runtime, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    monkeypatch.setenv("MODULE_CALLS", str(log))
    with ModulePlayer(runtime, tmp_path) as player:
        for _ in range(2):
            player.launch(step(), bytes(range(16)), 0x5EED)
        with pytest.raises(HipError, match="hipModuleGetFunction: hipErrorNotFound: no such symbol"):
            player.launch(step(symbol="missing"), bytes(16), 0)
    assert log.read_text().splitlines() == [
        f"load {tmp_path}/unit.co",
        *["launch _Z1k grid 7 5 3 block 64 2 1 lds 96 stream 5eed kernargs 000102030405060708090a0b"] * 2,
        "unload",
    ]


def test_steps_are_told_apart_by_their_kind():
    with pytest.raises(InvalidInput, match="missing required field 'kind'"):
        shaped(Step, {})  # type: ignore[arg-type]
