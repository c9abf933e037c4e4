"""How well steps are found in past timings, and how often one is reported that there is not.

``python benchmarks/steps.py [SEED]``

100 histories without and 100 with a step of 5 % up: 30 nights a side, 2 % of lognormal noise, one night in twenty takes
1.5 times as long. Then the same where the noise of a night holds on into the next ones. Ends with 1 if more than one
step is reported falsely, or fewer than 95 are found (within five nights of where they are) in the first hundred.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "harness"), str(ROOT)]

from tests.history.timed_nights import History  # noqa: E402

HISTORIES = 100
NIGHTS_OFF = 5


def counts(carried: float, seed: int) -> tuple[int, int]:
    """False steps without one, and those found that are there."""
    draw = np.random.default_rng(seed)
    steady, stepped = History(carried=carried), History(step=1.05, carried=carried)
    false = sum(bool(steady.timed(draw).steps) for _ in range(HISTORIES))
    found = 0
    for _ in range(HISTORIES):
        steps = stepped.timed(draw).steps
        found += len(steps) == 1 and steps[0].ratio > 1 and abs(steps[0].place - stepped.nights) <= NIGHTS_OFF
    return false, found


def main() -> int:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    red = False
    for carried in (0.0, 0.3, 0.6):
        false, found = counts(carried, seed)
        print(f"{carried:.0%} of a night's noise carried on: {false} of 100 false, {found} of 100 found", flush=True)
        red |= carried == 0 and (false > 1 or found < 95)
    return int(red)


if __name__ == "__main__":
    sys.exit(main())
