"""Plan, shard, record and merge a night of synthetic verdicts: seconds and peak memory of each step.

    python benchmarks/large_night.py [--cases 1200000] [--targets 6] [--shards 50] [--red 10000]

Each step is a process: its CPU time, and its resident memory at most. One case in ``--red`` is red, with a view of its
wrong cells; the last step merges once more, and writes the page.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.results.plan import Plan, PlannedItem
from bitgate.results.record import Diagnosis, Key, Outcome, Stamp, Verdict, to_event
from bitgate.results.report.page.builder import PageBuilder
from bitgate.results.report.page.html import write_page
from bitgate.results.report.render import merge
from bitgate.results.run_plan import RunPlan, make
from bitgate.results.shard import Shard
from bitgate.verify.view import view_of

MODULE = "suites/conv_fwd/test_correctness.py::test_correctness"
FINGERPRINT = {
    "build": "10259b28170ee0a3",
    "host": "node-17",
    "os": "Linux 6.1.0-18-amd64 x86_64, Debian GNU/Linux 12 (bookworm)",
    "gpu": "AMD Instinct MI300X",
    "driver": "6.8.5",
    "runtime": "ROCm 6.3.1, HIP 6.3.42134",
    "compiler": "hipcc 6.3.1 -std=c++20 -O3",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "guards": "both",
}


def targets(count: int) -> list[str]:
    return ["gfx942", "gfx950", "gfx90a", "gfx1201", "gfx1100", "gfx1030"][:count]


def items(target: str, count: int) -> Iterator[PlannedItem]:
    for number in range(count):
        case = f"fwd_f16_nhwgc_g1n{number % 64 + 1}k{number // 64 + 1}c64_y3x3_h28x28_s1x1_d1x1_p1x1_q1x1"
        name = f"{case}__naive_conv_fwd_f16__exact"
        key = Key(case, "naive_conv", "fwd_f16", (), "exact", 0, "forward", target)
        yield PlannedItem(name, key, "regression", "conv_fwd", f"{MODULE}[{name}]", seconds=0.1)


def plan(folder: Path, cases: int, names: list[str], shards: int, red: int) -> None:
    plans = [Plan("regression", name, tuple(items(name, cases // len(names)))) for name in names]
    made = make("regression", plans, dict.fromkeys(names, shards), FINGERPRINT["commit"])
    made.write(folder / "plan.json")


def read_shard(folder: Path, cases: int, names: list[str], shards: int, red: int) -> None:
    """What ``bitgate run --plan --shard`` reads."""
    part = RunPlan.read(folder / "plan.json").shard(names[-1], Shard(shards, shards))
    assert part
    assert part.cases


def record(folder: Path, cases: int, names: list[str], shards: int, red: int) -> None:
    for part in RunPlan.read(folder / "plan.json").shards:
        place = folder / "results" / part.target / Shard.parse(part.shard).folder
        place.mkdir(parents=True)
        stamp = Stamp("night", 1, "2026-11-23T01:00:00.000001+00:00", f"{part.target} {part.shard}", part.shard)
        with (place / "results.jsonl").open("w") as file:
            for number, item in enumerate(part.cases):
                file.write(
                    json.dumps(
                        to_event(verdict(item, part, stamp, number % red == min(17, red - 1))), separators=(",", ":")
                    )
                    + "\n"
                )


@lru_cache
def view() -> dict[str, Any]:
    """Return the view of a result in which a quarter of the cells are wrong, here and there."""
    result = np.zeros((1, 4, 64, 28, 28), np.float32)
    return view_of(result, np.random.default_rng(0).random(result.shape) < 0.25, 0x7FA5A5A5, "gnkhw", (64, 64, 32))


def verdict(item: PlannedItem, part: Plan, stamp: Stamp, red: bool) -> Verdict:
    sentence = "4 of 64 channels are zero: their sums never happened"
    return Verdict(
        item.key,
        Outcome.MISMATCH if red else Outcome.PASS,
        suite=item.suite,
        test=item.test,
        tier=item.tier,
        platform="amd",
        device_kind="hardware",
        device_name="AMD Instinct MI300X",
        digest="0123456789abcdef",
        diagnosis=Diagnosis(("zero",), sentence) if red else None,
        dispatch={"path": "direct", "launches": 1},
        seconds={"fill": 0.01, "kernel": 0.001, "compare": 0.01, "total": 0.03},
        repro=f"bitgate verify {item.key.case} --kernel naive_conv.fwd_f16 --target {item.key.target}",
        fingerprint=FINGERPRINT,
        plan=part.whole,
        run=stamp,
        view=view() if red else {},
        row="suites/conv_fwd/cases.toml:12",
    )


def merged(folder: Path, cases: int, names: list[str], shards: int, red: int) -> None:
    summary = merge([folder / "results"], folder / "merged", plan=RunPlan.read(folder / "plan.json"))
    assert summary.verdicts == cases // len(names) * len(names), summary.headline
    assert not summary.findings, summary.headline
    print(summary.headline)


def page(folder: Path, cases: int, names: list[str], shards: int, red: int) -> None:
    builder, file = PageBuilder(), folder / "page.html"
    plan = RunPlan.read(folder / "plan.json")
    write_page(file, builder, merge([folder / "results"], folder / "again", plan=plan, also=builder.add))
    print(f"page of {file.stat().st_size / 2**20:.1f} MiB")


STEPS: tuple[Callable[[Path, int, list[str], int, int], None], ...] = (plan, read_shard, record, merged, page)


def timed(step: Callable[..., None], *arguments: object) -> None:
    begun = time.process_time()
    step(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{step.__name__:<11} {time.process_time() - begun:8.1f} s  {peak:8.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_200_000)
    parser.add_argument("--targets", type=int, default=6)
    parser.add_argument("--shards", type=int, default=50, help="of each target")
    parser.add_argument("--red", type=int, default=10_000, help="one case in this many is red")
    stated = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        for step in STEPS:
            arguments = (Path(name), stated.cases, targets(stated.targets), stated.shards, stated.red)
            process = context.Process(target=timed, args=(step, *arguments))
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(f"{step.__name__} ended with {process.exitcode}")
        files = sorted(Path(name, "merged").rglob("junit*.xml"), key=lambda file: -file.stat().st_size)
        print(f"largest of {len(files)} JUnit files: {files[0].stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
