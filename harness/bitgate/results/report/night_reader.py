"""A night read part by part: shards of its plan with the files that share a case with them, group after group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from bitgate.core.choices import TIERS
from bitgate.core.progress import NoBar, progress_bar
from bitgate.results.report import completeness
from bitgate.results.report.facts import SourceFacts, groups, marks_of, marks_of_shard
from bitgate.results.report.findings import RunFinding
from bitgate.results.report.ledger import Ledger, Unmanned, of_night, read_part
from bitgate.results.report.source import Source, read_source, results_files
from bitgate.results.run_plan import RunPlan

KEPT = 64 << 20
"""Bytes of results files that are kept from the first reading to the second."""


class NightReader:
    """The results files of a night, and its plan if it has one. UsageError as any reader of results."""

    def __init__(
        self, paths: Sequence[Path], plan: RunPlan | None, *, may_be_empty: bool = False, unmanned: Unmanned
    ) -> None:
        self._plan, self._unmanned = plan, unmanned
        self._facts: list[SourceFacts] = []
        self._kept: dict[Path, Source] = {}
        marks = [marks_of_shard(plan, number) for number in range(len(plan.parts))] if plan else []
        self._shards = len(marks)
        seen: set[str] = set()
        left = KEPT
        for file in results_files(paths, may_be_empty=may_be_empty or plan is not None):
            source = read_source(file)
            if source.content in seen:
                continue
            seen.add(source.content)
            self._facts.append(SourceFacts.of(source))
            marks.append(marks_of(source))
            left -= file.stat().st_size if file.exists() else 0
            if left > 0:
                self._kept[file] = source
        self._groups = groups(marks)

    @property
    def targets(self) -> list[str]:
        """The targets of the plan and of the files."""
        return sorted(
            {target for one in self._facts for target in one.targets} | set(self._plan.targets if self._plan else ())
        )

    @property
    def recorded(self) -> frozenset[str]:
        """The targets of which there is a file, if only a damaged one."""
        return frozenset(target for one in self._facts for target in one.targets)

    @property
    def findings(self) -> tuple[RunFinding, ...]:
        """The findings that are about no single target."""
        return of_night(self._facts, self._plan)

    def findings_of(self, head: Ledger) -> list[RunFinding]:
        """Return what all results of a target show together, given the join of its ledgers."""
        return completeness.of_target(head.target, self._facts, head.builds, self._plan)

    def parts(self, watched: bool = False) -> Iterator[Ledger]:
        """Yield ledgers, several of each target; all that is known of the whole target is in each.

        ``watched`` shows a bar on a terminal.
        """
        known = {target: self._known(target) for target in self.targets}
        with progress_bar("merge", len(self._groups)) if watched else nullcontext(NoBar()) as bar:
            for done, group in enumerate(self._groups):
                bar.reach(done, f"{len(self._facts)} files")
                numbers = [number for number in group if number < self._shards]
                plan = self._plan.with_only(numbers) if self._plan else None
                sources = [self._source(number - self._shards) for number in group if number >= self._shards]
                for ledger in read_part(sources, plan, self._unmanned):
                    shards, started = known[ledger.target]
                    yield replace(ledger, shards=shards, started=started or ledger.started)

    def _known(self, target: str) -> tuple[tuple[str, ...], str]:
        own = [one for one in self._facts if target in one.targets]
        shards = sorted({f"{one.shard.index}of{one.shard.count}" for one in own if one.shard})
        return tuple(shards), min((one.started for one in own), default="")

    def _source(self, number: int) -> Source:
        file = self._facts[number].file
        return self._kept.get(file) or read_source(file)


def joined(head: Ledger | None, part: Ledger) -> Ledger:
    """Return what is known of a target's ledgers so far, without their entries."""
    if head is None:
        return replace(part, entries=())
    builds = {of: set(found) for of, found in head.builds.items()}
    for of, found in part.builds.items():
        builds.setdefault(of, set()).update(found)
    tiers = {head.tier, part.tier}
    return replace(
        head,
        tier=next((tier for tier in reversed(TIERS) if tier in tiers), head.tier or part.tier),
        plan=" ".join(dict.fromkeys([*head.plan.split(), *part.plan.split()])),
        notes=tuple(dict.fromkeys((*head.notes, *part.notes))),
        findings=(*head.findings, *part.findings),
        builds=builds,
    )
