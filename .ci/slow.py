"""Write tests/slow.txt from what tests took: `python3 .ci/slow.py SECONDS out/py.xml ...`, reports of whole runs.

The tests that it lists, each of more than SECONDS, are not waited for by a change: `-m "not slow"` leaves them out.
"""

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "slow.txt"
HEADER = "# Tests that the nightly runs and a change does not wait for. Written by .ci/slow.py; not to be edited.\n"


def slow_tests(reports: list[str], seconds: float) -> list[str]:
    """Return `file::function` of the tests of which a case took longer, in all of the reports together."""
    longest: dict[str, float] = defaultdict(float)
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            function = case.get("name", "").split("[")[0]
            name = f"{case.get('classname', '').replace('.', '/')}.py::{function}"
            longest[name] = max(longest[name], float(case.get("time") or 0))
    return sorted(name for name, took in longest.items() if took > seconds)


if __name__ == "__main__":
    least, *files = sys.argv[1:]
    found = slow_tests(files, float(least))
    LIST.write_text(HEADER + "".join(f"{name}\n" for name in found))
    print(f"{len(found)} tests in {LIST.relative_to(ROOT)}")
