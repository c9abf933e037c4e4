"""Compare the GPU reference with the CPU's two, and with stored digests: ``python benchmarks/gpu_reference.py
[--target T]``.

Three measurements, each with all its sides in this one run, each checked: digests that differ end it.

1. Convolutions of about 1, 10 and 100 GFLOP: GFLOP/s of the naive kernels (the launch alone, and with fill and digest
   on the device), of the exact and of the ordered CPU reference, and the ratios.
2. Verdicts per second on ResNet-50's convolutions at full size, each on one instance of every kernel family: with
   stored digests, with the GPU reference, with the exact CPU reference.
3. A case with a tensor of more than 4 GiB, from nothing to its verdict.

``--quick`` takes shapes a thousand times smaller, for the host. ``--out FILE`` writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from timing import fastest, timed

from bitgate.core import paths
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.numerics.certificate import certify
from bitgate.numerics.digest import digest
from bitgate.numerics.fill import FillPlan, make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import exact_reference
from bitgate.ops.convolution import ConvProblem
from bitgate.results.record import Verdict
from bitgate.verify.on_device import DeviceData, DeviceWork, run_on_device
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import KernelWork, LaunchConfig
from bitgate.verify.session import Session
from bitgate.verify.stored import FILE, StoredDigest, key_of, write

SHAPES = {
    "1": "g1n8k64c64_y3x3_h42x42_p1x1",
    "10": "g1n16k128c128_y3x3_h47x47_p1x1",
    "100": "g1n32k256c256_y3x3_h52x52_p1x1",
}
QUICK_SHAPES = {"0.001": "g1n1k16c16_y3x3_h16x16_p1x1", "0.01": "g1n2k32c32_y3x3_h16x16_p1x1"}
PASSES = ("fwd", "bwd_data", "bwd_weight")
DTYPES = ("f32", "f16")

# k, c, filter, input, stride, pad of the layers whose gradients CK's own profiling script measures.
RESNET50 = (
    (256, 1024, 1, 14, 1, 0), (512, 1024, 1, 14, 1, 0), (128, 128, 3, 28, 1, 1), (512, 128, 1, 28, 1, 0),
    (128, 128, 3, 56, 2, 1), (512, 2048, 1, 7, 1, 0), (1024, 256, 1, 14, 1, 0), (256, 256, 3, 14, 1, 1),
    (256, 256, 3, 28, 2, 1), (128, 256, 1, 56, 1, 0), (64, 256, 1, 56, 1, 0), (512, 512, 3, 14, 2, 1),
    (128, 512, 1, 28, 1, 0), (256, 512, 1, 28, 1, 0), (2048, 512, 1, 7, 1, 0), (512, 512, 3, 7, 1, 1),
    (256, 64, 1, 56, 1, 0), (64, 64, 1, 56, 1, 0), (64, 64, 3, 56, 1, 1), (64, 3, 7, 224, 2, 3),
)  # fmt: skip

LARGE = "bwd_data_f16_nhwgc_g1n256k4c192_y2x2_h224x224_s224x224"
"""dx has 4.6 GiB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", help="default: the best one present")
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many counts")
    parser.add_argument("--images", type=int, default=64, help="batch of the ResNet layers")
    parser.add_argument("--quick", action="store_true", help="small shapes, for the host")
    parser.add_argument("--out", type=Path, help="file for the figures")
    options = parser.parse_args()
    session = Session(options.target)
    print(f"{session.target.name}: {session.target.device_name}; {paths.threads()} CPU threads")
    shapes = QUICK_SHAPES if options.quick else SHAPES
    figures: dict[str, Any] = {
        "target": session.target.name,
        "device": session.target.device_name,
        "threads": paths.threads(),
        "references": references(session, shapes, options.repeat),
        "verdicts": verdicts(session, resnet(1, 8) if options.quick else resnet(options.images, 1), options.repeat),
    }
    if not options.quick:
        figures["large"] = large(session)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


def references(session: Session, shapes: dict[str, str], repeat: int) -> list[dict[str, Any]]:
    print(f"\n{'GFLOP':>8} {'case':16} {'kernel':>10} {'on device':>10} {'exact':>10} {'ordered':>10}  GFLOP/s")
    rows = []
    for name, shape in shapes.items():
        for direction in PASSES:
            for dtype in DTYPES:
                row = measure(session, parse_case_id(f"{direction}_{dtype}_nhwgc_{shape}"), repeat)
                rows.append({"size": name, **row})
                speeds = " ".join(f"{row[part]:10.1f}" for part in ("kernel", "device", "exact", "ordered"))
                ratios = f"{row['kernel'] / row['exact']:.1f} x exact, {row['kernel'] / row['ordered']:.1f} x ordered"
                print(f"{row['gflop']:8.3f} {direction + ' ' + dtype:16} {speeds}  {ratios}")
    return rows


