"""How long from nothing to green: a clone, an empty environment, an empty cache, then a tier of cases with two workers.

    python benchmarks/from_nothing.py                       the frozen smoke plan of benchmarks/frozen/host.txt
    python benchmarks/from_nothing.py --beside 565c3da   another commit too; without that file it runs its tier
    python benchmarks/from_nothing.py --shared           libraries from a store that is filled before the clock starts
    python benchmarks/from_nothing.py --environment this    with the packages of this Python, for the rest alone

Prints wall and CPU seconds of each phase: CPU seconds hold on a busy machine, too. ``units`` and ``cases`` are the
seconds that workers spent on compiling and on cases, added up over the workers. The environment is made as tox makes
one; pip downloads what its own cache does not hold. Ends with 1 if a run is not green.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
FROZEN = "benchmarks/frozen/host.txt"

_UNIT = re.compile(r"\[\d+/\d+\] (.+?) \.\.\. ([\d.]+) s")


@dataclass(frozen=True)
class Spent:
    """Seconds: ``cpu`` of all processes that a command waited for."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Trial:
    """One way from nothing to a verdict."""

    commit: str
    clone: Spent
    environment: Spent
    run: Spent
    units: float
    compiled: int
    cases: float
    verdicts: int
    left_out: int
    """Cases of the plan that the commit has under no such name."""
    green: bool

    @property
    def wall(self) -> float:
        return self.clone.wall + self.environment.wall + self.run.wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="HEAD", help="what is cloned (default: HEAD; edits are left out)")
    parser.add_argument("--beside", metavar="COMMIT", help="another commit, run before each run of the first")
    parser.add_argument("--repeat", type=int, default=1, help="trials of each; the fastest counts")
    parser.add_argument("--tier", default="smoke")
    parser.add_argument("--whole", action="store_true", help="the whole tier, not the frozen plan")
    parser.add_argument("--workers", default="2", metavar="N")
    parser.add_argument("--shared", action="store_true", help="libraries are in a store already")
    parser.add_argument("--environment", choices=("empty", "this"), default="empty")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    commits = [commit for commit in (arguments.beside, arguments.commit) if commit]
    best: dict[str, Trial] = {}
    for _ in range(arguments.repeat):
        for commit in commits:
            with tempfile.TemporaryDirectory(prefix="from-nothing-") as folder:
                trial = attempt(Path(folder), commit, arguments)
            if commit not in best or trial.wall < best[commit].wall:
                best[commit] = trial
            _say(f"{trial.commit}: {trial.wall:.1f} s")
    if arguments.json:
        print(json.dumps([asdict(best[commit]) | {"wall": best[commit].wall} for commit in commits]))
    else:
        print_table([best[commit] for commit in commits])
    return 0 if all(trial.green for trial in best.values()) else 1


