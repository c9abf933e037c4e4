"""Does ``bitgate fuzz`` find bugs that hide where four conditions meet? ``python benchmarks/fuzz.py [--help]``

A seeded generator plants one bug after the other in a copy of a kernel's sources (``planting.py``),
each a conjunction of four random conditions on the problem, and runs ``bitgate fuzz`` against it. Prints one line a
bug: whether it was found, after how many seconds of fuzzing, and the multiply-adds of the problem that is left. A bug
that was not found is looked for where all its conditions hold; if no such problem shows it, that is reported too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planting import Planted, plant, sites

from bitgate.core import paths
from bitgate.kernel.build import overlay as overlays
from bitgate.model import parse_case_id
from bitgate.ops.convolution.space.batch import Batch

MAIN = "from bitgate.cli.main import main; main()"


@dataclass(frozen=True)
class Result:
    planted: Planted
    found: bool
    seconds: float
    wall: float
    multiply_adds: int
    minimal: bool
    case: str
    neighbours: tuple[str, ...]
    is_planted: bool = False
    """Does the shrunk problem have all the conditions?"""


def hunt(planted: Planted, seconds: float, kernel: str | None, seed: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="bitgate-planted-") as scratch:
        overlay = Path(scratch) / "overlay"
        planted.fault("planted", paths.root()).plant(paths.root(), overlay)
        environment = {
            **os.environ,
            overlays.VARIABLE: str(overlay),
            overlays.QUICK: "1",
            "BITGATE_OUT": str(Path(scratch) / "out"),
        }
        command = [sys.executable, "-c", MAIN, "fuzz", "--first", "--json", "--target=host"]
        command += [f"--seconds={seconds}", f"--seed={seed}", *([f"--kernel={kernel}"] if kernel else [])]
        begin = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        wall = time.perf_counter() - begin
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"bitgate fuzz ended with {done.returncode}:\n{done.stderr[-2000:]}")
    failures: list[dict[str, Any]] = json.loads(done.stdout)["failures"]
    if not failures:
        return Result(planted, False, seconds, wall, 0, False, "", ())
    first = min(failures, key=lambda failure: float(failure["found_after_seconds"]))
    words = tuple(f"{n['quantity']} {n['fails']} fails, {n['passes']} passes" for n in first["neighbours"])
    return Result(
        planted,
        True,
        first["found_after_seconds"],
        wall,
        first["multiply_adds"],
        first["minimal"],
        first["case"],
        words,
        bool(planted.holds(Batch.from_problems([parse_case_id(first["case"])]))[0]),
    )


def show(number: int, result: Result) -> None:
    print(f"{number:3}  {result.planted.words}")
    if not result.found:
        print(f"     NOT FOUND in {result.seconds:.0f} s", flush=True)
        return
    smallest = "" if result.minimal else " (time was up)"
    print(
        f"     found after {result.seconds:.1f} s, {result.multiply_adds} multiply-adds{smallest}, {result.wall:.0f} s"
        f" with building and shrinking\n     {result.case}"
        + ("" if result.is_planted else "  LACKS A CONDITION: another bug, or the generator's two readings differ")
    )
    for words in result.neighbours[:6]:
        print(f"       {words}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=[*sites(), "each"], default="grouped_bwd_data")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1, help="of the bugs")
    parser.add_argument("--fuzz-seed", type=int, default=0, help="of the fuzzing")
    parser.add_argument("--kernel", default=None, help="--kernel of bitgate fuzz [all kernels]")
    arguments = parser.parse_args()
    families = list(sites()) if arguments.family == "each" else [arguments.family]
    results = []
    for number in range(arguments.count):
        planted = plant(families[number % len(families)], arguments.seed * 1000 + number)
        result = hunt(planted, arguments.seconds, arguments.kernel, arguments.fuzz_seed)
        results.append(result)
        show(number + 1, result)
    found = [result for result in results if result.found]
    small = sum(result.multiply_adds <= 1000 for result in found)
    longest = max((result.seconds for result in found), default=0.0)
    print(f"{len(found)} of {len(results)} found, the slowest after {longest:.1f} s; {small} shrunk to <= 1000")


if __name__ == "__main__":
    main()
