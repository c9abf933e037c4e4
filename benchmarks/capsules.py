"""Writes a capsule of every family for every gfx target and replays it on the host: seconds and sizes. Needs no GPU.

    python benchmarks/capsules.py [--out DIR] [--target T ...] [--kernel GLOB]

Ends with 1 if one of them cannot be written or does not pass. The seconds of `write` include compiling device code that
the build cache does not have.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.registry import families
from bitgate.model import Problem, parse_case_id
from bitgate.results.targets_file import read_targets
from bitgate.suite.suites import make_plan
from bitgate.tools.capsule.folder import open_capsule
from bitgate.tools.capsule.manifest import CapsuleDefect
from bitgate.tools.capsule.replay import replay
from bitgate.tools.capsule.writing import CapsuleRequest, write

SECONDS = 0.05
"""Of a family's smoke cases the one that is estimated nearest below this is taken, or else its cheapest."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="keeps the capsules there")
    parser.add_argument("--target", action="append", help="a gfx target; default: all that ci/targets.toml promises")
    parser.add_argument("--kernel", help="glob over family.instance")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out or Path(temporary)
        for target in arguments.target or read_targets(paths.data_folder("ci") / "targets.toml").of("amd"):
            for (family, outputs), item in cases(target, arguments.kernel or "").items():
                failed += not one(item, target, folder / f"{family}-{outputs}-{target}")
    return 1 if failed else 0


def cases(target: str, kernel: str) -> dict[tuple[str, int], Mapping[str, Any]]:
    """A planned case of each family, and of each number of outputs that its problems have."""
    probes = {family.name for family in families(target=target).values() if family.is_probe}
    chosen: dict[tuple[str, int], Mapping[str, Any]] = {}
    for item in make_plan("smoke", target, ours(), kernel).to_json()["cases"]:
        if item["refused"] or item["kernel"] in probes:
            continue
        key = (item["kernel"], len(problem_of(item).outputs))
        if key not in chosen or _rank(item) > _rank(chosen[key]):
            chosen[key] = item
    return chosen


def problem_of(item: Mapping[str, Any]) -> Problem:
    return parse_case_id(item["case"])


def _rank(item: Mapping[str, Any]) -> tuple[bool, float]:
    seconds = item["seconds"]
    return (True, seconds) if seconds <= SECONDS else (False, -seconds)


def one(item: Mapping[str, Any], target: str, folder: Path) -> bool:
    kernel = f"{item['kernel']}.{item['instance']}"
    options = tuple(sorted(item["options"].items()))
    begun = time.perf_counter()
    try:
        made = write(CapsuleRequest(problem_of(item), target, kernel, options, item["fill"], item["seed"]), folder)
    except (UsageError, CapsuleDefect) as error:
        print(f"{target}  {kernel}  not written: {error}")
        return False
    written = time.perf_counter()
    replayed = replay(open_capsule(folder), "host")
    seconds = time.perf_counter() - written
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(
        f"{target:8} {kernel:44} {len(made.manifest.expected)} outputs {len(made.manifest.steps)} steps"
        f"  write {written - begun:5.2f} s  replay {seconds:5.2f} s  {size / 1e3:6.0f} kB  {replayed.answer.outcome}"
    )
    return replayed.answer.words == made.manifest.host_run == "PASS"


if __name__ == "__main__":
    sys.exit(main())
