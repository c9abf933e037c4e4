"""Run the adversarial kernels that a shared GPU may run, in one suite there:
`python tests/adversarial_kernels/on_gpu.py [TARGET] [WORKERS]`.

Prints each difference from catalogue.toml; ends with 1 if there is one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.adversarial_kernels.catalogue import BAD_KERNELS
from tests.adversarial_kernels.suite_run import SHORT_DEADLINE, SuiteRun

from bitgate.runtime.targets import best


def main(target: str = "", workers: str = "4") -> int:
    name = target or best().name
    bad_kernels = [replace(one, verdict=one.verdict_gpu or one.verdict, says="") for one in BAD_KERNELS if one.gpu]
    with tempfile.TemporaryDirectory(prefix="bitgate-adversarial-") as folder:
        suite_run = SuiteRun(Path(folder), target=name)
        started = time.monotonic()
        ended = suite_run.write(bad_kernels).run("two workers", "-n", workers, deadline=SHORT_DEADLINE)
        verdicts = suite_run.verdicts
        wrong = suite_run.differences
        print(*wrong, sep="\n")
        counts = ", ".join(
            f"{count} {outcome}" for outcome, count in Counter(v.outcome.value for v in verdicts).items()
        )
        seconds = time.monotonic() - started
        print(f"{len(bad_kernels)} bad kernels on {name}, each with a healthy neighbour, in {seconds:.0f} s: {counts}")
        print(f"exit code {ended.code}, {len(suite_run.planned)} planned, {len(verdicts)} verdicts, {len(wrong)} wrong")
        if len(verdicts) < len(suite_run.planned) or ended.left:
            print(ended.said[-3000:], *ended.left, sep="\n")
        return int(bool(wrong) or ended.code != 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
