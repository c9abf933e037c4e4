"""What the harness adds to a verdict beside kernel, fill and reference.

    python benchmarks/overhead.py [--cases N] [--repeat R] [--json]     many small cases in one process
    python benchmarks/overhead.py --pytest [-k WORDS] [--json]          the smoke tier, or part of it, under pytest

The first is the cost under ``bitgate verify`` (aim: at most 1 ms median), the second under pytest (aim: at most 3 ms):
there it is the wall time of a whole test, with what pytest, the plugin and the record take, less what its verdict
says that kernel, fill and reference took. Libraries are built before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from time import perf_counter

import pytest

from bitgate.core.project import ours
from bitgate.lab.planning.collect import PLUGIN, QUIET, suites_and_root
from bitgate.model import parse_case_id
from bitgate.results.record import Verdict, read
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.selection import candidates, select_for
from bitgate.verify.session import Session

AIM_VERIFY, AIM_PYTEST = 1e-3, 3e-3
KERNELS = "grouped_bwd_data*"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=40, help="distinct problems")
    parser.add_argument("--repeat", type=int, default=3, help="seeds a problem; the first warms up and is not counted")
    parser.add_argument("--pytest", action="store_true", help="measure under pytest instead")
    parser.add_argument("-k", dest="words", default="", help="with --pytest: only tests whose ids match")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = _of_tests(arguments.words) if arguments.pytest else _of_cases(arguments.cases, arguments.repeat)
    if arguments.json:
        print(json.dumps(report))
    else:
        print(
            f"{report['verdicts']} verdicts, overhead of one: median {report['median_ms']:.3f} ms,"
            f" 90 % below {report['p90_ms']:.3f} ms (aim {report['aim_ms']:.0f} ms)"
        )
    return 0


def _of_cases(count: int, repeat: int) -> dict[str, float]:
    """Overheads of verdicts on small problems, each on every instance that takes it."""
    session = Session("host")
    chosen = candidates(KERNELS, {}, "host")
    overheads: list[float] = []
    for seed in range(repeat):
        for index in range(count):
            problem = parse_case_id(
                f"bwd_data_f16_nhwgc_g{1 + index % 2}n1k16c16_y3_h{6 + index}x7_s{1 + index % 3}_p1"
            )
            for kernel in select_for(problem, chosen).supporting:
                planned = PlannedCase(problem, kernel, seed=seed)
                started = perf_counter()
                verdict = verify(planned, session)
                wall = perf_counter() - started
                if not verdict.green:
                    sys.exit(f"{planned.id}: {verdict.outcome}: {verdict.reason}")
                if seed:
                    overheads.append(wall - _work(verdict))
    return _report(overheads, AIM_VERIFY)


class _Clock:
    """Wall time of each test from the outside of every other hook."""

    def __init__(self) -> None:
        self.walls: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        started = perf_counter()
        try:
            return (yield)
        finally:
            self.walls[item.nodeid] = perf_counter() - started


def _of_tests(words: str) -> dict[str, float]:
    """Overheads of a tier's tests. Its verdicts go to a separate folder."""
    clock = _Clock()
    session = Session("host")
    for name in session.families:
        session.opened.library(name)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BITGATE_OUT"] = folder
        arguments = [*suites_and_root(ours()), "-m", "smoke", "-q", "--target", "host", *QUIET, "-p", PLUGIN]
        code = pytest.main([*arguments, *(("-k", words) if words else ())], plugins=[clock])
        if code != 0:
            sys.exit(f"pytest ended with {code}: an overhead is only worth knowing of a green run")
        work: dict[str, float] = {}
        for verdict in read(Path(folder) / "host" / "results.jsonl"):
            work[verdict.test] = work.get(verdict.test, 0.0) + _work(verdict)
    return _report([clock.walls[test] - seconds for test, seconds in work.items()], AIM_PYTEST)


def _work(verdict: Verdict) -> float:
    return sum(verdict.seconds.get(part, 0.0) for part in ("kernel", "fill", "reference"))


def _report(overheads: list[float], aim: float) -> dict[str, float]:
    if len(overheads) < 2:
        sys.exit("fewer than two verdicts: nothing to report")
    return {
        "verdicts": len(overheads),
        "median_ms": statistics.median(overheads) * 1e3,
        "p90_ms": statistics.quantiles(overheads, n=10)[-1] * 1e3,
        "aim_ms": aim * 1e3,
    }


if __name__ == "__main__":
    sys.exit(main())