def measure(session: Session, problem: ConvProblem, repeat: int) -> dict[str, Any]:
    """GFLOP/s of the naive kernel alone, with what surrounds it on the device, and of both CPU references."""
    kernel = session.reference_kernel(problem)
    assert kernel is not None
    plan = plan_fill(problem, kernel.instance.accumulation_for(problem))
    work = KernelWork(session.opened.runner(kernel), problem, 0)
    config = LaunchConfig("right", "forward" if session.target.platform == "host" else "")
    inputs = make_inputs(problem, plan)

    def on_device() -> tuple[str, float]:
        asked, opened = DeviceWork(DeviceData(plan)), session.opened
        run = run_on_device(opened.device, opened.device_tools, work, asked, config, {})
        return run.digest, run.seconds["kernel"]

    found: list[str] = []
    device, kernel_seconds = [], []
    for _ in range(repeat + 1):  # the first one is cold
        seconds, (text, alone) = timed(on_device)
        device.append(seconds)
        kernel_seconds.append(alone)
        found.append(text)
    exact_seconds, exact = fastest(lambda: exact_reference(problem, inputs), repeat)
    ordered_seconds, ordered = timed(lambda: ordered_reference(problem, inputs))
    found += [digest(exact), digest(ordered)]
    if len(set(found)) > 1:
        raise SystemExit(f"{problem}: the references differ: {found}")
    gflop = problem.flops / 1e9
    return {
        "case": f"{problem.direction} {problem.dtypes}",
        "gflop": gflop,
        "kernel": gflop / min(kernel_seconds[1:]),
        "device": gflop / min(device[1:]),
        "exact": gflop / exact_seconds,
        "ordered": gflop / ordered_seconds,
    }


def resnet(images: int, divide: int) -> list[ConvProblem]:
    """Channels divided by ``divide`` where they allow it."""
    problems = []
    for k, c, f, i, s, p in RESNET50:
        channels = f"k{max(1, k // divide)}c{c if c < 8 else c // divide}"
        shape = f"g1n{images}{channels}_y{f}x{f}_h{i}x{i}_s{s}x{s}_p{p}x{p}"
        problems += [parse_case_id(f"{direction}_f16_nhwgc_{shape}") for direction in PASSES]
    return problems


def verdicts(session: Session, problems: Sequence[ConvProblem], repeat: int) -> dict[str, Any]:
    cases = [case for problem in problems for case in planned(session, problem)]
    for case in cases[:: max(1, len(cases) // 8)]:  # every library is built and loaded before the clock starts
        verify(case, session)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "resnet").mkdir()
        write(folder / "resnet" / FILE, stored(session, cases))
        ways: dict[str, tuple[Session, str]] = {
            "stored": (session_like(session, [folder]), "auto"),
            "gpu": (session_like(session, []), "gpu"),
            "exact": (session_like(session, []), "exact"),
        }
        figures = {name: rate(way, [replace(case, reference=kind) for case in cases], name, repeat)
                   for name, (way, kind) in ways.items()}  # fmt: skip
    ratio = figures["stored"] / figures["exact"]
    print(f"stored digests: {ratio:.1f} times the verdicts of CPU references")
    return {"cases": len(cases), **figures, "ratio": ratio}


def planned(session: Session, problem: ConvProblem) -> list[PlannedCase]:
    """One instance of every family that takes the problem, the last one: the largest tiles."""
    cases = []
    for family in session.families.values():
        fitting = [
            kernel
            for instance in family.instances
            if session.target.platform in family.platforms
            and (kernel := Kernel(family, instance)).refusal(problem) is None
        ]
        if fitting and not family.is_reference:
            cases.append(PlannedCase(problem, fitting[-1], target=session.target.name))
    return cases


def stored(session: Session, cases: Sequence[PlannedCase]) -> dict[str, StoredDigest]:
    digests = {}
    for case in cases:
        accumulation = case.kernel.instance.accumulation_for(case.problem)
        plan: FillPlan = plan_fill(case.problem, accumulation)
        key = key_of(case.case, plan)
        if key not in digests:
            inputs = make_inputs(case.problem, plan)
            certificate = certify(case.problem, plan, inputs, accumulation)
            digests[key] = StoredDigest.of(digest(exact_reference(case.problem, inputs)), certificate)
    return digests


def session_like(session: Session, suites: Sequence[Path]) -> Session:
    """Another one of the same target, without what the first has cached."""
    return Session(session.target, suites=suites)


def rate(session: Session, cases: Sequence[PlannedCase], name: str, repeat: int) -> float:
    verify(cases[0], session)
    seconds, results = fastest(lambda: [verify(case, session) for case in cases], 1 if name == "exact" else repeat)
    wrong: list[Verdict] = [result for result in results if not result.green]
    if wrong:
        raise SystemExit(f"{wrong[0].key.case}: {wrong[0].outcome}: {wrong[0].reason}")
    used = sorted({result.reference for result in results})
    print(f"{name:7} {len(results)} verdicts in {seconds:.2f} s: {len(results) / seconds:.1f} a second; by {used}")
    return len(results) / seconds


def large(session: Session) -> dict[str, Any]:
    case = planned(session, parse_case_id(LARGE))[0]
    seconds, verdict = fastest(lambda: verify(case, session_like(session, [])), 2)
    size = max(tensor.bytes for tensor in case.problem.tensors.values()) / 2**30
    print(f"{verdict.outcome} {LARGE}: {size:.1f} GiB in {seconds:.2f} s by {verdict.reference}; {verdict.seconds}")
    return {"case": LARGE, "gib": size, "seconds": seconds, "outcome": str(verdict.outcome), "parts": verdict.seconds}


if __name__ == "__main__":
    main()
