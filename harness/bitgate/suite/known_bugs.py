"""Known bugs: cases that must fail until the kernel is fixed, and in the way that their ledger records.

A ledger is a file ``known_bugs.toml`` next to a suite's table, in the folder of the suites, or next to a kernel's
declaration; or one that ``bitgate.toml`` names. A failure that it records is green until the entry expires; anything
else that its cases do is red, so that an entry can hide nothing but what it names. ``docs/verdicts.md`` has the
format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import architecture_of, is_emulated
from bitgate.kernel.declaration import KernelFamily
from bitgate.results.record import Outcome, Verdict
from bitgate.suite.known_bug_fields import PropertyMatch, read_entries
from bitgate.verify.planned import PlannedCase

FILE = "known_bugs.toml"


@dataclass(frozen=True)
class KnownBug:
    """One entry of a ledger."""

    origin: str
    kernels: tuple[str, ...]
    targets: tuple[str, ...]
    verdict: Outcome
    kind: str
    owner: str
    ticket: str
    expires: date
    """The last day (UTC) on which the failure is excused."""
    where: Mapping[str, PropertyMatch] = field(default_factory=dict)
    cases: frozenset[str] = frozenset()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fills: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    """Globs of host names, on which alone it fails; none: on all."""
    flaky: str = ""
    """What shows that it fails now and then: then a case that does not fail says nothing against the entry."""

    @property
    def failure(self) -> str:
        """Return the recorded failure in words."""
        return f"{self.verdict} {self.kind}".strip()

    def covers(self, planned: PlannedCase) -> bool:
        """Return whether the entry is about this case. One that is to be refused fails only by its refusal."""
        kernel = planned.kernel
        # What is true of gfx942 is true of gfx942 without xnack; an emulator has other bugs.
        targets = (planned.target, *(() if is_emulated(planned.target) else (architecture_of(planned.target).name,)))
        return (
            any(fnmatchcase(kernel.family.name, glob) or fnmatchcase(kernel.name, glob) for glob in self.kernels)
            and any(fnmatchcase(target, glob) for glob in self.targets for target in targets)
            and (not planned.refused or self.verdict is Outcome.REFUSED)
            and (not self.fills or planned.fill in self.fills)
            and all(kernel.settings.get(name) in values for name, values in self.options.items())
            and (not self.cases or planned.case in self.cases)
            and all(wanted.fits(planned.problem) for wanted in self.where.values())
        )

    def names(self, family: KernelFamily) -> bool:
        """Return whether the entry is about kernels of the family."""
        names = (family.name, *(f"{family.name}.{instance.name}" for instance in family.instances))
        return any(fnmatchcase(name, glob) for name in names for glob in self.kernels)

    def is_of(self, machine: str) -> bool:
        return not self.machines or any(fnmatchcase(machine, glob) for glob in self.machines)

    def records(self, verdict: Verdict) -> bool:
        """Return whether the case failed as recorded. The kind is the diagnosis' first, which says most."""
        kinds = verdict.diagnosis.kinds if verdict.diagnosis else ()
        return verdict.outcome is self.verdict and (not self.kind or kinds[:1] == (self.kind,))


