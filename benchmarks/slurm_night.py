"""A night on a real Slurm of this machine, in which a node, a job and the controller are killed.

    python benchmarks/slurm_night.py [--out FOLDER] [--shards N] [--suite NAME ...]

Six nodes (a slurmd each) with the features gfx942, gfx90a and gfx1201; the host runs in the place of each. Three suites
of the smoke tier run on all three targets. In the middle one node loses its power, one job its processes, and the
controller is killed and started again with --resume. Every case must end with one verdict on each target, and what ran
again must be reported. Ends with 1 if not. Needs Debian's Slurm packages, and no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from junitparser import JUnitXml

from bitgate.core import paths
from bitgate.lab.ci import task as tasks
from bitgate.lab.ci.attempts import folder_of, name_of, record_of
from bitgate.lab.ci.journal import Journal, Place
from bitgate.lab.executors import dask_worker
from bitgate.results.record import event
from bitgate.results.run_plan import RunPlan

sys.path.insert(0, str(paths.root()))

from tests.ci.slurm_fixture import SlurmFixture, slurm_fixture
from tests.needs import lacking

TARGETS = ("gfx942", "gfx90a", "gfx1201")
NODES = {f"n{2 * number + half}": name for number, name in enumerate(TARGETS) for half in (1, 2)}
SUITES = ("conv_bwd_data", "conv_fwd", "reduction")
SOME = 60
"""Verdicts of a shard that are recorded when something happens to it."""
PATIENCE_SECONDS = 1200.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="an empty folder, kept; default: a temporary one")
    parser.add_argument("--shards", type=int, default=6, help="of each target")
    parser.add_argument("--suite", action="append", help=f"of bitgate's; default: {', '.join(SUITES)}")
    arguments = parser.parse_args()
    if why := lacking("slurm"):
        sys.exit(f"benchmarks/slurm_night.py: {why}")
    folder = (arguments.out or Path(tempfile.mkdtemp(prefix="bitgate-slurm-"))).absolute()
    try:
        write_project(folder, suites=arguments.suite or SUITES)
        (folder / "slurm").mkdir()
        with slurm_fixture(folder / "slurm", NODES, cpus=1) as cluster:
            return show(Night(folder, arguments.shards), cluster)
    finally:
        if not arguments.out:
            shutil.rmtree(folder, ignore_errors=True)


def write_project(folder: Path, backend: str = "slurm", suites: Sequence[str] = SUITES) -> None:
    """Some of bitgate's suites, and a lab whose pools are the features of its nodes."""
    for suite in suites:
        shutil.copytree(paths.data_folder("suites") / suite, folder / "suites" / suite)
    if (paths.data_folder("suites") / "durations").is_dir():
        shutil.copytree(paths.data_folder("suites") / "durations", folder / "suites" / "durations")
    lines = ["schema = 2"]
    for name in TARGETS:
        target = f"host_for_{name}"
        lines += [f"[target.{target}]", 'platform = "host"', 'gate = "pull_request"']
        lines += ["minutes = { smoke = 15, regression = 60 }"]
        lines += ["[[pool]]", f'name = "{name}"', f'target = "{target}"', f'backend = "{backend}"']
        lines += [f'constraint = "{name}"', 'state = "up"']
    (folder / "targets.toml").write_text("\n".join([*lines, ""]))
    (folder / "bitgate.toml").write_text('[bitgate]\nsuites = ["suites"]\ntargets = "targets.toml"\n')


