"""Do generated tables find what CK's own shapes leave alive?

``python benchmarks/tables.py [--run 8] [--files NAME ...]``

Four tables of bwd_data problems, all in f32 so that one translation unit is built a fault, in two layouts:

- CK's shapes as CK's test runs them: packed, no D tensor, split_k 1 and 2;
- the same shapes in all that a table of shapes can be multiplied by: with and without gaps and a D tensor as well;
- a generated one with every pair of classes (smoke), and one with 95 % of all triples (regression).

First, for many bugs planted by a seed (conjunctions of four conditions, ``planting.py``): how many
have a row on which all four hold, without which no run can notice them. Then ``--run`` of those bugs and the written
faults of the named files of suites/faults are really tried: each table's rows, on one instance each, until the first
red verdict. Rows that are not green without any fault prove nothing and are left out, and so are large ones.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from planting import Planted, plant

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build import overlay as overlays
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.model import operation_called
from bitgate.model.space.table import NamedProblem, TableRequest
from bitgate.ops.convolution import ConvProblem, Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.results.record import Outcome
from bitgate.tools.coverage.assume import Assumptions, all_columns, spread
from bitgate.tools.coverage.generate import close
from bitgate.tools.coverage.readers import read
from bitgate.tools.coverage.survey import Scope, Survey
from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

FAMILY = "grouped_bwd_data"
UNIT = "grouped_bwd_data_f32_w32"
CK_TABLE = Path(__file__).resolve().parent.parent / "tests/coverage/data/ck_bwd_data_shapes.csv"
FILES = ("bwd", "spine", "catalogue_grouped")
SOURCES = (f"kernels/{FAMILY}/", "kernels/include/")
"""Faults elsewhere are other kernels': no table of these rows could notice them."""

MOST_WORK = 5e7
"""Rows with more multiply-adds, whole tiles counted, take too long to be run a hundred times. CK's are run with
fewer images and channels instead."""

CASE_SECONDS, BUILD_SECONDS = 60.0, 600.0
"""A case that takes longer is HUNG, and the fault found; a build that takes longer is no valid fault."""

CK, CK_ALL, SMOKE, REGRESSION = NAMES = ("CK's test", "CK's shapes, all columns", "smoke", "regression")
COMMON = ("dtypes=f32", "layout=nhwgc,gnhwc")

Answer = str
"""What a table says of a fault: the outcome that found it, or empty."""


def narrow() -> KernelFamily:
    """The family with the instances and the sources of one translation unit."""
    family = families(target="host")[FAMILY].on("host")
    sources = tuple(source for source in family.sources if source.startswith(("library.", f"{UNIT}.")))
    return replace(family, sources=sources, instances=tuple(i for i in family.instances if i.group == UNIT))


def lighter(problem: ConvProblem) -> ConvProblem:
    """The problem with its images, then its channels halved until it takes no more than MOST_WORK; K and C stay whole
    tiles."""
    while Batch.from_problems([problem]).work[0] > MOST_WORK:
        widest = "n" if problem.n > 1 else "k" if problem.k >= problem.c else "c"
        half = getattr(problem, widest) // 2
        if widest != "n" and half % 8:
            break
        problem = replace(problem, **{widest: half})
    return problem


def ck_shapes(*columns: str) -> list[ConvProblem]:
    shapes = read(CK_TABLE, TableRequest())
    rows = tuple(NamedProblem(row.name, lighter(row.problem)) for row in shapes.rows)
    table = replace(shapes, rows=rows)
    return [row.problem for row in spread(table, Assumptions.parse([*COMMON, *columns], ()))]


def tables() -> dict[str, list[ConvProblem]]:
    scope = Scope(operation_called(Pass.BWD_DATA.value), all_columns(), Assumptions.parse(COMMON, ()))
    smoke, regression = (close(Survey(scope, [], t), until, seed=1) for t, until in ((2, 1.0), (3, 0.95)))
    for name, closing in ((SMOKE, smoke), (REGRESSION, regression)):
        share = 100 * closing.covered / closing.total
        print(f"generated {name}: {len(closing.rows)} rows, {share:.2f} % of its combinations (CK: 25 shapes)")
    return {
        CK: ck_shapes("split_k=1,2"),
        CK_ALL: ck_shapes("split_k=1,2", "numd=0,1", "gap=packed,strided"),
        SMOKE: [row.problem for row in smoke.rows],
        REGRESSION: [row.problem for row in regression.rows],
    }