@dataclass
class KnownBugs:
    """The ledgers of a run, by the suites that they are for; those of a kernel's folder are for all."""

    by_suite: dict[str, dict[Path, tuple[KnownBug, ...]]] = field(default_factory=dict)
    of_all: dict[Path, tuple[KnownBug, ...]] = field(default_factory=dict)

    def add_suite(self, suite: str, table: Path) -> None:
        """Add the ledgers of a suite's folder and of the one around it. Raises UsageError for a bad entry."""
        known = self.by_suite.setdefault(suite, {})
        for path in (table.parent / FILE, table.parent.parent / FILE):
            if path not in known:
                known[path] = read(path)

    def add_project(self, project: Project) -> None:
        """Add the ledgers of a project, and those next to its declarations. Raises UsageError for a bad entry."""
        beside = (declaration.resolve().parent / FILE for declaration in project.declarations)
        for path in (*project.known_bugs, *beside):
            self.of_all[path] = read(path)

    @property
    def entries(self) -> tuple[KnownBug, ...]:
        """All entries, each once."""
        ledgers = {**self.of_all}
        for known in self.by_suite.values():
            ledgers |= known
        return tuple(bug for bugs in ledgers.values() for bug in bugs)

    def check_options(self, families: Iterable[KernelFamily]) -> None:
        """Raise UsageError for an entry with an option, or a value of one, that none of its kernels has."""
        every = tuple(families)
        for bug in self.entries:
            own = [family for family in every if bug.names(family)]
            for name, values in bug.options.items() if own else ():
                options = [option for family in own if (option := family.option(name)) is not None]
                if not options:
                    raise UsageError(f"{bug.origin}: options: none of its kernels has an option '{name}'")
                for value in values:
                    if not any(option.allows(value) for option in options):
                        known = ", ".join(dict.fromkeys(one for option in options for one in option.values))
                        raise UsageError(f"{bug.origin}: options: {name} is never '{value}'; known are {known}")

    def idle(self, planned: Iterable[PlannedCase], target: str) -> list[KnownBug]:
        """Return the entries for a target that are about none of the cases."""
        cases = tuple(planned)
        mine = (bug for bug in self.entries if any(fnmatchcase(target, glob) for glob in bug.targets))
        return [bug for bug in mine if not any(map(bug.covers, cases))]

    def judged(self, verdict: Verdict, planned: PlannedCase, today: date | None = None) -> Verdict:
        """Return the verdict as the ledgers see it: the same, unless an entry is about the case. ``today`` is UTC."""
        # Of a case without an answer nothing is known: the bug may be there or not.
        if verdict.outcome.is_unanswered or verdict.known_bug:
            return verdict
        ledgers = {**self.by_suite.get(planned.suite, {}), **self.of_all}
        day = today or datetime.now(timezone.utc).date()
        machine = verdict.fingerprint.get("host", "")
        covering = [bug for bugs in ledgers.values() for bug in bugs if bug.covers(planned) and bug.is_of(machine)]
        if verdict.green:
            covering = [bug for bug in covering if not bug.flaky or day > bug.expires]
        if not covering:
            return verdict
        failing = [bug for bug in covering if bug.records(verdict)]
        excusing = next((bug for bug in failing if day <= bug.expires), None)
        if excusing is not None:
            reason = f"{excusing.ticket}, {excusing.owner}, until {excusing.expires}: {_said(verdict)}"
            return _marked(verdict, excusing, reason, outcome=Outcome.KNOWN_BUG)
        return _marked(verdict, (failing or covering)[0], _objection(verdict, failing, covering))


def read(path: Path) -> tuple[KnownBug, ...]:
    """Return the entries of a ledger; none where there is no file. Raises UsageError naming file, line and field."""
    return tuple(KnownBug(**fields) for fields in read_entries(path))


def _objection(verdict: Verdict, failing: list[KnownBug], covering: list[KnownBug]) -> str:
    bug = (failing or covering)[0]
    named = f"the known bug {bug.ticket} ({bug.owner}, {bug.origin})"
    if failing:
        return (
            f"{named} expired on {bug.expires}: fix the kernel, or say until when in 'expires'; it still fails as"
            f" recorded: {_said(verdict)}"
        )
    if verdict.green and bug.flaky:
        return f"{named} was quarantined until {bug.expires}: remove the entry, or say in it why it is flaky still"
    if verdict.green:
        return f"{named} did not fail: if it is fixed, remove the entry; if it never was about this case, narrow it"
    kinds = verdict.diagnosis.kinds if verdict.diagnosis else ()
    now = " ".join((verdict.outcome.value, *kinds[:1]))
    return f"{named} records {bug.failure}, and this is {now}, another failure: {_said(verdict)}"


def _said(verdict: Verdict) -> str:
    return verdict.diagnosis.sentence if verdict.diagnosis else verdict.reason or verdict.outcome.value


def _marked(verdict: Verdict, bug: KnownBug, reason: str, **changes: Any) -> Verdict:
    entry = {
        "ticket": bug.ticket,
        "owner": bug.owner,
        "expires": bug.expires.isoformat(),
        "entry": bug.origin,
        "outcome": verdict.outcome.value,
    }
    return replace(verdict, reason=reason, known_bug=entry, **changes)