def attempt(folder: Path, commit: str, arguments: argparse.Namespace) -> Trial:
    """Everything that it makes stays below ``folder``. SystemExit, in one line, if a step fails before the run."""
    checkout = folder / "checkout"
    clone = _step("clone", ["git", "clone", "-q", str(ROOT), str(checkout)])
    full = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", commit], capture_output=True, text=True, check=False
    ).stdout.strip()
    _step("checkout", ["git", "-C", str(checkout), "checkout", "-q", "--detach", full or commit])
    python, environment, path = sys.executable, Spent(0.0, 0.0), {"PYTHONPATH": str(checkout / "harness")}
    if arguments.environment == "empty":
        python, path = str(folder / "venv" / "bin" / "python"), {"PYTHONPATH": ""}
        made = _step("environment", [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")])
        pip = [sys.executable, "-m", "pip", "-q", "--python", python, "install", "--no-compile"]
        filled = _step("packages", [*pip, "-e", str(checkout)])
        environment = Spent(made.wall + filled.wall, made.cpu + filled.cpu)
    # Nor how this shell's Python behaves: with PYTHONDONTWRITEBYTECODE each process compiles every module.
    apart = {
        name: value for name, value in os.environ.items() if not name.startswith(("BITGATE_", "PYTEST_", "PYTHON"))
    }
    variables = {**apart, **path, "BITGATE_CACHE": str(folder / "cache"), "BITGATE_OUT": str(folder / "out")}
    if arguments.shared:
        store = {**variables, **_elsewhere(folder)}
        options = ["--target", "host", "--tier", arguments.tier, "--artefacts", str(folder / "store")]
        _step("store", [python, "-m", "bitgate", "compile", *options], store)
        variables["BITGATE_ARTEFACTS"] = str(folder / "store")
    plan, left_out = folder / "plan.txt", 0
    if (checkout / FROZEN).is_file() and not arguments.whole:
        left_out = write_plan(plan, checkout, python, {**variables, **_elsewhere(folder)}, arguments)
    select = ["--select", str(plan)] if plan.is_file() else []
    command = ["run", "--tier", arguments.tier, "--target", "host", "-n", arguments.workers, *select]
    begun, before = perf_counter(), _cpu_of_children()
    done = subprocess.run(
        [python, "-m", "bitgate", *command],
        cwd=checkout,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    run = Spent(perf_counter() - begun, _cpu_of_children() - before)
    if done.returncode:
        _say(done.stdout[-3000:])
    units = [float(seconds) for _, seconds in _UNIT.findall(done.stdout)]
    cases = _seconds_of_cases(folder / "out")
    green = done.returncode == 0
    return Trial(full, clone, environment, run, sum(units), len(units), sum(cases), len(cases), left_out, green)


def write_plan(
    path: Path, checkout: Path, python: str, variables: Mapping[str, str], arguments: argparse.Namespace
) -> int:
    """The frozen plan as far as the commit can run it; how many of its cases it cannot. Nothing is timed of it.

    A commit of today runs what an id names, also where its tier draws another instance for the case; an older one runs
    what its tier plans."""
    shutil.copy(checkout / FROZEN, path)
    where = ["--tier", arguments.tier, "--target", "host"]
    whole = [python, "-m", "pytest", "suites", *where, "--select", str(path), "--collect-only", "-q"]
    if not _ended(whole, checkout, variables).returncode:
        return 0
    done = _ended([python, "-m", "bitgate", "cases", *where, "--json"], checkout, variables)
    if done.returncode:
        raise SystemExit(f"'{' '.join(done.args)}' ended with {done.returncode}: {done.stderr[-300:]}")
    known = {case["id"] for case in json.loads(done.stdout)["plan"]["cases"]}
    names = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    path.write_text("".join(f"{name}\n" for name in names if name in known))
    return sum(name not in known for name in names)


def _ended(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def _elsewhere(folder: Path) -> dict[str, str]:
    """What is done before the clock starts leaves nothing where the run looks."""
    return {"BITGATE_CACHE": str(folder / "elsewhere"), "BITGATE_OUT": str(folder / "elsewhere")}


def print_table(trials: Sequence[Trial]) -> None:
    rows: dict[str, list[str]] = {
        "commit": [trial.commit for trial in trials],
        "clone, s": [f"{trial.clone.wall:.1f} ({trial.clone.cpu:.1f} CPU)" for trial in trials],
        "environment, s": [f"{trial.environment.wall:.1f} ({trial.environment.cpu:.1f} CPU)" for trial in trials],
        "build and cases, s": [f"{trial.run.wall:.1f} ({trial.run.cpu:.1f} CPU)" for trial in trials],
        "of it units": [f"{trial.units:.1f} in {trial.compiled}" for trial in trials],
        "of it cases": [f"{trial.cases:.1f} in {trial.verdicts}" for trial in trials],
        "cases left out": [str(trial.left_out) for trial in trials],
        "from nothing, s": [f"{trial.wall:.1f}" for trial in trials],
        "green": ["yes" if trial.green else "NO" for trial in trials],
    }
    for name, cells in rows.items():
        print(f"{name:20}" + "".join(f"{cell:>24}" for cell in cells))


def _step(what: str, command: Sequence[str], variables: Mapping[str, str] | None = None) -> Spent:
    _say(f"{what} ...")
    begun, before = perf_counter(), _cpu_of_children()
    done = subprocess.run(
        command,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise SystemExit(f"{what}: '{' '.join(command)}' ended with {done.returncode}: {last}")
    return Spent(perf_counter() - begun, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seconds_of_cases(out: Path) -> list[float]:
    records = [path.read_text().splitlines() for path in out.rglob("results.jsonl")]
    return [float(json.loads(line)["seconds"]["total"]) for lines in records for line in lines]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is not in PATH: from nothing begins with a clone")
    raise SystemExit(main())
