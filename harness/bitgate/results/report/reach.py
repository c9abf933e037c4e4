"""The reach of a green run: instances, fills, seeds and schedules, and the strength of the solved lists that it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.facts import mark
from bitgate.results.strength import Strength, strength_in

LIST = "solved.txt"
TIERS = ("smoke", "gpu", "regression")
"""Tiers of a list's lines, each of which holds those before it."""
LARGEST = 64 << 20
SEVERAL = 12
"""Values of a name that are shown."""


@dataclass(frozen=True)
class ListReach:
    """The part of a solved list that was green on a target, of one family and operation.

    ``strength`` is that of the largest tier of which every case was green; None if there is no such tier.
    """

    suite: str
    family: str
    operation: str
    green: int
    silent: int
    """The green cases that a kernel which only clears its result passes as well."""
    strength: Strength | None

    @property
    def words(self) -> str:
        """Format the cases and their strength on one line."""
        if self.strength is None:
            return f"{self.green} cases green: not the whole list of a tier, so no strength is shown"
        silent = f" ({self.silent} show nothing)" if self.silent else ""
        one = self.strength
        shares = [
            f"{name} {done} of {of} ({1000 * done // max(1, of) / 10} %)"
            for name, (done, of) in (("pairs", one.pairs), ("triples", one.triples))
        ]
        return f"all {one.cases} cases of {one.tier} green{silent}: {', '.join(shares)}"


@dataclass(frozen=True)
class TargetReach:
    """The cases that were compared and green on a target, counted by family, fill, seed, schedule and path."""

    target: str
    instances: int
    counts: dict[str, dict[str, int]]
    measured: int
    """Cases whose sensitivity to single lost terms was measured."""
    sensitive: int
    """Those that would show each lost term."""
    lists: tuple[ListReach, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return its fields, and the words on each list."""
        lists = [
            {"suite": one.suite, "family": one.family, "operation": one.operation, "words": one.words}
            for one in self.lists
        ]
        return vars(self) | {"lists": lists}

    @property
    def lines(self) -> Iterator[str]:
        """Yield each count on a line."""
        for name, found in self.counts.items():
            most = sorted(found.items(), key=lambda one: -one[1])
            listed = ", ".join(f"{value} ({count})" for value, count in most[:SEVERAL])
            more = f" and {len(most) - SEVERAL} more" if len(most) > SEVERAL else ""
            yield f"{name}: {listed}{more}"
        if self.measured:
            yield f"sensitivity: {self.sensitive} of {self.measured} cases measured would show any single lost term"


class ListedCase(NamedTuple):
    """A line of a solved list, and what a run says of it."""

    tier: str
    green: bool
    silent: bool


class ReachBuilder:
    """Counts the green verdicts of a target, part by part."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("kernels", "fills", "seeds", "schedules", "paths")
        }
        self._instances: set[str] = set()
        self._measured = self._sensitive = 0
        self._rows: dict[str, dict[int, tuple[int, bool]]] = {}
        self._red: set[tuple[str, int]] = set()

    def add(self, verdict: Verdict) -> None:
        """Count a verdict, if it is green and was compared."""
        file, _, line = verdict.row.rpartition(":")
        listed = file.rpartition("/")[2] == LIST and line.isascii() and line.isdecimal() and len(line) < 10
        is_pass = verdict.green and verdict.outcome is Outcome.PASS
        if listed and is_pass:
            self._rows.setdefault(file, {})[int(line)] = mark(verdict.key.case), verdict.compared
        elif listed:
            self._red.add((file, int(line)))
        if is_pass and verdict.compared:
            self._count(verdict)

    def _count(self, verdict: Verdict) -> None:
        key, found = verdict.key, self._counts
        self._instances.add(key.name)
        stated = (key.kernel, key.fill, str(key.seed), key.schedule.partition(":")[0], verdict.dispatch.get("path"))
        for of, value in zip(found.values(), stated, strict=True):
            if value:
                of[str(value)] += 1
        if verdict.certificate and verdict.certificate.sensitivity is not None:
            self._measured += 1
            self._sensitive += verdict.certificate.sensitivity >= 1

    def reach(self) -> TargetReach:
        """Return what was reached; lists are read where the current folder or bitgate's data have them."""
        lists = [one for file, rows in self._rows.items() for one in self._of_list(file, rows)]
        counts = {name: dict(found) for name, found in self._counts.items() if found}
        return TargetReach(self._target, len(self._instances), counts, self._measured, self._sensitive, tuple(lists))

    def _of_list(self, file: str, rows: dict[int, tuple[int, bool]]) -> Iterator[ListReach]:
        lines = _lines_of(file)
        strengths = [one for line in lines if (one := strength_in(line.removeprefix("# ")))]
        suite = file.split("/")[-2] if "/" in file else ""
        wanted: dict[tuple[str, str], list[ListedCase]] = {}
        for number, text in enumerate(lines, 1):
            tier, case, kernel, *_ = (*text.split(), "", "", "")
            found, compared = rows.get(number, (0, False))
            for one in strengths:
                of = one.family, one.operation
                if one.tier == tier and kernel.startswith(f"{of[0]}.") and case.startswith(f"{of[1]}_"):
                    green = found == mark(case) and (file, number) not in self._red
                    wanted.setdefault(of, []).append(ListedCase(tier, green, green and not compared))
        for (family, operation), cases in wanted.items():
            if any(one.green for one in cases):
                strength = _reached(
                    [one for one in strengths if (one.family, one.operation) == (family, operation)], cases
                )
                held = [one for one in cases if strength is None or one.tier in _up_to(strength.tier)]
                green, silent = (sum(getattr(one, name) for one in held) for name in ("green", "silent"))
                yield ListReach(suite, family, operation, green, silent, strength)


def _up_to(tier: str) -> tuple[str, ...]:
    return TIERS[: TIERS.index(tier) + 1] if tier in TIERS else ()


def _reached(strengths: Sequence[Strength], cases: Sequence[ListedCase]) -> Strength | None:
    """Return the strength of the largest tier whose cases are all green."""
    for one in sorted(strengths, key=lambda one: -one.cases):
        of_tier = [case.green for case in cases if case.tier in _up_to(one.tier)]
        if all(of_tier) and len(of_tier) == one.cases:
            return one
    return None


def _lines_of(file: str) -> list[str]:
    """Return the lines of a list, empty where it cannot be found; a record's path may not leave its folder."""
    if file.startswith("/") or ".." in file.split("/") or "\0" in file:
        return []
    for folder in _folders():
        path = folder / file
        try:
            if path.is_file() and path.stat().st_size < LARGEST:
                return path.read_text(errors="replace").splitlines()
        except OSError:
            continue
    return []


def _folders() -> Iterator[Path]:
    yield Path.cwd()
    try:
        yield ours().root
    except UsageError:
        return
