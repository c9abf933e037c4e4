"""What ci/two_gpus.sh measured, read from its folder: busy GPUs, cases that ran twice, and the throughput of two."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from bitgate.results.record import Verdict, read


def verdicts(folder: Path, workers: int) -> list[Verdict]:
    (path,) = (folder / f"n{workers}").glob("*/results.jsonl")
    return list(read(path))


def seconds(folder: Path, workers: int) -> float:
    """As pytest reports at the end: collection, start of the workers and all cases."""
    found = re.findall(r" in ([\d.]+)s", (folder / f"n{workers}.txt").read_text())
    return float(found[-1])


def busy(path: Path) -> dict[str, float]:
    """Mean share of the samples' time that each GPU was busy, in percent; idle GPUs of other people count too."""
    samples: dict[str, list[float]] = defaultdict(list)
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"\s*(\w+),\s*([\d.]+).*", line):
            samples[match[1]].append(float(match[2]))
    return {gpu: round(sum(values) / len(values), 1) for gpu, values in samples.items()}


def main() -> int:
    folder = Path(sys.argv[1])
    runs = {}
    for workers in (1, 2):
        found = verdicts(folder, workers)
        tests = Counter((verdict.test, verdict.key) for verdict in found)
        took = seconds(folder, workers)
        runs[workers] = {
            "verdicts": len(found),
            "red": sum(not verdict.green for verdict in found),
            "twice": sum(count > 1 for count in tests.values()),
            "seconds": took,
            "kernel_seconds": round(sum(verdict.seconds.get("kernel", 0.0) for verdict in found), 2),
            "busy_percent": busy(folder / f"busy{workers}.csv"),
            "a_second": round(len(found) / took, 2),
        }
        print(f"-n {workers}: {runs[workers]}")
    ratio = runs[2]["a_second"] / runs[1]["a_second"]  # type: ignore[operator]
    print(f"two GPUs: {ratio:.2f} times the throughput of one")
    (folder / "two_gpus.json").write_text(json.dumps({"runs": runs, "ratio": ratio}, indent=1) + "\n")
    return int(any(run["red"] or run["twice"] for run in runs.values()))


if __name__ == "__main__":
    sys.exit(main())
