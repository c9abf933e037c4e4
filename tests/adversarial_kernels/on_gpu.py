"""Run the adversarial kernels that a shared GPU may run, in one suite there:
`python tests/adversarial_kernels/on_gpu.py [TARGET] [WORKERS]`.

Prints each difference from exhibits.toml; ends with 1 if there is one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.adversarial_kernels.catalogue import EXHIBITS
from tests.adversarial_kernels.visit import Visit

from bitgate.runtime.targets import best


def main(target: str = "", workers: str = "4") -> int:
    name = target or best().name
    exhibits = [replace(one, verdict=one.verdict_gpu or one.verdict, says="") for one in EXHIBITS if one.gpu]
    with tempfile.TemporaryDirectory(prefix="bitgate-museum-") as folder:
        visit = Visit(Path(folder), target=name)
        started = time.monotonic()
        ended = visit.write(exhibits).run("two workers", "-n", workers)
        verdicts = visit.verdicts
        wrong = visit.differences
        print(*wrong, sep="\n")
        counts = ", ".join(
            f"{count} {outcome}" for outcome, count in Counter(v.outcome.value for v in verdicts).items()
        )
        seconds = time.monotonic() - started
        print(f"{len(exhibits)} exhibits on {name}, each with a healthy neighbour, in {seconds:.0f} s: {counts}")
        print(
            f"exit code {ended.code}, {len(visit.planned)} planned, {len(verdicts)} verdicts, {len(wrong)} differences"
        )
        if len(verdicts) < len(visit.planned) or ended.left:
            print(ended.said[-3000:], *ended.left, sep="\n")
        return int(bool(wrong) or ended.code != 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
