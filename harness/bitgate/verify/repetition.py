"""A case that runs several times, and its one verdict: right now and wrong then is red, never green."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec import Struct

from bitgate.results.record import Outcome, Verdict

SETTLED = frozenset({Outcome.REFUSED, Outcome.NOT_RUN, Outcome.BUILD_FAILED})
"""Outcomes that another run would not change: nothing was launched."""


class Repetition(Struct, frozen=True):
    """The number of times that each case runs; with ``until_red`` a case stops at its first red verdict."""

    times: int = 1
    until_red: bool = False

    def verdict(self, once: Callable[[int], Verdict]) -> Verdict:
        """Return the verdict of a case. ``once`` runs it, given how often it will run after that at most."""
        verdicts: list[Verdict] = []
        for left in reversed(range(self.times)):
            verdicts.append(once(left))
            if verdicts[-1].outcome in SETTLED or (self.until_red and not verdicts[-1].green):
                break
        return self._joined(verdicts)

    def _joined(self, verdicts: Sequence[Verdict]) -> Verdict:
        red = [verdict for verdict in verdicts if not verdict.green]
        if not red:
            return verdicts[0]
        verdict = red[0]
        if verdict.outcome in SETTLED or len(red) == self.times:
            return verdict
        if len(verdicts) < self.times:
            words = f"red in repeat {len(verdicts)} of {self.times}, where it stopped"
        else:
            words = f"red in {len(red)} of {self.times} repeats"
        diagnosis, is_flaky = verdict.diagnosis, len(red) < len(verdicts)
        return replace(
            verdict,
            outcome=Outcome.NONDETERMINISTIC if is_flaky and verdict.outcome is Outcome.MISMATCH else verdict.outcome,
            reason=f"{words}: {verdict.reason}",
            diagnosis=diagnosis and replace(diagnosis, sentence=f"{words}: {diagnosis.sentence}"),
            repro=f"{verdict.repro} --repeat {self.times}",
        )


ONCE = Repetition()
