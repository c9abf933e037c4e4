"""Do two runs agree on every digest? ``python benchmarks/digests_agree.py RESULTS.jsonl RESULTS.jsonl``.

An exact case has one digest on every target, whatever kernel computed it: cases with the same data in both records must
have the same one. Ends with 1 if any differs, 3 if the records have no exact case in common.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bitgate.results.record import read

Data = tuple[str, int]


def digests(path: Path) -> dict[Data, set[str]]:
    """By (case, seed), of exact cases that passed."""
    found: dict[Data, set[str]] = {}
    for verdict in read(path):
        if verdict.key.fill == "exact" and verdict.digest and verdict.green:
            found.setdefault((verdict.key.case, verdict.key.seed), set()).add(verdict.digest)
    return found


def main() -> int:
    first, second = (digests(Path(name)) for name in sys.argv[1:3])
    common = sorted(first.keys() & second.keys())
    apart = [data for data in common if first[data] != second[data]]
    for case, seed in apart:
        print(f"{case} seed {seed}: {sorted(first[case, seed])} and {sorted(second[case, seed])}")
    print(f"{len(common)} exact cases in both records ({len(first)} and {len(second)}), {len(apart)} digests differ")
    return 1 if apart else 0 if common else 3


if __name__ == "__main__":
    sys.exit(main())