def reach(found: Mapping[str, Sequence[ConvProblem]], bugs: Sequence[Planted]) -> None:
    for name, problems in found.items():
        batch = Batch.from_problems(problems)
        reached = sum(bool(bug.holds(batch).any()) for bug in bugs)
        print(f"{name}: {len(problems)} rows reach {reached} of {len(bugs)} planted bugs")


def planned(problems: Sequence[ConvProblem], family: KernelFamily) -> list[PlannedCase]:
    """Each row on one of the instances that take it, the one with the fewest rows so far; the cheapest row first, so
    that a fault is found soon."""
    costs = Batch.from_problems(problems).work
    met: Counter[str] = Counter()
    cases = []
    for i in sorted((i for i in range(len(problems)) if costs[i] <= MOST_WORK), key=lambda i: float(costs[i])):
        taking = [instance for instance in family.instances if not family.supports(problems[i], instance, {})]
        if taking:
            chosen = min(taking, key=lambda instance: met[instance.name])
            met[chosen.name] += 1
            cases.append(PlannedCase(problems[i], Kernel(family, chosen)))
    return cases


def session() -> Session:
    """A session whose family is the narrow one. Its library is built where it is first asked for."""
    opened = Session("host", progress=lambda line: None)
    opened.families = {**opened.families, FAMILY: narrow()}
    return opened


def judged(shared: Session, cases: Sequence[PlannedCase]) -> Iterator[Answer]:
    for case in cases:
        verdict = verify(case, shared)
        yield "" if verdict.green or verdict.outcome.is_unanswered else verdict.outcome.value


def built(shared: Session) -> Iterator[Answer]:
    """Why the library does not compile, or nothing. Whoever asks for it next finds it in the cache."""
    try:
        shared.builder.family(shared.family(FAMILY))
    except BuildError as error:
        yield str(error)


