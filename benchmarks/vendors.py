"""The verdicts of a library's kernels by operation and type, and what is red: ``python benchmarks/vendors.py FOLDER``.

FOLDER holds a ``results.jsonl``: out/host after ``bitgate run --load examples/torch --tier smoke --target host``.
Prints tables in Markdown.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from pathlib import Path

from bitgate.results.record import Verdict, read

MOST_ROWS = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    last = {(one.key.case, one.key.instance, one.key.fill): one for one in read(asked.folder / "results.jsonl")}
    verdicts = [one for one in last.values() if one.compared or not one.green]
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for one in verdicts:
        groups[one.key.case.partition(f"_{dtype_of(one)}")[0], dtype_of(one)].append(one)
    print("| operation | type | compared | green | red | what is red |")
    print("|---|---|---|---|---|---|")
    for (operation, dtype), found in sorted(groups.items()):
        red = [one for one in found if not one.green]
        causes = Counter(cause_of(one) for one in red)
        words = "; ".join(f"{count} {cause}" for cause, count in causes.most_common(4))
        print(f"| {operation} | {dtype} | {len(found)} | {len(found) - len(red)} | {len(red)} | {words} |")
    print("\n| case | data | found |")
    print("|---|---|---|")
    red = [one for one in verdicts if not one.green]
    for one in red[:MOST_ROWS]:
        print(f"| `{one.key.case}` | {one.key.fill} | {sentence_of(one)} |")
    if len(red) > MOST_ROWS:
        print(f"\n{len(red) - MOST_ROWS} more are red.")


def dtype_of(one: Verdict) -> str:
    return one.key.instance.rpartition("_")[2]


def sentence_of(one: Verdict) -> str:
    text = one.diagnosis.sentence if one.diagnosis else one.reason
    return re.sub(r"\s+", " ", text).replace("|", "/")[:300]


def cause_of(one: Verdict) -> str:
    kinds = ", ".join(one.diagnosis.kinds[:2]) if one.diagnosis else ""
    return f"{one.outcome.value}{f' ({kinds})' if kinds else ''}"


if __name__ == "__main__":
    main()
