"""Writes a capsule of every family for every gfx target and replays it on the host: seconds and sizes. Needs no GPU.

    python bench/capsules.py [--out DIR] [--target T ...] [--kernel GLOB]

Ends with 1 if one of them cannot be written or does not pass. The seconds of `write` include compiling device code that
the build cache does not have.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bitgate import rooms
from bitgate.capsule.errors import CapsuleDefect
from bitgate.capsule.folder import open_capsule
from bitgate.capsule.replay import replay
from bitgate.capsule.writing import Order, write
from bitgate.ci.targets import read_targets
from bitgate.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import select
from bitgate.operation import parse_case_id

CASES = ("{}_{}_{}_g1n2k16c16_y3x3_h12x12_s2x2_p1x1", "{}_{}_{}_g1n2k16c16_y1x1_h12x12")
"""The second is for families of pointwise convolutions."""
GEMM_CASE = "{}_{}_{}_b2m64n64k64"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="keeps the capsules there")
    parser.add_argument("--target", action="append", help="a gfx target; default: all that ci/targets.toml promises")
    parser.add_argument("--kernel", help="glob over family.instance")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out or Path(temporary)
        for target in arguments.target or read_targets(rooms.room("ci") / "targets.toml").of("amd"):
            chosen = {family.name: family for family, _ in select(arguments.kernel, target=target)}
            for family in (family for family in chosen.values() if not family.is_probe):
                failed += not one(family, target, folder / f"{family.name}-{target}")
    return 1 if failed else 0


def one(family: KernelFamily, target: str, folder: Path) -> bool:
    instance = family.on(target).instances[0]
    operation = family.operations_of(instance)[0]
    layout = "nhwgc" if "nhwgc" in instance.layouts else instance.layouts[0]
    texts = (GEMM_CASE,) if operation == "gemm" else CASES
    problems = [parse_case_id(text.format(operation, instance.dtypes[0], layout)) for text in texts]
    problem = next((one for one in problems if family.supports(one, instance, {}) is None), problems[0])
    begun = time.perf_counter()
    try:
        made = write(Order(problem, target, f"{family.name}.*"), folder)
    except (UsageError, CapsuleDefect) as error:
        print(f"{target}  {family.name}  not written: {error}")
        return False
    written = time.perf_counter()
    replayed = replay(open_capsule(folder), "host")
    seconds = time.perf_counter() - written
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"{target:8} {family.name:18} {made.manifest.instance:28} {len(made.manifest.steps)} steps"
        f"  write {written - begun:5.2f} s  replay {seconds:5.2f} s  {size / 1e3:6.0f} kB  {replayed.answer.outcome}"
    )
    return replayed.answer.words == made.manifest.host_run == "PASS"


if __name__ == "__main__":
    sys.exit(main())
