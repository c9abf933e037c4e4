"""How often a comparison reports a winner that there is not, and finds one that there is.

``python benchmarks/ab_error.py [SWEEPS]``

Sweeps of 40 shapes on devices that are planted: 2 % of lognormal noise, outliers of 1.5 times in 5 % of the samples, a
clock that drifts by up to 10 % and wanders. A beside A must have no winner; where B takes 5 % longer on one shape, A
must win there. Prints a line a setting; ends with 1 if more than 5 % of the sweeps have a false winner, or fewer than
95 % of the slow-downs are found with the rounds that are asked for.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "harness"), str(ROOT)]

from tests.bench.timings import Device  # noqa: E402

from bitgate.tools.bench.compare import compare  # noqa: E402
from bitgate.tools.bench.settings import Significance  # noqa: E402

SLOWER = 1.05


@dataclass(frozen=True)
class Setting:
    """``must_find``: enough rounds that 95 % of the slow-downs are to be found. ``must_be_clean``: such noise must
    not be taken for a difference."""

    words: str
    device: Device
    rounds: int = 20
    instances: int = 1
    must_find: bool = True
    must_be_clean: bool = True


SETTINGS = (
    Setting("20 rounds, one instance a side", Device()),
    Setting("20 rounds, three instances a side", Device(), instances=3, must_find=False),
    Setting("30 rounds, three instances a side", Device(), 30, 3),
    Setting("20 rounds, a clock that falls by up to a third", Device(drift=0.4), must_find=False),
    Setting("20 rounds, a clock that wanders by 2 % a round", Device(wander=0.02), must_find=False),
    Setting("20 rounds, 30 % of a side's own noise holds on into the next", Device(carried=0.3), must_find=False),
    Setting("20 rounds, 50 % of it", Device(carried=0.5), must_find=False, must_be_clean=False),
    Setting("20 rounds, others at work in 30 % of them", Device(busy=0.3), must_find=False),
    Setting("60 rounds, others at work in 30 % of them", Device(busy=0.3), 60, must_find=False),
    Setting("60 rounds, others at work in 60 % of them", Device(busy=0.6), 60, must_find=False),
)


def counted(setting: Setting, sweeps: int, significance: Significance) -> tuple[int, int]:
    """Sweeps with a false winner, and sweeps in which the slow-down was found."""
    draw = np.random.default_rng(16)
    false = found = 0
    for _ in range(sweeps):
        rows = setting.device.sweep(draw, rounds=setting.rounds, instances=setting.instances, slower=SLOWER)
        first, *alike = compare(rows, significance).shapes
        false += any(one.winner in ("A", "B") for one in alike) or first.winner == "B"
        found += first.winner == "A"
    return false, found


def main() -> int:
    sweeps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    significance = Significance(resamples=200)
    failed = False
    for setting in SETTINGS:
        false, found = counted(setting, sweeps, significance)
        print(
            f"{setting.words}: {false} of {sweeps} sweeps with a false winner, {found} of {sweeps} slow-downs of"
            f" {SLOWER - 1:.0%} found",
            flush=True,
        )
        failed |= setting.must_be_clean and false > significance.level * sweeps
        failed |= setting.must_find and found < 0.95 * sweeps
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
