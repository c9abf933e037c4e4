"""Nights of a lab that never was: what happens in them is planted, so that it is known what must be reported."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from bitgate.results.record import Diagnosis, Key, Outcome, Stamp, Verdict, to_event

TARGETS = ("gfx90a", "gfx942", "gfx1201")
NODES = {target: tuple(f"{target}-n{number}" for number in range(1, 4)) for target in TARGETS}
FAMILIES = ("naive_conv", "grouped_bwd_data", "two_stage")
START = datetime(2026, 9, 1, 22, tzinfo=timezone.utc)


@dataclass
class Planted:
    """``flakes``: rate by (case number, target). ``bad_machine``: a node and the share of answers that it spoils.
    ``broken``: the cases that are wrong from a night on, on every target. ``one_night``: a family that is wrong in one
    night. ``losing``: a node on which that number of cases ends in INFRA."""

    flakes: dict[tuple[int, str], float] = field(default_factory=dict)
    bad_machine: tuple[str, float] = ("", 0.0)
    broken: tuple[tuple[int, ...], int] = ((), 0)
    one_night: tuple[str, int] = ("", 0)
    losing: tuple[str, float] = ("", 0.0)


@dataclass(frozen=True)
class Lab:
    """``builds_change``: a library is built anew every night, and never the same; else only where its sources changed,
    every tenth night and where they were broken or fixed."""

    cases: int = 40
    nights: int = 60
    seed: int = 0
    planted: Planted = field(default_factory=Planted)
    builds_change: bool = True

    def night(self, number: int) -> list[Verdict]:
        """Each case once on each target, on the node that is free."""
        chance = random.Random(f"{self.seed} {number}")
        return [
            self._verdict(number, case, target, chance.choice(NODES[target]), chance)
            for target in TARGETS
            for case in range(self.cases)
        ]

    def write(self, folder: Path) -> Path:
        for number in range(self.nights):
            write(folder / f"night{number:02}" / "results.jsonl", self.night(number))
        return folder

    def _verdict(self, night: int, case: int, target: str, node: str, chance: random.Random) -> Verdict:
        outcome = self._outcome(night, case, target, node, chance)
        time = START + timedelta(days=night, seconds=case)
        built = night if self.builds_change else self._sources(night, case)
        red = outcome is Outcome.MISMATCH
        return Verdict(
            key_of(case, target),
            outcome,
            reason="the device was lost" if outcome is Outcome.INFRA else "",
            suite="conv_fwd",
            test=f"suites/conv_fwd/test_correctness.py::test_correctness[{case}]",
            tier="smoke",
            platform="amd",
            device_kind="hardware",
            device_name=target.upper(),
            digest="" if red else f"bg1:{case:032x}",
            dispatch={"path": "flat"},
            seconds={"total": round(0.01 * (1 + case) * chance.uniform(0.9, 1.1), 5)},
            diagnosis=Diagnosis(("k_tail",), "the last channel is missing", {}) if red else None,
            fingerprint={
                "build": f"b{built:02}-{target}-{family_of(case)}",
                "host": node,
                "commit": f"{night:040x}",
                "compiler": "amdclang++ 20",
                "driver": "6.12",
                "runtime": "ROCm 7.1.0",
                "os": "Linux",
            },
            repro=f"bitgate verify {key_of(case, target).case} --target {target}",
            run=Stamp(f"night-{night:02}", 1, time.isoformat(timespec="microseconds"), f"{target}-{night}", "1/1"),
        )

    def _sources(self, night: int, case: int) -> int:
        """Which sources a library is built from: other ones where they are broken."""
        one_night = self.planted.one_night == (family_of(case), night)
        return 100 * (night // 10) + 10 * (night >= self.planted.broken[1]) + one_night

    def _outcome(self, night: int, case: int, target: str, node: str, chance: random.Random) -> Outcome:
        planted = self.planted
        broken, since = planted.broken
        odds = [planted.flakes.get((case, target), 0.0), planted.bad_machine[1] * (node == planted.bad_machine[0])]
        drawn = [chance.random() < rate for rate in odds]
        if chance.random() < planted.losing[1] * (node == planted.losing[0]):
            return Outcome.INFRA
        wrong = case in broken and night >= since
        wrong |= family_of(case) == planted.one_night[0] and night == planted.one_night[1]
        return Outcome.MISMATCH if wrong or any(drawn) else Outcome.PASS


def family_of(case: int) -> str:
    return FAMILIES[case % len(FAMILIES)]


def key_of(case: int, target: str) -> Key:
    name = f"fwd_f32_nhwgc_g1n{case + 1}k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0"
    return Key(name, family_of(case), "f32", (), "exact", 0, "forward", target)


def write(file: Path, verdicts: list[Verdict]) -> Path:
    """A record, all of it at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(to_event(verdict)) + "\n" for verdict in verdicts))
    return file
