"""How often does ``bitgate faults locate`` name the line of a seeded defect, and how long does it take?

``python benchmarks/locate.py FAULTS.toml RECORD.jsonl [--name GLOB] [--family NAME ...] [--seconds 60] [--top 3]``

The record is that of ``bitgate faults run --file FAULTS.toml --record RECORD.jsonl``: it names a red case of each fault
that was found. Each fault is planted in a copy of its source, and located from that case alone. A line counts if it is
in the statement that was edited, of an ``if`` or loop in its head.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.lab.planning.collect import collect_cases
from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.tools.faults.mutation.operators import parser, plain_cpp
from bitgate.tools.faults.share import Share
from bitgate.verify.planned import repro_line

ROOT = paths.root()


@lru_cache
def commands(family: str) -> dict[str, list[str]]:
    """Return the arguments that name the case of each smoke test of a family."""
    asked = collect_cases("smoke", "host", ours(), f"{family}.*", "")
    planned = [question.planned for questions in asked.questions.values() for question in questions]
    return {one.test: repro_line(one).split()[2:] for one in planned}


def equal(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def edited_lines(fault: Fault) -> range:
    """Return the lines of the statement that a fault edits, as they are with the fault."""
    before, after = (ROOT / fault.file).read_text(), fault.seeded(ROOT)
    start = equal(before, after)
    end = len(after) - equal(before[start:][::-1], after[start:][::-1])
    start, end = len(after[:start].encode()), len(after[:end].encode())
    node = parser().parse(plain_cpp(after).encode()).root_node.descendant_for_byte_range(start, max(start, end - 1))
    while node is not None and not node.type.endswith(("_statement", "declaration", "field_initializer")):
        node = node.parent
    first, last = after.encode()[:start].count(b"\n") + 1, after.encode()[:end].count(b"\n") + 1
    if node is None or node.type == "compound_statement":
        return range(first, last + 1)
    body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
    head = node if body is None or body.prev_sibling is None else body.prev_sibling
    return range(node.start_point[0] + 1, max(last, head.end_point[0] + 1) + 1)


def located(fault: Fault, case: list[str], seconds: int, top: int) -> tuple[dict[str, Any], float]:
    """Return what the command prints, and the seconds that it took."""
    command = [sys.executable, "-m", "bitgate", "faults", "locate", *case, f"--seconds={seconds}", f"--top={top}"]
    with tempfile.TemporaryDirectory(prefix="bitgate-overlay-") as overlay:
        fault.plant(ROOT, Path(overlay))
        environment = {**os.environ, "BITGATE_OVERLAY": overlay, "BITGATE_QUICK_BUILD": "1"}
        begun = time.monotonic()
        done = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, cwd=ROOT)
        spent = time.monotonic() - begun
    return json.loads(done.stdout) if done.stdout else {"error": done.stderr.strip().split("\n")[-1]}, spent


def main() -> None:
    """Locate each fault, and print the share of those whose line is named."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("faults", type=Path)
    arguments.add_argument("record", type=Path)
    arguments.add_argument("--name", default="*")
    arguments.add_argument("--family", nargs="*")
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--top", type=int, default=3)
    asked = arguments.parse_args()
    by = {one["name"]: one["by"] for one in map(json.loads, asked.record.read_text().splitlines())}
    hits, tried, all_seconds = 0, 0, 0.0
    for fault in read_faults([asked.faults]):
        test = by.get(fault.name, "")
        family = test.rpartition("__")[0].partition("__")[2]
        family = next((name for name in FAMILIES if family.startswith(f"{name}_")), "")
        if not test or not fnmatchcase(fault.name, asked.name) or (asked.family and family not in asked.family):
            continue
        lines, case = edited_lines(fault), commands(family).get(test)
        if case is None:
            print(f"{fault.name}: {test} is no case of today's list", flush=True)
            continue
        found, spent = located(fault, case, asked.seconds, asked.top)
        candidates = found.get("candidates", [])
        places = [
            one["file"] == fault.file and (one["line"] in lines or one["last_line"] in lines) for one in candidates
        ]
        is_hit = any(places)
        hits, tried, all_seconds = hits + is_hit, tried + 1, all_seconds + spent
        counts = f"{found.get('tried')} of {found.get('edits')} edits" if "edits" in found else found["error"]
        print(f"{'named' if is_hit else 'missed':<7} {fault.name} ({family}) {spent:.0f} s, {counts}", flush=True)
        for one, is_place in zip(candidates, places, strict=True):
            counts = f"{one['passed']}/{one['reds']} pass, {one['broken']}/{one['greens']} break"
            edit = f"{one['original']} -> {one['mutated']}".replace("\n", " ")
            print(f"    {'*' if is_place else ' '} {one['file']}:{one['line']} {edit}  ({counts})", flush=True)
    print(f"{hits} of {tried} named: {Share(hits, tried)}; {all_seconds / max(1, tried):.0f} s each")


FAMILIES = sorted((path.name for path in (ROOT / "kernels").iterdir() if path.is_dir()), key=len, reverse=True)
"""Longer names first: one may begin with another."""

if __name__ == "__main__":
    main()
