"""The saved state of a fuzzing run, from which a later one goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import MsgspecError, convert, structs

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.tools.fuzz.server import FuzzTally

SCHEMA = 1


@dataclass
class CampaignState:
    """The state of a campaign.

    ``unfinished``: rounds that were begun, with the case to go on at. ``failures`` are as ``ShrunkFailure.as_json``
    writes them.
    """

    seed: int
    kernel: str | None
    target: str
    next_round: int = 0
    unfinished: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    tally: FuzzTally = field(default_factory=FuzzTally)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def take_round(self) -> tuple[int, int]:
        """Return the next round to run and the case to begin at."""
        if self.unfinished:
            number = min(self.unfinished)
            return number, self.unfinished.pop(number)
        self.next_round += 1
        return self.next_round - 1, 0

    def summary(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "kernel": self.kernel,
            "target": self.target,
            "rounds": self.next_round - len(self.unfinished),
            "seconds": round(self.seconds, 3),
            "problems": self.tally.problems,
            "verdicts": self.tally.verdicts,
            "compared": self.tally.compared,
            "outcomes": dict(self.tally.outcomes),
            "instances": dict(self.tally.instances),
        }

    def write(self, path: Path) -> None:
        """Write the whole file or none of it."""
        document = {
            "schema": SCHEMA,
            "seed": self.seed,
            "kernel": self.kernel,
            "target": self.target,
            "next_round": self.next_round,
            "unfinished": [[number, case] for number, case in sorted(self.unfinished.items())],
            "seconds": self.seconds,
            "tally": structs.asdict(self.tally),
            "failures": self.failures,
        }
        write_whole(path, json.dumps(document) + "\n")


def read_state(path: Path, seed: int, kernel: str | None, target: str) -> CampaignState:
    """Read the state of an earlier run with the same arguments. Raises UsageError if there is none, or of other
    arguments."""
    try:
        document = json.loads(path.read_text())
        if document["schema"] != SCHEMA:
            raise UsageError(f"{path}: written by another version of bitgate; start anew, without --resume")
        before = (document["seed"], document["kernel"], document["target"])
        if before != (seed, kernel, target):
            raise UsageError(
                f"{path}: was left by --seed {before[0]} --kernel {before[1] or '*'} on {before[2]}: ask for the same,"
                " or start anew without --resume"
            )
        return CampaignState(
            seed,
            kernel,
            target,
            document["next_round"],
            dict(document["unfinished"]),
            document["seconds"],
            convert(document["tally"], FuzzTally),
            document["failures"],
        )
    except FileNotFoundError:
        raise UsageError(f"{path}: nothing to resume; leave --resume out") from None
    except (ValueError, KeyError, TypeError, AttributeError, MsgspecError) as error:
        raise UsageError(f"{path}: not the state of a fuzzing run ({error}); start anew without --resume") from None