def in_child(answers: Iterator[Answer], seconds: float) -> Answer:
    """The first answer that is not empty, of a separate process: a kernel may crash or hang it. ``seconds``: what
    one answer may take."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def tell(pipe: Connection) -> None:
        for answer in answers:
            pipe.send(answer)

    child = context.Process(target=tell, args=(there,))
    child.start()
    there.close()
    try:
        while here.poll(seconds):
            if answer := str(here.recv()):
                return answer
        return Outcome.HUNG.value
    except EOFError:
        child.join()
        code = child.exitcode or 0
        if code > 0:
            raise UsageError("a trial ended by an error of its own, which stands above") from None
        return Outcome.CRASHED.value if code else ""
    finally:
        child.kill()
        child.join()


@dataclass(frozen=True)
class Trial:
    """``by``: what each table said, in order of NAMES; ``note``: why the fault is not valid, else empty."""

    fault: Fault
    by: tuple[Answer, ...]
    note: str = ""


class Trials:
    """Tables with green cases only, and a session that knows their inputs and references but has no library yet: the
    children of a fault inherit both."""

    def __init__(self, found: Mapping[str, Sequence[ConvProblem]]) -> None:
        self.cases: dict[str, list[PlannedCase]] = {}
        self.shared = session()
        family, healthy = self.shared.family(FAMILY), session()
        for name in (CK, CK_ALL, SMOKE, REGRESSION):
            started = time.perf_counter()
            verdicts = [(case, verify(case, healthy)) for case in planned(found[name], family)]
            seconds = time.perf_counter() - started
            self.cases[name] = [case for case, verdict in verdicts if verdict.green]
            for case, verdict in verdicts:
                if verdict.green:
                    self.shared.reference(case.problem, case.kernel.instance, case.fill, case.seed, "exact")
                else:
                    print(f"  left out, {verdict.outcome.value} without any fault: {case.id}: {verdict.reason}")
            print(f"{name}: {len(self.cases[name])} of {len(found[name])} rows run, {seconds:.1f} s")
        known = {case.id for case in self.cases[CK]}
        self.cases[CK_ALL] = [case for case in self.cases[CK_ALL] if case.id not in known]

    def of(self, fault: Fault) -> Trial:
        with tempfile.TemporaryDirectory(prefix="bitgate-overlay-") as folder:
            fault.plant(paths.root(), Path(folder))
            os.environ |= {overlays.VARIABLE: folder, overlays.QUICK: "1"}
            note = in_child(built(self.shared), BUILD_SECONDS)
            if note:
                return Trial(fault, ("",) * len(NAMES), note)
            ck = self._ask(CK)
            return Trial(fault, (ck, ck or self._ask(CK_ALL), self._ask(SMOKE), self._ask(REGRESSION)))

    def _ask(self, name: str) -> Answer:
        return in_child(judged(self.shared, self.cases[name]), CASE_SECONDS)


_trials: Trials | None = None
"""Set before the pool forks, so that its processes have the references; an argument would be pickled."""


def _try(fault: Fault) -> Trial:
    assert _trials is not None
    return _trials.of(fault)


def run(trials: Trials, faults: Sequence[Fault], jobs: int) -> Iterator[Trial]:
    global _trials
    _trials = trials
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_try, faults)


def show(trials: Sequence[Trial]) -> None:
    """The sums, and who is alive where."""
    valid = [trial for trial in trials if not trial.note]
    print(
        f"\n{len(valid)} faults" + "".join(f"; {t.fault.name} is not valid: {t.note[:200]}" for t in trials if t.note)
    )
    for column, name in enumerate(NAMES):
        print(f"{name}: {sum(bool(trial.by[column]) for trial in valid)} of {len(valid)} found")
    kinds: dict[str, Callable[[Trial], object]] = {
        "alive in CK's test, found by generated smoke": lambda t: not t.by[0] and t.by[2],
        "alive in all columns of CK's shapes, found by generated smoke": lambda t: not t.by[1] and t.by[2],
        "alive in all columns of CK's shapes, found by generated regression alone": lambda t: (
            not t.by[1] and not t.by[2] and t.by[3]
        ),
        "found by CK's shapes, alive in both generated ones": lambda t: t.by[1] and not t.by[2] and not t.by[3],
        "alive in all": lambda t: not any(t.by),
    }
    for what, holds in kinds.items():
        names = [trial.fault.name for trial in valid if holds(trial)]
        print(f"{what}: {len(names)}" + "".join(f"\n    {name}" for name in names))


def written(files: Sequence[str]) -> list[Fault]:
    """The faults of suites/faults/<name>.toml that are in sources of the family."""
    folder = paths.data_folder("suites") / "faults"
    faults = read_faults([folder / f"{name}.toml" for name in files])
    return [fault for fault in faults if fault.file.startswith(SOURCES)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", type=int, default=500, help="planted bugs whose rows are counted")
    parser.add_argument("--run", type=int, default=8, help="how many of them are tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", nargs="*", default=FILES, metavar="NAME", help=f"[{' '.join(FILES)}]")
    parser.add_argument("--jobs", type=int, default=paths.threads(), help="faults at a time")
    arguments = parser.parse_args()
    os.environ["BITGATE_THREADS"] = "1"  # the runtime's threads would not survive a fork
    started = time.perf_counter()
    found = tables()
    bugs = [plant(FAMILY, arguments.seed * 10_000 + number) for number in range(arguments.bugs)]
    reach(found, bugs)
    faults = [bug.fault(f"planted_{n}", paths.root()) for n, bug in enumerate(bugs[: arguments.run])]
    faults += written(arguments.files)
    trials = Trials(found)
    print(f"\n{'fault':48} {'  '.join(NAMES)}")
    done = []
    for trial in run(trials, faults, arguments.jobs):
        done.append(trial)
        cells = (f"{answer or '-':>{len(name)}}" for answer, name in zip(trial.by, NAMES, strict=True))
        print(f"{trial.fault.name:48} {trial.note[:60] or '  '.join(cells)}", flush=True)
    show(done)
    for trial in done[: arguments.run]:
        print(f"{trial.fault.name}: {trial.fault.imitates}")
    print(f"{time.perf_counter() - started:.0f} s with {arguments.jobs} at a time")


if __name__ == "__main__":
    main()
