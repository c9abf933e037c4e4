"""Make the sample of reports: a small night with a bug in it, what its history says, and pictures of both.

    python reports/make_sample.py             # run the suite, render the pages, take the pictures
    python reports/make_sample.py --render    # render again what was recorded, for a change of a template

``reports/sample/suites`` runs on the host twice, without a defect and with ``flat_path_drops_sub_gemms`` planted
(docs/faults.md); ``host.jsonl`` has what these two runs recorded. Thirteen nights repeat the first run, and the last
night is the second. Targets ``gfx942`` and ``gfx1201`` are demonstrations: their records are the host's under other
names, with a flaky case, a bad GPU and a case that became slower. Machines, commits and times of all records are made
up, so that the same files come out everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from hashlib import sha1
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "harness"))

from bitgate.cli.main import run  # noqa: E402
from bitgate.lab.history.ingest import ingest  # noqa: E402
from bitgate.lab.history.store import opened  # noqa: E402
from bitgate.tools.faults.fault import choose, read_faults  # noqa: E402

SAMPLE = ROOT / "reports" / "sample"
RECORDED = "host.jsonl"
FAULT = "flat_path_drops_sub_gemms"
NIGHTS = 14
FIRST = datetime(2026, 10, 1, 1, tzinfo=timezone.utc)
TARGETS = {
    "host": ["node-h"],
    "gfx942": ["node-a 0000:c1:00.0", "node-a 0000:c2:00.0"],
    "gfx1201": ["node-b 0000:03:00.0"],
}
BAD_GPU = "node-a 0000:c2:00.0"
FLAKY = ("gfx1201", "bwd_data_f16_nhwgc_g1n2k64c128_y3x3_h14x14_s1x1_d1x1_p1x1_q1x1")
FLAKY_NIGHTS = {2, 5, 6, 9, 12}
SLOWER = ("gfx942", "bwd_data_f16_nhwgc_g4n2k32c32_y3x3_h14x14_s1x1_d1x1_p1x1_q1x1")
SLOWER_SINCE = 8
PICTURES = {
    "bug.png": ("host.html", 1000, 1180),
    "night.png": ("night.html", 1000, 1180),
    "nights.png": ("history/index.html", 1000, 900),
}

Line = dict[str, Any]


def record() -> list[Line]:
    """Run the suite without and with the defect; return both records' lines, marked by the run."""
    with tempfile.TemporaryDirectory() as folder:
        (fault,) = choose(read_faults([ROOT / "suites" / "faults" / "spine.toml"]), FAULT)
        overlay = Path(folder, "overlay")
        fault.plant(ROOT, overlay)
        good = _run(Path(folder, "good"), {}, 0)
        bad = _run(Path(folder, "bad"), {"BITGATE_OVERLAY": str(overlay), "BITGATE_QUICK_BUILD": "1"}, 1)
    return [{"sample": name, **_lasting(line)} for name, lines in (("good", good), ("bad", bad)) for line in lines]


def _run(out: Path, more: dict[str, str], code: int) -> list[Line]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "harness"), "BITGATE_OUT": str(out)} | more
    command = [sys.executable, "-m", "bitgate", "run", "--tier", "smoke", "--target", "host"]
    done = subprocess.run(command, cwd=SAMPLE, env=environment, check=False)
    if done.returncode != code:
        raise SystemExit(f"the suite of the sample ended with {done.returncode} instead of {code}")
    lines = map(json.loads, (out / "host" / "results.jsonl").read_text().splitlines())
    return sorted(lines, key=lambda line: str(line["test"]), reverse=True)


def _lasting(line: Line) -> Line:
    """Return a line without what differs from machine to machine and from time to time."""
    left_out = ("seconds", "fingerprint", "run", "where", "plan", "device", "platform")
    return {name: value for name, value in line.items() if name not in left_out}


