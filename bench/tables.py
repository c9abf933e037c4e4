"""Do generated tables find what CK's own shapes leave alive? ``python bench/tables.py [--bugs 500] [--run 3]``

Three tables of bwd_data problems: CK's 25 shapes, a generated one with every pair of classes (smoke), and one with 95 %
of all triples (regression). First, for many bugs planted by a seed (conjunctions of four conditions,
``bitgate.fuzz.planting``): how many have a row on which all four hold, without which no run can notice them. Then, with
``--run N``, N of the bugs that no row of CK's reaches are really planted, and each table is run against them as a suite
by the machinery of ``bitgate faults``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bitgate import rooms
from bitgate.coverage.assume import Assumptions
from bitgate.coverage.batch import Batch
from bitgate.coverage.generate import close
from bitgate.coverage.readers import read
from bitgate.coverage.survey import Space, Survey
from bitgate.coverage.table import EVERYTHING, Question
from bitgate.faults.trial import Bench, score, try_faults
from bitgate.fuzz.draw import work
from bitgate.fuzz.planting import Planted, plant
from bitgate.kernel.registry import families
from bitgate.problem import ConvProblem, DtypeSet, Pass, case_id

FAMILY = "grouped_bwd_data"
CK_TABLE = Path(__file__).resolve().parent.parent / "tests/coverage/data/ck_bwd_data_shapes.csv"
MOST_WORK = 3e8
"""Rows with more multiply-adds, whole tiles counted, are left out of real runs: they take a CPU minutes."""
TEST = """from bitgate.plugin import cases


@cases("{name}")
def test_bits(planned, gate):
    gate(planned)
"""


def tables() -> dict[str, list[ConvProblem]]:
    space = Space(Pass.BWD_DATA, EVERYTHING, Assumptions.parse(["dtypes=f32,f16,bf16", "layout=nhwgc,gnhwc"], ()))
    smoke, regression = (close(Survey(space, [], t), until, seed=1) for t, until in ((2, 1.0), (3, 0.95)))
    for name, closing in (("smoke", smoke), ("regression", regression)):
        share = 100 * closing.covered / closing.total
        print(f"generated {name}: {len(closing.rows)} rows, {share:.2f} % of its combinations (CK: 25 rows)")
    return {
        "CK's shapes": [row.problem for row in read(CK_TABLE, Question()).rows],
        "generated smoke": [row.problem for row in smoke.rows],
        "generated regression": [row.problem for row in regression.rows],
    }


def reach(found: dict[str, list[ConvProblem]], bugs: Sequence[Planted]) -> None:
    for name, problems in found.items():
        batch = Batch.from_problems(problems)
        reached = sum(bool(bug.holds(batch).any()) for bug in bugs)
        print(f"{name}: {len(problems)} rows reach {reached} of {len(bugs)} planted bugs")


def write_suite(folder: Path, problems: Sequence[ConvProblem]) -> Path:
    """A folder of one suite with these problems, on one instance each."""
    suite = folder / "suites" / "table"
    suite.mkdir(parents=True)
    rows = ["[defaults]", 'tier = "smoke"', f'kernels = "{FAMILY}"', 'instances = "one"', ""]
    family = families(target="host")[FAMILY]
    supported = [
        problem
        for problem in problems
        if work(Batch.from_problems([problem]))[0] <= MOST_WORK
        and any(family.supports(problem, i, {}) is None for i in family.instances)
    ]
    for number, case in enumerate(sorted({case_id(problem) for problem in supported})):
        rows += ["[[case]]", f'name = "row_{number}"', f'case = "{case}"', 'why = "a row of the table"', ""]
    (suite / "cases.toml").write_text("\n".join(rows))
    (suite / "test_table.py").write_text(TEST.format(name="table"))
    return suite.parent


def run(found: dict[str, list[ConvProblem]], bugs: Sequence[Planted]) -> None:
    faults = [bug.fault(f"planted_{number}", rooms.root()) for number, bug in enumerate(bugs)]
    for name, problems in found.items():
        typed = [replace(p, dtypes=DtypeSet.parse("f32")) if name == "CK's shapes" else p for p in problems]
        with tempfile.TemporaryDirectory() as scratch:
            suites = write_suite(Path(scratch), typed)
            trials = try_faults(faults, Bench("smoke", "host", 900, suites), lambda trial: None)
            for trial in trials:
                state = f"found: {trial.verdict} {trial.by} {trial.note}" if trial.killed else f"alive ({trial.note})"
                print(f"  {trial.fault.imitates}: {state}", flush=True)
            print(f"{name}: {100 * score(trials):.0f} % of {len(trials)} planted bugs found", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", type=int, default=500)
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = tables()
    bugs = [plant(FAMILY, arguments.seed * 10_000 + number) for number in range(arguments.bugs)]
    reach(found, bugs)
    ck = Batch.from_problems(found["CK's shapes"])
    missed = [bug for bug in bugs if not bug.holds(ck).any()]
    if arguments.run:
        run(found, missed[: arguments.run])


if __name__ == "__main__":
    main()
