"""Export a night's capsules, run each by its loader on the host, and judge what came back. Needs no GPU.

    python benchmarks/capsules.py [--target T ...] [--kernel GLOB] [--first N] [--out DIR]

They are those that ``bitgate capsule export --target T`` chooses; without ``--target`` of every gfx target that
ci/targets.toml promises. Of each output one bit is changed afterwards, which ``bitgate capsule check`` must find. Ends
with 1 if a capsule cannot be written, does not come back as expected, or a changed bit stays unseen.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from shutil import rmtree
from typing import Any

from bitgate.cli.capsule_export import ChosenCase, chosen_cases, requests_of
from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.core.untrusted import parse_json
from bitgate.kernel.build.code_object import parse
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import families
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.results.targets_file import read_targets
from bitgate.tools.capsule.client import ask
from bitgate.tools.capsule.export_format import EXPORT, LOADER
from bitgate.tools.capsule.returned import check_returned
from bitgate.tools.capsule.server import ExportCapsules

BATCH = 24
"""Capsules that one process writes: their folders are there together."""
SECONDS_EACH = 300.0


@dataclass
class Row:
    """The capsules of a family for a target. ``kernels`` are the symbols of their code objects, by file."""

    capsules: int = 0
    outputs: int = 0
    bytes: int = 0
    seconds: float = 0.0
    kernels: set[tuple[str, str]] = field(default_factory=set)
    launched: set[tuple[str, str]] = field(default_factory=set)
    reds: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", action="append", help="a gfx target; repeatable; default: all that are promised")
    parser.add_argument("--kernel", default="", help="glob over family.instance")
    parser.add_argument("--first", type=int, help="of each family take so many, those that show most for their time")
    parser.add_argument("--out", type=Path, help="keep the capsules there")
    asked = parser.parse_args()
    begun, project = time.monotonic(), ours()
    rows: dict[tuple[str, str], Row] = defaultdict(Row)
    with (
        tempfile.TemporaryDirectory(prefix="bitgate-capsules-") as temporary,
        ThreadPoolExecutor(paths.threads()) as pool,
    ):
        for target in asked.target or read_targets(paths.data_folder("ci") / "targets.toml").of("amd"):
            known = families(project, target)
            batches = [*batches_of(chosen_cases(target, project.tiers[-1], asked.kernel, project), asked.first)]
            folder = (asked.out or Path(temporary)) / target
            done = pool.map(lambda batch: taken(batch, target, folder, known, bool(asked.out)), batches)  # noqa: B023
            for batch, found in zip(batches, done, strict=True):
                family = batch[0][1].partition(".")[0]
                add(rows[target, family], found)
                print(*(f"RED  {target}  {line}" for line in found.reds), sep="\n", end="\n" * bool(found.reds))
            for name in dict.fromkeys(batch[0][1].partition(".")[0] for batch in batches):
                print_row(target, name, rows[target, name])
    reds = sum(len(row.reds) for row in rows.values())
    total = sum(row.capsules for row in rows.values())
    outputs = sum(row.outputs for row in rows.values())
    print(
        f"{total - reds} of {total} capsules of {len({name for name, _ in rows})} targets came back as expected, and a"
        f" changed bit of each of their {outputs} outputs is red; {time.monotonic() - begun:.0f} s"
    )
    return 1 if reds or not total else 0


def batches_of(cases: Sequence[ChosenCase], first: int | None) -> Iterator[Sequence[ChosenCase]]:
    """Yield the cases by family, in batches."""
    for _, group in groupby(cases, lambda case: case[1].partition(".")[0]):
        own = [*group][:first]
        yield from (own[at : at + BATCH] for at in range(0, len(own), BATCH))


def taken(cases: Sequence[ChosenCase], target: str, folder: Path, known: dict[str, KernelFamily], keeps: bool) -> Row:
    """Export, run and judge one batch."""
    begun, row = time.monotonic(), Row(len(cases))
    requests = [*requests_of(cases, target, ours(), folder, is_one=False)]
    answer = ask(ExportCapsules(tuple(requests), host=True), SECONDS_EACH * len(requests))
    if "defect" in answer:
        row.reds = [f"{one.case} {one.kernel}: {answer['defect']}" for one in requests]
    for one in answer.get("capsules", ()):
        place = Path(one["capsule"])
        why = one["defect"] if "defect" in one else wrong_with(place, answer["hip"], known, row)
        row.reds += [f"{one['case']} {one['kernel']}: {why}"] if why else []
        if "defect" not in one:
            note_kernels(place, row)
        if not keeps:
            rmtree(place, ignore_errors=True)
    row.seconds = time.monotonic() - begun
    return row


def wrong_with(place: Path, hip: Sequence[str], known: dict[str, KernelFamily], row: Row) -> str:
    """Run a capsule by its loader and judge it, and each of its outputs with a bit changed; return what is wrong."""
    libraries = [word for library in hip for word in ("--hip", library)]
    command = [sys.executable, "-I", str(place / LOADER), str(place), "--json", "host.json", *libraries]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    found = check_returned(place, known)
    if ran.returncode or found.outcome is not Outcome.PASS:
        return f"{found.outcome}: {found.reason} {ran.stderr.strip()[-400:]}"
    document: Any = parse_json((place / EXPORT).read_bytes())
    for expected in document["expected"]:
        file = place / f"result_{expected['buffer']}.bin"
        right = file.read_bytes()
        file.write_bytes(changed(right, document["case"], expected))
        row.outputs += 1
        if check_returned(place, known).outcome is Outcome.PASS:
            return f"a changed bit of {expected['buffer']} is not seen"
        file.write_bytes(right)
    return ""


def changed(data: bytes, case: str, expected: dict[str, Any]) -> bytes:
    """Return an output with a bit changed, an exponent's where there are some.

    It is of the first element where all bytes are compared, else of each: what is between elements may be anything, and
    so may a result of special numbers.
    """
    size = parse_case_id(case).tensors[expected["buffer"]].dtype.numpy.itemsize
    ends = [size] if expected["compare"] == "bits" else range(size, len(data) + 1, size)
    found = bytearray(data)
    for end in ends:
        found[end - 1] ^= 0x40
    return bytes(found)


def note_kernels(place: Path, row: Row) -> None:
    document: Any = parse_json((place / EXPORT).read_bytes())
    for file in {one["file"] for one in document["code_objects"]}:
        row.kernels |= {(file, kernel.symbol) for kernel in parse((place / file).read_bytes(), file).kernels}
    row.launched |= {(one["code_object"], one["symbol"]) for one in document["steps"] if one["kind"] == "kernel"}
    row.bytes += sum(file.stat().st_size for file in place.iterdir())


def add(row: Row, more: Row) -> None:
    for name, value in vars(more).items():
        own = getattr(row, name)
        setattr(row, name, own | value if isinstance(own, set) else own + value)


def print_row(target: str, family: str, row: Row) -> None:
    idle = sorted(symbol for _, symbol in row.kernels - row.launched)
    print(
        f"{target:8} {family:22} {row.capsules:4} capsules {row.outputs:5} outputs  {len(row.launched):4} of"
        f" {len(row.kernels):4} kernels  {row.seconds:6.1f} s  {row.bytes / 1e6:7.1f} MB  {len(row.reds)} red",
        flush=True,
    )
    print(*(f"    no capsule launches {symbol}" for symbol in idle), sep="\n", end="\n" * bool(idle))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        sys.exit(f"benchmarks/capsules.py: {error}")
