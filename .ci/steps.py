"""Steps of a check with their time budget, one after the other or side by side; the table at the end decides."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.needs import NEEDS  # noqa: E402

OUT = ROOT / "out"
TOOLS = ROOT / ".tox" / "tools"


@dataclass(frozen=True)
class Step:
    """A command that must end with 0 within three times its ``budget`` in seconds.

    ``junit`` is a glob below out/ for the reports of tests: a step that should have some and ran none is red.
    ``environment``: by default this process's.
    """

    name: str
    budget: int
    command: Sequence[str] | Callable[[], None]
    junit: str = ""
    environment: Mapping[str, str] | None = None


Steps = Sequence[Step | tuple[Step, ...]]
"""Steps in their order; those of a tuple run side by side."""


@dataclass
class Result:
    step: Step
    seconds: float
    problem: str
    passed: int = 0
    failed: int = 0


def tox(*arguments: str) -> list[str]:
    return [str(TOOLS / "bin" / "tox"), "run", *arguments]


def needed(*names: str) -> list[str]:
    """The Debian packages that bring these needs of tests; of all that the nightly promises, if none is named."""
    promised = [name for name, need in NEEDS.items() if need.nightly]
    return [package for name in names or promised for package in NEEDS[name].packages]


def install(*packages: str) -> Callable[[], None]:
    """Return the installation of Debian packages, and of tox in a separate environment, as far as they are missing."""

    def work() -> None:
        missing = [package for package in packages if not _installed(package)]
        if missing:
            _call(["apt-get", "-qq", "update"])
            _call(["apt-get", "-qq", "-y", "install", "--no-install-recommends", *missing])
        if not (TOOLS / "bin" / "tox").exists():
            _call([sys.executable, "-m", "venv", str(TOOLS)])
            _call([str(TOOLS / "bin" / "pip"), "install", "--quiet", "tox>=4.20"])

    return work


def chosen(steps: Steps, names: Sequence[str]) -> Steps:
    """Return the first step, which sets up, and those of these names; all if none is named."""
    known = [step.name for step in _flat(steps[1:])]
    if unknown := set(names) - {*known}:
        sys.exit(f"unknown steps: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    kept = [tuple(step for step in _group(one) if not names or step.name in names) for one in steps[1:]]
    return [steps[0], *filter(None, kept)]


def _group(steps: Step | tuple[Step, ...]) -> tuple[Step, ...]:
    return steps if isinstance(steps, tuple) else (steps,)


def _flat(steps: Steps) -> Iterator[Step]:
    for one in steps:
        yield from _group(one)


def run(steps: Steps) -> int:
    """Run all steps, even after a red one, and print the table. Return the exit code."""
    os.environ["CI"] = "true"
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    started = time.monotonic()
    results = [result for one in steps for result in _run_group(_group(one))]
    _print(results, time.monotonic() - started, sum(max(step.budget for step in _group(one)) for one in steps))
    return 1 if any(result.problem for result in results) else 0


def _run_group(steps: Sequence[Step]) -> list[Result]:
    if len(steps) == 1:
        _print_title(steps[0])
        return [_run(steps[0])]
    print(f"\n{', '.join(step.name for step in steps)}: side by side, each printed at its end", flush=True)
    printing = Lock()

    def run_quietly(step: Step) -> Result:
        log = OUT / f"{step.name}.log"
        with log.open("wb") as output:
            result = _run(step, output)
        with printing:
            _print_title(step)
            print(log.read_text(errors="replace"), flush=True)
        return result

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(run_quietly, steps))


def _print_title(step: Step) -> None:
    print(f"\n=== {step.name} (budget {step.budget} s)", flush=True)


def _run(step: Step, output: IO[bytes] | None = None) -> Result:
    before = {file: file.stat().st_mtime_ns for file in OUT.glob(step.junit)} if step.junit else {}
    started = time.monotonic()
    problem = ""
    try:
        if callable(step.command):
            step.command()
        else:
            _call(step.command, 3 * step.budget, step.environment, output)
    except subprocess.CalledProcessError as error:
        problem = f"{Path(error.cmd[0]).name} ended with {error.returncode}"
    except Exception as error:  # whatever a step raises, the others still run
        problem = f"{type(error).__name__}: {error}"
    result = Result(step, time.monotonic() - started, problem)
    if step.junit:
        for file in OUT.glob(step.junit):
            if before.get(file) != file.stat().st_mtime_ns:
                _count(result, file)
        if not result.passed + result.failed:
            result.problem = result.problem or "no test ran"
        elif result.failed:
            result.problem = result.problem or f"{result.failed} failed"
    return result


def _call(
    command: Sequence[str],
    limit: float | None = None,
    environment: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
) -> None:
    stderr = None if output is None else subprocess.STDOUT
    # Without a terminal at stdin a question becomes an error instead of a wait.
    subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=stderr,
        check=True,
        timeout=limit,
        env=environment,
    )


def _installed(package: str) -> bool:
    done = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.endswith(" installed")


def _count(result: Result, junit: Path) -> None:
    for case in ElementTree.parse(junit).iter("testcase"):
        outcome = {child.tag for child in case}
        if outcome & {"failure", "error"}:
            result.failed += 1
        elif "skipped" not in outcome:
            result.passed += 1


def _print(results: Sequence[Result], total: float, budget: int) -> None:
    width = max(len(result.step.name) for result in results)
    print(f"\n{'step':<{width}}  seconds  budget  passed  failed")
    for result in results:
        print(
            f"{result.step.name:<{width}}  {result.seconds:>7.1f}  {result.step.budget:>6}"
            f"  {result.passed:>6}  {result.failed:>6}"
            f"{'  RED: ' + result.problem if result.problem else ''}"
            f"{'  over budget' if result.seconds > result.step.budget else ''}"
        )
    print(f"{'all':<{width}}  {total:>7.1f}  {budget:>6}")
    # A step that runs no tests counts as one check, so that the closing line says the same as the exit code.
    passed = sum(result.passed for result in results) + sum(not r.step.junit and not r.problem for r in results)
    failed = sum(result.failed or bool(result.problem) for result in results)
    print(f"{passed} passed, {failed} failed", flush=True)
