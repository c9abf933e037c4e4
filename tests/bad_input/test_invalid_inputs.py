"""20,000 odd inputs over all parsers: each is taken, or refused in words; no traceback, no hang, no file elsewhere."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project_file import read as read_project
from bitgate.interop import found_in_case, perf_of, problems_of
from bitgate.kernel import registry
from bitgate.lab.ci.matrix import cells, expected_of
from bitgate.model import ProblemError, case_id, parse_case_id
from bitgate.results.plan import Plan, PlanError, PlannedItem
from bitgate.results.record import Certificate, Diagnosis, Key, Outcome, Stamp, Verdict, to_event
from bitgate.results.report.render import merge
from bitgate.results.run_plan import RunPlan, make
from bitgate.results.targets_file import read_targets
from bitgate.suite import durations
from bitgate.suite.expand import expand
from bitgate.suite.pytest.start import _selection
from bitgate.suite.table import load_set, set_names
from bitgate.tools.capsule.expectation import expectation_of
from bitgate.tools.capsule.folder import file_entry, npy, open_capsule
from bitgate.tools.capsule.folder import write as write_capsule
from bitgate.tools.capsule.manifest import (
    SCHEMA,
    ArgumentSpec,
    BufferSpec,
    CodeObjectFile,
    CopyStep,
    ExpectedResult,
    Kernarg,
    KernelStep,
    Manifest,
    MemsetStep,
    NanClassSpec,
    Place,
    Pointer,
    Resources,
    TensorSpec,
)
from bitgate.tools.coverage.readers import read as read_shapes
from bitgate.tools.faults.fault import read_faults

ANSWERS = (UsageError, ProblemError)

CASES = (
    "fwd_f32_nhwgc_g1n1k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0",
    "bwd_data_f16_nhwgc_g1n4k128c64_y3_h28_s3_p1",
    "bwd_weight_bf16_f32_bf16_ngchw_gkcyx_g2n4k8c8_y3x3_h9x9_s2x1_d1x2_p1x0_q0x1_bilinear_sk4",
    "fwd_i8_ndhwgc_g1n2k4c4_y3x3x3_h5x6x7_relu",
    "gemm_f16_rcr_b2m64n64k32_scale",
)
LINES = (
    "ckProfiler grouped_conv_fwd 1 1 0 1 0 1 2 32 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1",
    "ckProfiler grouped_conv_bwd_data 1 1 1 2 0 1 2 1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1 1",
    "MIOpenDriver conv -n 4 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -u 3 -v 3 -l 1 -j 1 -F 2 -g 1 -t 1 -i 9",
    "MIOpenDriver convfp16 --batchsize 4 --in_channels 8 --in_h 7 --in_w 7 --out_channels 8 --fil_h 3 --fil_w 3 -F 1",
    'benchdnn --conv --dir=BWD_D --dt=f16 mb4_g1ic64ih28oc128oh10kh3sh3ph1n"x"',
    "--mode=P --fix-times-per-prb=7 --max-ms-per-prb=1e3 --conv --dt=s8:s8:s32 g32mb2ic64id5oc64od5kd3pd1",
    "./example_grouped_conv_bwd_data_xdl_fp16 1 1 1 2 1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1",
)


def _write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.unlink(missing_ok=True)  # a file that is cut and written again goes to the disk at once, a new one does not
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("part", range(2))
def test_case_ids(try_all: Any, part: int) -> None:
    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        text = odd.text(odd.draw.choice(CASES))
        return lambda: case_id(parse_case_id(text))

    assert try_all(f"case {part}", 2500, make_one, ANSWERS) > 1000


@pytest.mark.parametrize("part", range(2))
def test_foreign_lines(try_all: Any, part: int) -> None:
    """Whoever reads them finds the same problems; how they are to be timed is read, too."""

    def read(text: str) -> list[str]:
        ids = [case_id(problem) for problem in problems_of(text)]
        entries = found_in_case(text)
        assert [case_id(entry.problem) for entry in entries] == ids
        return [perf_of(entry).refusal for entry in entries]

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        text = odd.text(odd.draw.choice(LINES))
        return lambda: read(text)

    assert try_all(f"line {part}", 2000, make_one, ANSWERS) > 800


TABLE = (
    (Path(__file__).parents[1] / "pytest_plugin" / "conftest.py").read_text().split('TABLE = """')[1].split('"""')[0]
)


def test_case_tables(try_all: Any) -> None:
    def attempt(path: Path) -> None:
        for name in set_names(path):
            for row in load_set(path, name):
                list(islice(expand(row), 20))

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, f"t{odd.draw.randrange(1 << 60)}.toml", odd.bytes(TABLE))
        return lambda: attempt(path)

    assert try_all("table", 1500, make_one, ANSWERS) > 500


def test_targets(try_all: Any) -> None:
    text = (paths.data_folder("ci") / "targets.toml").read_text()
    text = text[text.index("schema = 2") :]

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, "targets.toml", odd.bytes(text))
        return lambda: [cells(read_targets(path), tier) for tier in ("smoke", "regression")]

    assert try_all("targets", 1500, make_one, ANSWERS) > 300


def test_project_files(try_all: Any) -> None:
    right = '[bitgate]\nsuites = ["s"]\nload = ["k"]\ntargets = "t.toml"\ntiers = ["smoke"]\nrules = ["r.py"]\n'

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        for name in ("s/a/cases.toml", "k/declaration.py", "t.toml", "r.py"):
            (cell / name).parent.mkdir(parents=True, exist_ok=True)
            (cell / name).touch()
        path = _write(cell, "bitgate.toml", odd.bytes(right))
        return lambda: read_project(path).tables()

    assert try_all("project", 1000, make_one, ANSWERS) > 300


def test_fault_files(try_all: Any) -> None:
    text = '[[fault]]\nname = "a_b"\nimitates = "x#1"\nfile = "kernels/a.hpp"\nfind = """x < y"""\nreplace = "x"\n'

    def attempt(path: Path) -> None:
        for fault in read_faults([path]):
            fault.plant(paths.root(), path.parent / "overlay")

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, "faults.toml", odd.bytes(text))
        return lambda: attempt(path)

    assert try_all("fault", 1500, make_one, ANSWERS) > 500


def _verdict() -> Verdict:
    key = Key(CASES[0], "naive_conv", "fwd_f32", (("gate", "off"),), "exact", 0, "forward", "host")
    return Verdict(
        key,
        Outcome.MISMATCH,
        reason="wrong",
        suite="conv_fwd",
        test="suites/conv_fwd/test_a.py::test_b[c]",
        tier="smoke",
        platform="host",
        device_kind="cpu",
        device_name="cpu",
        digest="bg1:00",
        reference="exact",
        certificate=Certificate(12, 2**24, 1.0, 1.0, True),
        error={"rms": 0.1},
        dispatch={"path": "flat", "gemms": [{"m": 1}]},
        seconds={"kernel": 0.1, "total": 0.2},
        diagnosis=Diagnosis(("zero",), "zero", {"cells": [[0, 1]]}),
        repro="bitgate verify x",
        foreign="ckProfiler x",
        human="fwd",
        fingerprint={"build": "b", "commit": "c"},
        plan="p",
        run=Stamp("1", 1, "2026-11-21T01:00:00+00:00", "j", "1/2"),
    )


def test_records(try_all: Any) -> None:
    """Forty odd lines a file, merged and rendered."""
    right = to_event(_verdict())

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        lines = [odd.json_text(right).replace(b"\n", b" ") for _ in range(40)]
        path = _write(cell, "results.jsonl", b"\n".join(lines) + odd.draw.choice((b"", b"\n")))
        return lambda: merge([path], cell / "out").as_json()

    try_all("record", 100, make_one, ANSWERS)


def _item(number: int) -> PlannedItem:
    case = f"fwd_f32_nhwgc_g1n{number}k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0"
    test_id = f"{case}__naive_conv_fwd__exact"
    return PlannedItem(test_id, Key(case, "naive_conv", "fwd", (), "exact", 0, "forward", "host"), "smoke", "conv_fwd")


def test_plans(try_all: Any, tmp_path: Path) -> None:
    plan = Plan("smoke", "host", tuple(map(_item, range(3))), "2026-11-21T00:00:00+00:00", "1/2", "w")
    right = plan.to_json()

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, "plan.json", odd.json_text(right))
        return lambda: Plan.read(path).to_json()

    assert try_all("plan", 1000, make_one, (PlanError,)) > 500


def _in_lines(text: bytes) -> bytes:
    """A run plan with the line for each shard, and their sizes, that a reader looks for."""
    try:
        document = json.loads(text)
        lines = [json.dumps(cases) for cases in document.pop("shards")]
        for part, line in zip(document["parts"], lines, strict=True):
            part["size"] = len(line)
    except (ValueError, TypeError, KeyError, AttributeError):
        return text
    start = json.dumps(document)[:-1] + ',"shards":[\n'
    return (start + ",\n".join(lines) + "\n]}\n").encode(errors="surrogatepass")


def test_run_plans(try_all: Any, tmp_path: Path) -> None:
    plans = [Plan("smoke", target, tuple(map(_item, range(3)))) for target in ("host", "gfx942")]
    make("smoke", plans, {"host": 2, "gfx942": 1}, "c").write(tmp_path / "right.json")
    right = json.loads((tmp_path / "right.json").read_text())

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, "night.json", _in_lines(odd.json_text(right)))
        return lambda: list(RunPlan.read(path).shards)

    assert try_all("run plan", 1000, make_one, (PlanError,)) > 700


def test_matrices(try_all: Any) -> None:
    right = {
        "include": [{"target": name, "env": f"smoke-{name}", "runs_on": ["a"]} for name in ("host", "gfx942")],
        "absent": [{"target": "gfx90a", "why": "drained", "reason": "pool mi200 drained: moved"}],
        "drained": [{"pool": "mi200", "targets": ["gfx90a"], "state": "drained: moved"}],
        "expired": ["gfx942: the gap"],
    }

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, "matrix.json", odd.json_text(right))
        if odd.draw.random() < 0.9:
            return lambda: expected_of(path)

        def merged() -> object:
            expected = expected_of(path)
            return merge(
                [cell], cell / "out", expected_targets=expected.targets, absent=expected.absent, notes=expected.notes
            )

        return merged

    assert try_all("matrix", 1500, make_one, ANSWERS) > 600


def test_selections(try_all: Any) -> None:
    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        path = _write(cell, "ids", odd.bytes(f"# ids\n{CASES[0]}__naive_conv__exact\n{CASES[1]}__x__exact\n"))
        return lambda: _selection(str(path))

    assert try_all("select", 1000, make_one, ANSWERS) >= 10


def test_durations_are_never_refused(try_all: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = {"seconds": {"a__b_c__exact": [1.0, 2.0]}, "paces": {"b": [[0.1, 1e-9]]}}
    right = {"schema": 2, "machines": {"x/2": machine}}

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        monkeypatch.setenv("BITGATE_CACHE", str(cell))
        (cell / "durations").mkdir(exist_ok=True)
        _write(cell / "durations", "toy.json", odd.json_text(right))
        return lambda: durations.load("toy").estimate("a", "b", "c", "exact", 10)

    assert try_all("durations", 500, make_one, ()) == 0


DECLARATION = """
from dataclasses import replace
from pathlib import Path
from bitgate.kernel.registry import load_family
naive = load_family(Path(KERNELS) / "naive_conv" / "declaration.py")
FAMILY = replace(naive, name="mine", sources=("a.cpp",), folder=Path("."), platforms=("host",), options=())
"""


def test_declarations(try_all: Any) -> None:
    text = DECLARATION.replace("KERNELS", repr(str(paths.data_folder("kernels"))))
    head, tail = text.split("FAMILY = ")

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        # Only the declaration's own line is changed: what it says is data, what surrounds it is a program.
        changed = odd.bytes("FAMILY = " + tail.replace("\n", ""))
        path = _write(cell, f"d{odd.draw.randrange(1 << 60)}.py", head.encode() + changed + b"\n")
        return lambda: registry.load_family(path)

    # Each takes a process; the nightly tries them all.
    count = 500 if os.environ.get("BITGATE_NIGHTLY") else 30
    assert try_all("declaration", count, make_one, ANSWERS) > count * 2 // 5


SHAPES = "NDim,Groups,BatchSize,OutChannels,InChannels,KernelH,KernelW,InputH,InputW\n2,1,4,8,8,3,3,7,7\n"


def test_files_of_shapes(try_all: Any) -> None:
    from bitgate.model.space.table import TableRequest

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        name, right = odd.draw.choice((("a.csv", SHAPES), ("a.txt", "\n".join(LINES)), ("a.toml", TABLE)))
        path = _write(cell, name, odd.bytes(right))
        return lambda: read_shapes(path, TableRequest())

    assert try_all("shapes", 1000, make_one, ANSWERS) > 300


def _capsule(folder: Path) -> None:
    """A capsule of a convolution of one cell; its code object is no ELF file, which only a launch would find."""
    arrays = {name: np.ones(1, np.float32) for name in ("in", "wei", "out")}
    files = {f"{name}.npy": npy(array) for name, array in arrays.items()} | {"unit.co": b"code"}
    entry = {name: file_entry(name, data) for name, data in files.items()}
    view = TensorSpec("f32", "nhwgc", "gnchw", (1, 1, 1, 1, 1), (1, 1, 1, 1, 1))
    buffers = (
        BufferSpec("in", "input", 4, 256, entry["in.npy"], "", view),
        BufferSpec("wei", "input", 4, 256, entry["wei.npy"], "", view),
        BufferSpec("out", "output", 4, 256, None, "7fc00000", view),
    )
    pointers = tuple(Pointer(8 * number, Place(spec.name, 0)) for number, spec in enumerate(buffers))
    arguments = tuple(ArgumentSpec(pointer.offset, 8, "global_buffer") for pointer in pointers)
    kernarg = Kernarg(24, 24, 8, "00" * 24, arguments, pointers, ())
    launch = ("k", "unit.co", "_Z1kPf", "_Z1kPf.kd", (1, 1, 1), (64, 1, 1), (64, 1, 1), 64, 0, 0)
    launcher = "_ZN7bitgate6detail8relaunchIJPfEEEiPK14bitgate_launchPKhPv"
    steps = (
        MemsetStep("m", Place("out", 0), 0, 4),
        CopyStep("c", Place("out", 0), Place("in", 0), 4),
        KernelStep(*launch, kernarg, Resources(1, 0, 1, 0, 64), launcher),
    )
    fields = {"about": "", "case": CASES[0], "human": "", "ck_profiler": "", "family": "naive_conv", "host_run": "PASS"}
    manifest = Manifest(
        schema=SCHEMA,
        instance="fwd_f32",
        options={},
        fill="exact",
        seed=0,
        target="gfx942",
        wave_size=64,
        code_objects=(CodeObjectFile("unit.co", entry["unit.co"].sha256, "unit", "gfx942", 5),),
        buffers=buffers,
        steps=steps,
        expected=(ExpectedResult("out", entry["out.npy"], "", "exact", NanClassSpec("0x7fc00000")),),
        **fields,
    )
    write_capsule(folder, manifest, files)


def test_capsules(try_all: Any, tmp_path: Path) -> None:
    """Opened, and their question asked; what is launched then is tests/capsule's."""
    _capsule(tmp_path / "right")
    expectation_of(open_capsule(tmp_path / "right"))
    right = json.loads((tmp_path / "right" / "manifest.json").read_text())

    def make_one(odd: Any, cell: Path) -> Callable[[], object]:
        folder = cell / str(odd.draw.randrange(1 << 60))
        shutil.copytree(tmp_path / "right", folder)
        if odd.draw.random() < 0.8:
            (folder / "manifest.json").write_bytes(odd.json_text(right))
        else:  # the same hash in the manifest, so that the array itself is looked at
            data = odd.bytes((folder / "in.npy").read_bytes().decode("latin-1"))
            (folder / "in.npy").write_bytes(data)
            changed = copy.deepcopy(right)
            changed["buffers"][0]["content"]["sha256"] = hashlib.sha256(data).hexdigest()
            (folder / "manifest.json").write_text(json.dumps(changed))
        return lambda: expectation_of(open_capsule(folder))

    assert try_all("capsule", 1000, make_one, ANSWERS) > 600
