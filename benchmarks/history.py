"""How fast a history takes records in, and how well it finds causes. ``python benchmarks/history.py [SEEDS]``

Prints one line a measure: 20,000 verdicts of one night into SQLite and into a PostgreSQL server that is started here;
and for each of SEEDS laboratories of 60 nights what was planted in them, what was reported, and what was reported
falsely: flaky cases, a machine that spoils answers and one that loses them, a bug of one night, a first bad commit.
Ends with 1 if anything was reported falsely.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.history.nights import NODES, TARGETS, Lab, Planted, key_of, write  # noqa: E402
from tests.history.servers import postgres_server  # noqa: E402

CASES = 100
FLAKES = (0.5, 0.5, 0.3, 0.3, 0.2, 0.2, RARE := 0.1, RARE)
"""How often each fails. Of a rare one some show three times in 60 nights, which is too little to be told."""
MAIN = [sys.executable, "-m", "bitgate", "history"]


def bitgate(*arguments: str) -> Any:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "harness")}
    done = subprocess.run([*MAIN, *arguments, "--json"], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ingest(folder: Path, url: str, what: str) -> None:
    lab = Lab(cases=6667, nights=2)
    for night in range(2):
        file = write(folder / f"{what}-{night}" / "results.jsonl", lab.night(night)[:20_000])
        for _ in range(1 + night):
            begin, cpu = time.perf_counter(), os.times().children_user
            told = bitgate("ingest", str(file), "--history", url)["ingested"]
            seconds, used = time.perf_counter() - begin, os.times().children_user - cpu
            added = f"{told['added']} of {told['verdicts']} verdicts added"
            print(f"{what}: {added} in {seconds:.2f} s, {used:.2f} s of CPU", flush=True)


def planted(chance: random.Random) -> Planted:
    chosen = chance.sample(range(CASES), 12)
    spoiling, losing = chance.sample(TARGETS, 2)
    return Planted(
        flakes={(case, chance.choice(TARGETS)): rate for case, rate in zip(chosen, FLAKES, strict=False)},
        bad_machine=(chance.choice(NODES[spoiling]), chance.choice((0.02, 0.1, 0.3))),
        broken=(tuple(chosen[8:]), chance.randrange(25, 55)),
        one_night=("two_stage", chance.randrange(5, 20)),
        losing=(chance.choice(NODES[losing]), 0.05),
    )


def laboratory(folder: Path, seed: int) -> dict[str, tuple[int, int, int]]:
    """Of each kind: how many were planted, reported, and reported falsely."""
    chance = random.Random(seed)
    what = planted(chance)
    lab = Lab(CASES, seed=seed, planted=what, builds_change=bool(seed % 2))
    url = str(folder / "history.sqlite")
    bitgate("ingest", str(lab.write(folder / "nights")), "--history", url)
    begin = time.perf_counter()
    flaky = bitgate("flaky", "--history", url)["flaky"]
    seconds = time.perf_counter() - begin
    broken = bitgate("first-bad", "--history", url)["first_bad"]
    since = what.broken[1]
    right = {(f"night-{since:02}", f"{since - 1:040x}", f"{since:040x}")}
    flakes = {(key_of(case, target).case, target): rate for (case, target), rate in what.flakes.items()}
    seen = {(one["case"], one["target"]) for one in flaky["cases"]}
    rare = {one for one, rate in flakes.items() if rate == RARE}
    found = {
        "flaky case": (set(flakes) - rare, seen - rare),
        "rarely flaky case": (rare, seen & rare),
        "bad machine": (
            {(what.bad_machine[0], "spoils answers"), (what.losing[0], "loses answers")},
            {(one["node"], one["why"]) for one in flaky["machines"]},
        ),
        "bad night": (
            {(f"night-{what.one_night[1]:02}", target) for target in TARGETS},
            {(one["run"], one["target"]) for one in flaky["nights"]},
        ),
        "first bad commit": (right, {(one["run"], one["good"], one["bad"]) for one in broken if not one["once"]}),
    }
    counts = {name: (len(there), len(there & told), len(told - there)) for name, (there, told) in found.items()}
    said = ", ".join(f"{name} {told}/{there} and {false} falsely" for name, (there, told, false) in counts.items())
    print(f"seed {seed}: {said}; {flaky['answers']} answers looked through in {seconds:.1f} s", flush=True)
    return counts


@contextmanager
def databases(folder: Path) -> Iterator[list[tuple[str, str]]]:
    import psycopg

    with postgres_server() as server:
        with psycopg.connect(server, autocommit=True) as connection:
            name = f"h{uuid4().hex}"
            connection.execute(f"CREATE DATABASE {name}".encode())
        yield [
            ("SQLite", str(folder / "bench.sqlite")),
            ("PostgreSQL", server.replace("/postgres?", f"/{name}?")),
        ]


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder, databases(Path(folder)) as urls:
        for what, url in urls:
            ingest(Path(folder), url, what)
    totals: dict[str, list[int]] = {}
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            for name, counts in laboratory(Path(folder), seed).items():
                totals[name] = [one + more for one, more in zip(totals.get(name, [0, 0, 0]), counts, strict=True)]
    for name, (there, told, false) in totals.items():
        print(f"{name}: {told} of {there} told, {false} falsely")
    return 1 if any(false for _, _, false in totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
