"""Where the processor's time of a run goes: by process, and by what the record says of its verdicts.

    python benchmarks/stages.py [SUITE ...] [--tier smoke] [--target host] [--workers N] [--repeat R] [--json]

What the run needs is built first, by a run that is not counted. Processor time is that of all of a process' threads,
user and system, as the system lists it while the process lives: on a busy machine it says more than the clock does.
The record's parts are by the clock. Of several runs the cheapest is shown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from time import sleep

import psutil
from own_speed import bitgate

from bitgate.results.record import Verdict, read

PAUSE = 0.02
"""Seconds between looks at the processes: what one does after the last look at it is not seen."""
ROLES = (
    "command: start, exit code by plan and record",
    "pytest: collection, tests, record, reports",
    "zygote of the judges",
    "judges: data, references, comparison",
    "zygotes of the launchers",
    "launchers: device, kernels, watch",
)
"""The processes of a run by their generation; docs/architecture.md shows them."""
PROGRAMS = "other programs: git, compilers"
SESSION = "bitgate.suite.session_entry"
"""In the words of pytest's process, and so of all that are copies of its beginning."""
PARTS = ("kernel", "fill", "reference", "compare")


@dataclass(frozen=True)
class Row:
    """Seconds of a stage; ``system`` is None where they are by the clock."""

    stage: str
    user: float
    system: float | None

    @property
    def seconds(self) -> float:
        return self.user + (self.system or 0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="folders of suites; default: all")
    parser.add_argument("--tier", default="smoke")
    parser.add_argument("--target", default="host")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    run = ("run", *options.suites, "--tier", options.tier, "--target", options.target, f"-n{options.workers}", "--json")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        bitgate(*run, out=out)
        processes = min((watched(run, out) for _ in range(options.repeat)), key=total)
        verdicts = list(read(out / options.target / "results.jsonl"))
    tables = {"processes": processes, "record": parts(verdicts)}
    if options.json:
        print(json.dumps({"verdicts": len(verdicts)} | {name: [*map(asdict, rows)] for name, rows in tables.items()}))
    else:
        show(tables, len(verdicts))
    return 0


def watched(arguments: tuple[str, ...], out: Path) -> list[Row]:
    """Run a command of bitgate's, and return the processor time of its processes by their roles."""
    environment = {**psutil.Process().environ(), "BITGATE_OUT": str(out)}
    command = [sys.executable, "-m", "bitgate", *arguments]
    seen: dict[tuple[int, float], tuple[str, float, float]] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        root = psutil.Process(process.pid)
        while process.poll() is None:
            look(root, seen)
            sleep(PAUSE)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}: stages are of a green run")
    spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for role, user, system in seen.values():
        spent[role][0] += user
        spent[role][1] += system
    return [Row(role, *spent[role]) for role in (*ROLES, PROGRAMS) if role in spent]


def look(root: psutil.Process, seen: dict[tuple[int, float], tuple[str, float, float]]) -> None:
    """Note the time of each process that lives. One that ends meanwhile keeps what was noted before."""
    generations = {root.pid: 0}
    for process in (root, *root.children(recursive=True)):
        try:
            with process.oneshot():
                parent = generations.get(process.ppid(), 0)
                generation = generations.setdefault(process.pid, parent + 1)
                key, times = (process.pid, process.create_time()), process.cpu_times()
                role = seen[key][0] if key in seen else role_of(process, generation)  # at its end it has no words
                seen[key] = role, times.user, times.system
        except psutil.Error:
            continue


def role_of(process: psutil.Process, generation: int) -> str:
    is_ours = generation == 0 or any(SESSION in word for word in process.cmdline())
    return ROLES[generation] if is_ours and generation < len(ROLES) else PROGRAMS


def parts(verdicts: list[Verdict]) -> list[Row]:
    """Return what the verdicts say of their parts, by the clock; the rest is all else until each was there."""
    sums = {part: sum(verdict.seconds.get(part, 0.0) for verdict in verdicts) for part in (*PARTS, "total")}
    rest = sums.pop("total") - sum(sums.values())
    return [Row(part, seconds, None) for part, seconds in {**sums, "rest of the verdict": rest}.items()]


def total(rows: list[Row]) -> float:
    return sum(row.seconds for row in rows)


def show(tables: dict[str, list[Row]], verdicts: int) -> None:
    for name, rows in tables.items():
        clock = "processor time" if name == "processes" else "by the clock, as the record says"
        print(f"{verdicts} verdicts, {clock}: {total(rows):.2f} s, {1e3 * total(rows) / verdicts:.2f} ms each")
        for row in rows:
            system = "" if row.system is None else f" ({row.system:.2f} in the system)"
            share, each = row.seconds / total(rows), 1e3 * row.seconds / verdicts
            print(f"  {share:4.0%} {row.seconds:8.2f} s {each:7.3f} ms  {row.stage}{system}")


if __name__ == "__main__":
    sys.exit(main())