class Night:
    """``bitgate submit`` in a separate process, watched through the files of its night."""

    def __init__(self, project: Path, shards: int, *executor: str) -> None:
        self.folder = project / "night"
        self._project = project
        self._log = project / "controller.txt"
        self._first = [
            *(executor or ("--executor=slurm",)),
            "--tier=smoke",
            *(f"--target=host_for_{name}" for name in TARGETS),
            f"--shards={shards}",
            "-n0",  # six jobs share the cores of this machine
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bitgate", "submit", f"--out={self.folder}", *(more or self._first)],
                cwd=self._project,
                env={**os.environ, "BITGATE_THREADS": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def wait(self) -> int:
        assert self._process
        return self._process.wait(PATIENCE_SECONDS)

    def running(self) -> Iterator[tuple[Place, Path, str]]:
        """Shards whose task has begun and not ended: their attempt's folder and node."""
        for place, progress in self.shards.items():
            if attempt := progress.open:
                path = folder_of(self.folder, place, attempt.number)
                if (process := tasks.process_of(path)) and not tasks.ended(path):
                    worker = dask_worker.begun(path)
                    yield place, path, worker.name if worker else process.node

    @property
    def shards(self) -> dict:  # type: ignore[type-arg]
        return dict(Journal(self.folder).night.shards) if (self.folder / "night.jsonl").is_file() else {}

    def until(self, true: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert self._process
            if self._process.poll() is not None or time.monotonic() > end:
                sys.exit(f"the night ended before its incidents:\n{self._log.read_text()}")
            time.sleep(0.2)


def show(night: Night, cluster: SlurmFixture) -> int:
    begun = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {line}", flush=True)

    night.start()
    tell(f"submitted; nodes {', '.join(f'{node} {name}' for node, name in NODES.items())}")
    place, node = with_verdicts(night, lambda node: NODES[node] == "gfx942")
    cluster.kill_node(node)
    tell(f"{node} lost its power while it ran {place[0]} {place[1]}")
    place, node = with_verdicts(night, lambda node: NODES[node] == "gfx90a")
    process = tasks.process_of(next(path for other, path, _ in night.running() if other == place))
    assert process
    os.kill(process.pid, signal.SIGKILL)
    tell(f"the job of {place[0]} {place[1]} was killed on {node}")
    place, node = with_verdicts(night, lambda node: NODES[node] == "gfx1201")
    night.kill()
    tell(f"the controller was killed while {place[0]} {place[1]} ran on {node}")
    time.sleep(5)
    night.start("--resume")
    tell("started again with --resume")
    code = night.wait()
    tell(f"ended with {code}")
    return 1 if report(night, code) else 0


def with_verdicts(night: Night, wanted: Callable[[str], bool]) -> tuple[Place, str]:
    """A shard that has recorded some of its verdicts and has not ended, on such a node."""
    found: list[tuple[Place, str]] = []

    def one() -> bool:
        for place, path, node in night.running():
            if wanted(node) and _recorded(path) >= SOME:
                found.append((place, node))
        return bool(found)

    night.until(one)
    return found[0]


def _recorded(path: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in path.rglob("results.jsonl"))


def red_cases(night: Night) -> Iterator[str]:
    """A line for each red verdict of each attempt, before the night's folder is removed."""
    for place, progress in night.shards.items():
        for attempt in progress.attempts:
            for found in event.scan(record_of(night.folder, place, attempt.number)):
                if not isinstance(found, event.BadLine) and not found.green:
                    yield f"red: {name_of(place)} attempt {attempt.number}: {json.dumps(event.to_event(found))}"


def report(night: Night, code: int, told: Collection[str] = ("node failed", "lost")) -> list[str]:
    """What was promised and did not come true; prints the table. ``told``: the ends that the journal must report."""
    plan = RunPlan.read(night.folder / "plan.json")
    wrong = [] if code == 0 else [f"the night ended with {code}"]
    print(f"\n{'target':<18} cases  verdicts  once  attempts  nodes")
    for target in plan.targets:
        planned = [item.id for part in plan.of(target) for item in part.cases]
        junit = JUnitXml.fromfile(str(night.folder / "merged" / target / "junit.xml"))
        named = Counter(case.name.partition("[")[2].removesuffix("]") for suite in junit for case in suite)
        once = sum(named[name] == 1 for name in planned)
        tried = [a for place, progress in night.shards.items() if place[0] == target for a in progress.attempts]
        nodes = sorted({attempt.status.node for attempt in tried if attempt.status and attempt.status.node})
        print(
            f"{target:<18} {len(planned):>5}  {sum(named.values()):>8}  {once:>4}  {len(tried):>8}  {' '.join(nodes)}"
        )
        if once != len(planned) or sum(named.values()) != len(planned):
            wrong.append(f"{target}: {once} of {len(planned)} cases have one verdict, {sum(named.values())} in all")
    summary = (night.folder / "merged" / "summary.md").read_text().replace("\\", "")
    again = [line.strip("> ") for line in summary.splitlines() if " ran again" in line]
    print("\nmarked in the report:", *(again or ["nothing"]), sep="\n  ")
    reran = [(place, a) for place, progress in night.shards.items() for a in progress.attempts[1:]]
    unmarked = [place for place, _ in reran if not any(f"{name_of(place)} ran again" in line for line in again)]
    if len(reran) < len(told) or unmarked:
        wrong.append(f"{len(reran)} attempts ran again, {len(unmarked)} of them are not marked")
    states = Counter(a.status.state.value for p in night.shards.values() for a in p.attempts if a.status)
    print("\nends:", json.dumps(states))
    print(*red_cases(night), sep="\n")
    if untold := set(told) - set(states):
        wrong.append(f"the journal does not tell: {', '.join(sorted(untold))}")
    print(*(f"RED: {line}" for line in wrong), sep="\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
