"""Write the site of a history, and bring it up to date: seconds and peak memory of each.

    python benchmarks/history_site.py [--nights 40] [--verdicts 20000] [--noise 0.02] [--history FILE]

The history is of a laboratory with flaky cases, a machine that spoils answers, one that loses them, and cases that are
broken since a night; a case's time varies by ``--noise``. ``--history`` keeps it in a file, and takes it from there if
the file is there: making it takes longer than all else. The last night goes in after the site is written; then the
site is brought up to date, which renders all cases again, since each has a new answer; and once more with no news.
Seconds are of the wall and of the CPU of all processes; memory is that of the largest process, times their number.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.history.nights import TARGETS, Lab, Planted, write  # noqa: E402

from bitgate.lab.history.ingest import ingest  # noqa: E402
from bitgate.lab.history.store import opened  # noqa: E402

PROCESSES = 3
"""The command, and two that render."""


def laboratory(verdicts: int) -> Lab:
    planted = Planted(
        flakes={(number, "gfx942"): 0.2 for number in range(30)},
        bad_machine=("gfx90a-n2", 0.005),
        broken=(tuple(range(50, 120)), 25),
        losing=("gfx1201-n1", 0.005),
    )
    return Lab(cases=-(-verdicts // len(TARGETS)), planted=planted)


def remember(history: Path, lab: Lab, nights: range, verdicts: int, noise: float) -> None:
    chance = random.Random(nights.start)
    with tempfile.TemporaryDirectory() as folder, opened(str(history)) as store:
        for night in nights:
            found = lab.night(night)[:verdicts]
            timed = [replace(one, seconds={"total": 0.05 * (1 + chance.uniform(-noise, noise))}) for one in found]
            for _ in ingest(store, [write(Path(folder) / "results.jsonl", timed)]):
                pass
            print(f"night {night} of {nights.stop}", file=sys.stderr, flush=True)


def apart(*arguments: object) -> None:
    """Remember nights in another process: what a process starts has its memory at first, and would be measured so."""
    process = get_context("spawn").Process(target=remember, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"remembering nights ended with {process.exitcode}")


def timed(what: str, history: Path, site: Path) -> None:
    command = [sys.executable, "-m", "bitgate", "history", "--html", str(site), "--history", str(history), "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "harness")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = json.loads(done.stdout)["site"]
    peak = PROCESSES * after.ru_maxrss / 1024
    print(
        f"{what}: {said['cases']} cases, {said['rendered']} of {said['bundles']} pages of cases rendered,"
        f" {seconds:.1f} s, {used:.1f} s of CPU, at most {peak:.0f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nights", type=int, default=40)
    parser.add_argument("--verdicts", type=int, default=20_000, help="of each night")
    parser.add_argument("--noise", type=float, default=0.02, help="of a case's time, as a share")
    parser.add_argument("--history", type=Path, help="keep all nights but the last in this file")
    stated = parser.parse_args()
    lab = laboratory(stated.verdicts)
    with tempfile.TemporaryDirectory() as folder:
        history, site = Path(folder, "history.sqlite"), Path(folder, "site")
        if stated.history is None or not stated.history.exists():
            apart(history, lab, range(stated.nights - 1), stated.verdicts, stated.noise)
            if stated.history is not None:
                shutil.copy(history, stated.history)
        else:
            shutil.copy(stated.history, history)
        timed("all nights but the last", history, site)
        apart(history, lab, range(stated.nights - 1, stated.nights), stated.verdicts, stated.noise)
        timed("one night more", history, site)
        timed("no news", history, site)
        size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
        print(f"site: {size / 2**20:.0f} MiB in {sum(file.is_file() for file in site.rglob('*'))} files")


if __name__ == "__main__":
    main()