def nights(recorded: list[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each night on all targets."""
    good, bad = ([line for line in recorded if line["sample"] == name] for name in ("good", "bad"))
    for night in range(1, NIGHTS + 1):
        yield [
            _line(line, night, number, target)
            for target in TARGETS
            for number, line in enumerate(bad if night == NIGHTS else good)
        ]


def _line(recorded: Line, night: int, number: int, target: str) -> Line:
    chance = Random(f"{night} {target} {recorded['case']}")
    node, _, gpu = chance.choice(TARGETS[target]).partition(" ")
    kept = {name: value for name, value in recorded.items() if name != "sample"}
    line: Line = json.loads(json.dumps(kept).replace("--target host", f"--target {target}"))
    begin = FIRST + timedelta(days=night, seconds=number)
    seconds = 0.05 * (1 + number) * chance.uniform(0.98, 1.02)
    if (target, line["case"]) == SLOWER and night >= SLOWER_SINCE:
        seconds *= 1.4
    spoiled = chance.random() < 0.5 and f"{node} {gpu}" == BAD_GPU
    flaked = night in FLAKY_NIGHTS and (target, line["case"]) == FLAKY
    is_host = target == "host"
    device = {"kind": "cpu", "name": "host"} if is_host else {"kind": "demonstration", "name": f"{target}, not run"}
    line |= {
        "target": target,
        "platform": "host" if is_host else "amd",
        "device": device | ({"pci": gpu} if gpu else {}),
        "plan": "",
        "seconds": {"total": round(seconds, 5)},
        "where": {"node": node},
        "run": {
            "id": f"night-{night:02}",
            "attempt": 1,
            "time": begin.isoformat(timespec="microseconds"),
            "job": f"{target}-{night}",
            "shard": "",
        },
        "fingerprint": {
            "build": sha1(f"{target} {recorded['sample']}".encode()).hexdigest()[:16],
            "host": node,
            "os": "Linux",
            "compiler": "made up, as are machine, commit and time",
            "commit": sha1(f"night {night}".encode()).hexdigest(),
        },
    }
    if (spoiled or flaked) and line["verdict"] == "PASS":
        line |= {
            "verdict": "MISMATCH",
            "green": False,
            "digest": "",
            "reason": "a demonstration: no GPU has run this",
            "diagnosis": {"kinds": ["other"], "sentence": "cells are wrong here and there", "evidence": {}},
        }
    return line


def render(recorded: list[Line], out: Path) -> None:
    """Write the pages of the last night, of all targets and of the host, its summary and JUnit, and the site."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        history = folder / "nights.sqlite"
        *before, last = (_written(folder / f"{n}", lines) for n, lines in enumerate(nights(recorded)))
        *_, of_last = nights(recorded)
        host = _written(folder / "host", [line for line in of_last if line["target"] == "host"])
        with opened(str(history)) as store:
            for _ in ingest(store, before):
                pass
        told = ["--history", str(history)]
        for results, html in ((host, "host.html"), (last, "night.html")):
            if run(["report", str(results), "--out", str(folder / "report"), "--html", str(out / html), *told]) != 1:
                raise SystemExit("the last night is not red")
        for name in ("junit.xml", "summary.md"):
            shutil.copy(folder / "report" / name, out / name)
        with opened(str(history)) as store:
            for _ in ingest(store, [last]):
                pass
        shutil.rmtree(out / "history", ignore_errors=True)
        if run(["history", "--html", str(out / "history"), *told]) != 0:
            raise SystemExit("the site was not written")
        for noted in (out / "history" / "cases").glob("*.json"):
            noted.unlink()  # of use for the next night only, which never comes
        for file in (*out.glob("*.*"), *(out / "history").rglob("*.html")):
            if file.suffix in (".html", ".md", ".xml"):
                file.write_text(re.sub(r"sqlite:///[^ <]*nights.sqlite", "nights.sqlite", file.read_text()))


def _written(folder: Path, lines: list[Line]) -> Path:
    folder.mkdir()
    file = folder / "results.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    begin = datetime.fromisoformat(min(line["run"]["time"] for line in lines)).timestamp()
    os.utime(file, (begin, begin))
    return folder


def take_pictures(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, (page, width, height) in PICTURES.items():
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}"]
            size = [f"--window-size={width},{height}", "--virtual-time-budget=3000", f"--screenshot={out / name}"]
            subprocess.run(
                ["chromium", *options, *size, f"file://{(out / page).absolute()}"], check=True, capture_output=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true", help="render what host.jsonl has, and run nothing")
    parser.add_argument("--out", type=Path, default=SAMPLE)
    stated = parser.parse_args()
    stated.out.mkdir(parents=True, exist_ok=True)
    if stated.render:
        recorded = [json.loads(line) for line in (SAMPLE / RECORDED).read_text().splitlines()]
    else:
        recorded = record()
        (stated.out / RECORDED).write_text("".join(f"{json.dumps(line)}\n" for line in recorded))
    render(recorded, stated.out)
    if shutil.which("chromium"):
        take_pictures(stated.out)
    else:
        print("no pictures were taken: apt install chromium")


if __name__ == "__main__":
    main()
