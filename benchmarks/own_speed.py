"""How fast bitgate itself is, each figure beside a peer or a floor.

    tox run -e bench -- own_speed.py [--only verdicts,references,runtime,collection,merge,build] [--workers N] [--json]

Verdicts are those of benchmarks/frozen/<target>.txt, cases that do not change, on as many workers as there are cores;
what they need is built before. CPU seconds count every process of a run; on a busy machine they say more than the
wall's. The runtime and the references have separate benches, which this one asks (host_runtime.py,
references.py).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import host_runtime
import references

from bitgate.core import paths
from bitgate.results.plan import Plan
from bitgate.results.record import read

HERE = Path(__file__).parent
SUITES = str(paths.data_folder("suites"))
SHARDS = 8
FAMILY = "naive_conv"
PLAIN_TESTS = 4000
QUIET = ("-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Row:
    """``peer`` is what ``figure`` stands beside, in the same unit; ``per_peer`` their quotient."""

    what: str
    figure: float
    unit: str
    peer: str = ""
    peer_figure: float = 0.0

    @property
    def per_peer(self) -> float | None:
        return self.figure / self.peer_figure if self.peer_figure else None


@dataclass(frozen=True)
class Took:
    """``cpu``: seconds, user and system, of the command and all that it waited for."""

    wall: float
    cpu: float
    output: str


def took(*command: str, cache: Path | None = None, out: Path | None = None) -> Took:
    """Run a command to its end; one that fails ends the bench."""
    environment = dict(os.environ)
    environment |= {"BITGATE_CACHE": str(cache)} if cache else {}
    environment |= {"BITGATE_OUT": str(out)} if out else {}
    started = perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = perf_counter() - started
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{text[-2000:]}")
    return Took(wall, usage.ru_utime + usage.ru_stime, text)


def bitgate(*arguments: str, cache: Path | None = None, out: Path | None = None) -> Took:
    return took(sys.executable, "-m", "bitgate", *arguments, cache=cache, out=out)


def verdicts(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    frozen = HERE / "frozen" / f"{options.target}.txt"
    if not frozen.is_file():
        sys.exit(f"{frozen}: no such file: which cases are frozen is known for {', '.join(_frozen())}")
    run = ("run", "--tier", "smoke", "--target", options.target, f"-n{options.workers}", "--select", str(frozen))
    if not options.warm:
        bitgate(*run, "--json", out=folder)
    best = min((bitgate(*run, "--json", out=folder) for _ in range(options.repeat)), key=lambda one: one.cpu)
    count = json.loads(best.output)["summary"]["verdicts"]
    kernels = sum(verdict.seconds.get("kernel", 0.0) for verdict in read(folder / options.target / "results.jsonl"))
    name = f"{count} verdicts, {options.workers} workers"
    yield Row(f"{name}: a second, start and reports included", count / best.wall, "1/s")
    yield Row(f"{name}: a second, were all cores busy", count * options.workers / best.cpu, "1/s")
    yield Row(f"{name}: CPU", best.cpu, "s", "their kernels alone", kernels)


def _frozen() -> list[str]:
    return sorted(path.stem for path in (HERE / "frozen").glob("*.txt"))


def of_references(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    for dtype in ("f32", "bf16"):
        taken = references.almiopen(dtype, paths.threads(), options.repeat)
        what = f"exact reference, {taken.flops / 1e9:.0f} GFLOP, {dtype}"
        yield Row(what, taken.exact, "s", "numpy sgemm", taken.sgemm)
        yield Row(what, taken.exact, "s", "ordered reference", taken.ordered)
        if dtype == "f32" and (seconds := references.torch_seconds(options.repeat)):
            yield Row(what, taken.exact, "s", "PyTorch", seconds)


def runtime(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    for row in host_runtime.rows():
        yield Row(row.name, 1e6 * row.seconds, "us", row.floor_name, 1e6 * row.floor)


def collection(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Beside pytest's own work on as many empty tests, and the start of the command."""
    plain = folder / "test_plain.py"
    plain.write_text(f"import pytest\n@pytest.mark.parametrize('n', range({PLAIN_TESTS}))\ndef test(n): pass\n")
    pytest = (sys.executable, "-m", "pytest", "--collect-only", *QUIET)
    floor = took(*pytest, "-c", os.devnull, "--rootdir", str(folder), str(plain))
    smoke = took(*pytest, SUITES, "-m", "smoke", "--target", "host")
    yield Row("pytest suites -m smoke --collect-only", smoke.cpu, "s", f"{PLAIN_TESTS} empty tests", floor.cpu)
    start = bitgate("--version")
    cases = bitgate("cases", "--tier", "smoke", "--target", "host", "--json")
    yield Row("bitgate cases --tier smoke", cases.cpu, "s", "bitgate --version", start.cpu)


def merge(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """The record of a run, dealt to shards by problem."""
    record = folder / "host" / "results.jsonl"
    if not record.is_file():
        frozen = str(HERE / "frozen" / "host.txt")
        bitgate("run", "--tier", "smoke", "--target", "host", "--select", frozen, "--json", out=folder)
    plan = Plan.read(folder / "host" / "plan.json")
    lines = record.read_text().splitlines(keepends=True)
    parts: list[Path] = []
    for index in range(SHARDS):
        part = folder / "shards" / f"s{index}" / "results.jsonl"
        part.parent.mkdir(parents=True)
        part.write_text("".join(lines[index::SHARDS]))
        parts.append(part)
    started = perf_counter()
    for line in lines:
        json.loads(line)
    floor = len(lines) / (perf_counter() - started)
    done = bitgate("ci", "merge", *map(str, parts), "--out", str(folder / "merged"), "--json")
    what = f"ci merge of {SHARDS} shards, {len(plan.cases)} records"
    yield Row(what, len(lines) / done.cpu, "records/s", "json.loads of each line", floor)


def build(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """One family from an empty cache, beside the same with everything at hand."""
    cache = folder / "cache"
    cold, warm = (bitgate("compile", "--target", "host", "--kernel", f"{FAMILY}*", cache=cache) for _ in range(2))
    yield Row(f"build of {FAMILY} and the host runtime, empty cache: CPU", cold.cpu, "s", "nothing to build", warm.cpu)


PARTS: dict[str, Callable[[argparse.Namespace, Path], Iterator[Row]]] = {
    "verdicts": verdicts,
    "references": of_references,
    "runtime": runtime,
    "collection": collection,
    "merge": merge,
    "build": build,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between them; default: all")
    parser.add_argument("--target", default="host", help="whose verdicts: host or sm_90")
    parser.add_argument("--workers", type=int, default=paths.threads(), help="default: the cores")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each measurement; the fastest counts")
    parser.add_argument("--warm", action="store_true", help="all is built: no run before the ones that count")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := [part for part in wanted if part not in PARTS]:
        parser.error(f"--only {unknown[0]}: known are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        rows = list(_measured(wanted, options, Path(folder)))
    if options.json:
        print(json.dumps({"rows": [{**asdict(row), "per_peer": row.per_peer} for row in rows]}))


def _measured(wanted: Sequence[str], options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Each row is shown as soon as it is known."""
    for part in wanted:
        for row in PARTS[part](options, folder):
            if not options.json:
                _show(row)
            yield row


def _show(row: Row) -> None:
    beside = f"{row.peer:28}{row.peer_figure:12.3f}{row.per_peer:10.2f}" if row.per_peer is not None else ""
    print(f"{row.what:66}{row.figure:12.3f} {row.unit:10}{beside}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
