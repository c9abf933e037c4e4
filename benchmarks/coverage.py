"""How long ``bitgate coverage`` takes, and how well it finds what was taken away. ``python benchmarks/coverage.py``

Prints one line a measure: a fresh clone's first answer, where it names what #7732, #10627 and #12089 were about, 10,000
cases at strength 3, generated tables, and ten tables from which a random combination of 2 or 3 classes was removed with
all rows that had it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bitgate.model import operation_called
from bitgate.model.space.table import NamedProblem
from bitgate.ops.convolution import Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.draws import draw
from bitgate.tools.coverage.assume import Assumptions, all_columns
from bitgate.tools.coverage.combine import Combinations
from bitgate.tools.coverage.generate import close
from bitgate.tools.coverage.survey import Scope, Survey

ROOT = Path(__file__).resolve().parent.parent
TABLE = "tests/coverage/data/ck_bwd_data_shapes.csv"
MAIN = "from bitgate.cli.main import main; main()"


Classes = dict[str, str]
"""Factor -> class, as ``--json`` tells them of a hole."""

BUGS: dict[str, Callable[[Classes], bool]] = {
    "#7732 (2D, G=1, gemms_count > 1)": lambda f: (
        f.get("g") == "1" and f.get("gemms_count", "1")[0] != "1" and f.get("ndim", "2") == "2"
    ),
    "#10627 (flat path, split-N)": lambda f: f.get("path") == "flat" and f.get("split_n") in ("beyond", "yes"),
    "#12089 (flat path, K % vector)": lambda f: f.get("path") == "flat" and f.get("k_mod_vector") == "!=0",
}
"""Whether a hole is the one that hid the bug. The ranking knows none of them."""


def fresh_clone() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), folder], check=True)
        for what, options in (("before #7732", ["--where", "before_7732"]), ("with its rows", [])):
            for strength in (2, 3):
                begin, cpu = time.perf_counter(), os.times().children_user
                command = [sys.executable, "-c", MAIN, "coverage", "--cases", TABLE, "--assume", "numd=0", "--json"]
                command += [f"--strength={strength}", *options]
                environment = {"PYTHONPATH": f"{folder}/harness"}
                done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
                seconds, used = time.perf_counter() - begin, os.times().children_user - cpu
                holes = json.loads(done.stdout)["uncovered"]
                ranks = {bug: [h["rank"] for h in holes if holds(h["factors"])][:2] for bug, holds in BUGS.items()}
                told = "; ".join(f"{bug}: rank {', '.join(map(str, rank)) or 'none'}" for bug, rank in ranks.items())
                print(
                    f"fresh clone, CK's table {what}, strength {strength}: {seconds:.1f} s ({used:.1f} s CPU); {told}"
                )


def ten_thousand(scope: Scope) -> list[NamedProblem]:
    batch = draw(Pass.BWD_DATA, 99, 12_000, {"layout": (0, 1, 2), "split_k": (1, 2, -1), "dtypes": (0, 1, 2)})
    batch = batch.take(np.flatnonzero(batch.possible)[:10_000])
    rows = [NamedProblem(f"{i}", batch.problem(i)) for i in range(len(batch))]
    begin, cpu = time.perf_counter(), time.process_time()
    survey = Survey(scope, rows, 3)
    holes = sum(1 for _ in survey.ranked(exact=20))
    covered, total = survey.levels.counts()
    seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    print(f"{len(rows)} cases, strength 3: {seconds:.1f} s ({used:.1f} s CPU), {covered} of {total}, {holes} holes")
    return rows


def generated(scope: Scope) -> list[NamedProblem]:
    rows: tuple[NamedProblem, ...] = ()
    for strength, until in ((2, 1.0), (3, 0.95), (3, 1.0)):
        begin = time.perf_counter()
        closing = close(Survey(scope, [], strength), until, seed=1)
        share = 100 * closing.covered / closing.total
        macs = sum(row.problem.flops for row in closing.rows) / 2
        print(
            f"generated, {strength}-way to {100 * until:.0f} %: {len(closing.rows)} rows, {share:.2f} %,"
            f" {macs:.2e} multiply-adds in all, {time.perf_counter() - begin:.1f} s (CK's table: 25 rows)"
        )
        rows = tuple(NamedProblem(f"{i}", row.problem) for i, row in enumerate(closing.rows))
    return list(rows)


def removed(scope: Scope, rows: Sequence[NamedProblem], strength: int, what: str) -> None:
    factors = scope.factors
    varied = [i for i, factor in enumerate(factors) if (~factor.plan_only).sum() > 1]
    codes = scope.classify(Batch.from_problems([row.problem for row in rows]))
    combinations = Combinations(tuple(len(factors[i].classes) for i in varied), strength)
    there = np.flatnonzero(combinations.present(codes[:, varied]))
    ranks: list[int] = []
    for number in np.random.default_rng(1).permutation(there):
        taken = [(varied[i], cls) for i, cls in combinations.decode(int(number))]
        kept = ~np.logical_and.reduce([codes[:, f] == cls for f, cls in taken])
        if not all((codes[kept, f] == cls).any() for f, cls in taken):
            continue  # that would take a whole class away, not a combination
        if len(ranks) == 10:
            break
        survey = Survey(scope, [row for row, keep in zip(rows, kept, strict=True) if keep], strength)
        names = {factors[f].name: factors[f].classes[cls].name for f, cls in taken}
        found = (
            rank for rank, (hole, _) in enumerate(survey.order, 1) if names.items() <= survey.factors_of(hole).items()
        )
        ranks.append(next(found, 0))
    hits = sum(0 < rank <= 10 for rank in ranks)
    print(f"{what}: removed combination of {strength} in the top ten: {hits} of 10 (ranks {ranks}, 0: not told)")


def main() -> None:
    fresh_clone()
    scope = Scope(operation_called(Pass.BWD_DATA.value), all_columns(), Assumptions())
    many = ten_thousand(scope)
    table = generated(scope)
    for strength in (2, 3):
        removed(scope, table, strength, f"generated table of {len(table)} rows")
    removed(scope, many[:1000], 2, "1,000 random problems")


if __name__ == "__main__":
    main()
