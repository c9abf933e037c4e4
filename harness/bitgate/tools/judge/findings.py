"""The findings about a submission: its verdict, the exit code, and the report as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bitgate.results.record import Outcome, Verdict
from bitgate.tools.judge.operation import RULE
from bitgate.tools.judge.problems import JudgedCase, Problems
from bitgate.tools.judge.timing import Time

if TYPE_CHECKING:
    from bitgate.tools.judge.run import JudgeRequest

RIGHT, WRONG, OPEN = "right", "wrong", "open"
EXITS = {RIGHT: 0, WRONG: 1, OPEN: 3}
MOST_RED, MOST_CRASHED = 8, 3
"""Red cases, and those that ended their process, after which a submission is wrong enough."""
ZERO = "zero length"


@dataclass
class Findings:
    """All that was found of one submission so far."""

    request: JudgeRequest
    task: Problems
    kind: str
    seed: int
    sandbox: list[str]
    verdicts: list[tuple[JudgedCase, Verdict]] = field(default_factory=list)
    zero: dict[str, str] = field(default_factory=dict)
    """What is wrong where a length is zero, by its name; empty: nothing."""
    does_not_load: str = ""
    is_cut: bool = False
    """Whether cases were left out."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why the submission's declaration refuses a case, by its id."""
    notes: list[str] = field(default_factory=list)
    times: Time | None = None

    @property
    def red(self) -> list[Verdict]:
        return [one for _, one in self.verdicts if not one.green and one.outcome is not Outcome.NOT_RUN]

    def why_stop(self, is_late: bool) -> str:
        """Return why no further case is begun; empty if there is no reason."""
        outcomes = Counter(one.outcome for one in self.red)
        crashed = sum(outcomes[one] for one in (Outcome.CRASHED, Outcome.CORRUPTED, Outcome.INFRA))
        if is_late:
            return f"the budget of {self.request.budget:g} s is spent"
        if outcomes[Outcome.HUNG]:
            return "it hangs"
        if outcomes[Outcome.BUILD_FAILED]:
            return "it does not build"
        if crashed >= MOST_CRASHED or len(self.red) >= MOST_RED:
            return f"{len(self.red)} were red"
        return ""

    @property
    def verdict(self) -> str:
        """right, wrong, or open if something that would have decided was not compared."""
        is_wrong = any(not one.outcome.is_unanswered for one in self.red) or any(self.zero.values())
        if self.does_not_load or is_wrong or (self.times is not None and self.times.wrong):
            return WRONG
        takes_most = len(self.refused) <= len({one.case for one in self.right})
        is_whole = not self.is_cut and takes_most and not self.not_run
        is_whole = is_whole and all(one.green for _, one in self.verdicts)
        return RIGHT if is_whole and any(one.group == "own" or not self.task.facts for one in self.right) else OPEN

    @property
    def right(self) -> list[JudgedCase]:
        """The cases that were compared and are right."""
        return list(dict.fromkeys(one for one, verdict in self.verdicts if verdict.green and verdict.compared))

    @property
    def not_run(self) -> dict[str, str]:
        """The cases that the submission takes and that no data ran on, with the reason: a workspace is its choice."""
        ran = {one.case for one, verdict in self.verdicts if verdict.outcome is not Outcome.NOT_RUN}
        return {one.case: verdict.reason for one, verdict in self.verdicts if one.case not in ran}

    @property
    def exit(self) -> int:
        return EXITS[self.verdict]

    @property
    def diagnosis(self) -> str:
        """The first thing that is wrong, in a sentence, and where nothing else is: of which problems alone."""
        if self.does_not_load:
            return self.does_not_load
        if red := self.red:
            return _sentence(red[0]) + self._alone()
        if self.refused and not self.verdicts:
            return f"it takes none of the task's problems: {next(iter(self.refused.values()))}"
        if zero := [f"where {name} is 0: {why}" for name, why in self.zero.items() if why]:
            return zero[0]
        if len(self.refused) > len({one.case for one in self.right}):
            return f"it refuses more of the task's problems than it takes: {next(iter(self.refused.values()))}"
        if not_run := self.not_run:
            case, why = next(iter(not_run.items()))
            return f"{len(not_run)} of the task's cases were not compared, such as {case}: {why}"
        return f"while it was timed: {self.times.wrong}" if self.times is not None and self.times.wrong else ""

    def _alone(self) -> str:
        groups = {one.group for one, verdict in self.verdicts if not verdict.green}
        green = {one.group for one, verdict in self.verdicts if verdict.green} - groups
        return f" (only of problems that are {' or '.join(sorted(groups))})" if green and len(groups) == 1 else ""

    def report(self) -> dict[str, Any]:
        """Return the report: what ``--json`` prints and a page shows."""
        task, verdicts = self.task, self.verdicts
        zero = Counter("MISMATCH" if why else "PASS" for why in self.zero.values())
        return {
            "submission": str(self.request.submission),
            "task": self.request.task,
            "target": self.request.target,
            "kind": "declaration" if self.kind == "FAMILY" else "callable",
            "verdict": self.verdict,
            "exit": self.exit,
            "diagnosis": self.diagnosis or None,
            "seed": self.seed,
            "time": None if self.times is None else self.times.as_json(),
            "sandbox": ["expected values in another process", *self.sandbox],
            "rule": RULE if task.facts else "the operation's bounds (docs/exactness.md)",
            "notes": [*task.notes, *self.notes, *self._refused(), *self._types()],
            "summary": {
                "cases": len(verdicts) + len(self.zero),
                "compared": len([one for _, one in verdicts if one.compared]) + len(self.zero),
                "red": len(self.red) + zero["MISMATCH"],
                "outcomes": dict(Counter(one.outcome.value for _, one in verdicts) + zero),
                "groups": dict(Counter(one.group for one, _ in verdicts) + Counter({ZERO: len(self.zero)})),
            },
            "checks": [*(_row(one, verdict) for one, verdict in verdicts), *map(self._zero_row, self.zero)],
        }

    def _zero_row(self, name: str) -> dict[str, Any]:
        why = self.zero[name]
        case, outcome = f"{self.task.operation} {name}=0", "MISMATCH" if why else "PASS"
        known = {"case": case, "group": ZERO, "fill": "decimal", "outcome": outcome, "green": not why}
        return {**known, "compared": True, "reason": why, "kinds": [], "error": None}

    def _refused(self) -> list[str]:
        if not self.refused:
            return []
        case, why = next(iter(self.refused.items()))
        return [f"it refuses {len(self.refused)} of the task's cases, such as {case}: {why}"]

    def _types(self) -> list[str]:
        own = dict.fromkeys(one["dtype"] for one in (self.task.facts or {"problems": []})["problems"])
        return [f"reals are {', '.join(own)}"] if own else []


def _sentence(verdict: Verdict) -> str:
    return verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason


def _row(one: JudgedCase, verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.key.case,
        "group": one.group,
        "fill": one.fill,
        "outcome": verdict.outcome.value,
        "green": verdict.green,
        "compared": verdict.compared,
        "reason": "" if verdict.green and verdict.compared else _sentence(verdict) or verdict.reason,
        "kinds": list(verdict.diagnosis.kinds) if verdict.diagnosis else [],
        "error": verdict.error or None,
    }


def as_text(report: Mapping[str, Any]) -> str:
    return json.dumps(report, indent=2)
