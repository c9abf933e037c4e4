"""Stored digests of all suites: computed by the exact CPU reference, written, or held against what is stored.

A digest that is stored decides verdicts without a reference, so a changed one is accepted only with a reason, and only
if a second reference, which shares nothing with the first but the data, gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from bitgate.core.choices import SMOKE
from bitgate.core.errors import UsageError
from bitgate.model import Accumulation, Problem
from bitgate.model.gap import packed
from bitgate.model.problem import held_bytes
from bitgate.numerics.certificate import ZERO_RESULT, blind, certify
from bitgate.numerics.digest import digest_of
from bitgate.numerics.fill import FillPlan, is_stored, make_inputs, plan_fill
from bitgate.numerics.ordered import ordered_reference
from bitgate.numerics.reference import defined_results, exact_results
from bitgate.suite.planning import Setting
from bitgate.suite.suites import planned_tests
from bitgate.verify.bounds import nan_class
from bitgate.verify.planned import PlannedCase
from bitgate.verify.poison import poison_bits
from bitgate.verify.stored import FILE, DigestChange, StaleDigests, StoredDigest, key_of, read, read_reasons, write

LARGEST = 2**30
"""Bytes of all tensors of a case whose digest is stored; larger ones have the checksum identity and the GPU."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    """One digest that belongs into a suite's file."""

    suite: str
    key: str
    problem: Problem
    plan: FillPlan
    accumulation: Accumulation

    def agrees(self, stored: StoredDigest) -> bool:
        """Return whether the ordered reference gives these bits too.

        Where no order is stated, and for all outputs but the first, which an order says nothing about, it is the plain
        definition.
        """
        inputs, results = make_inputs(self.problem, self.plan), {}
        states_order = self.problem.operation.numerics.states_order
        if not states_order or len(self.problem.outputs) > 1:
            results = defined_results(self.problem, inputs)
        if states_order:
            results[self.problem.result] = ordered_reference(self.problem, inputs)
        return digest_of(self.problem, results) == stored.digest

    def compute(self) -> StoredDigest | None:
        """Compute the digest by the CPU's exact reference; None where the order of summation shows in the bits, or a
        NaN."""
        inputs = make_inputs(self.problem, self.plan)
        certificate = certify(self.problem, self.plan, inputs, self.accumulation)
        if not certificate.holds:
            return None
        results = exact_results(self.problem, inputs)
        if any(nan_class(one, poison_bits(one.tensor.dtype)) is not None for one in results.values()):
            return None
        if not any(one.logical.any() for one in results.values()):
            certificate = blind(certificate, ZERO_RESULT)
        return StoredDigest.of(digest_of(self.problem, results), certificate)


@dataclass(frozen=True)
class Changes:
    """Keys that an update or a check found.

    ``wrong`` were stored with another digest or certificate. Where the two references disagree (``disputed``) nothing
    was written.
    """

    stored: int
    added: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()

    def __add__(self, other: Changes) -> Changes:
        """Add the changes of two folders of suites."""
        return Changes(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def wishes(settings: Sequence[Setting], tables: Sequence[Path], tier: str = "") -> Iterator[Wish]:
    """Yield once each digest that the plans of a tier (empty: of all) ask for under any of the settings."""
    seen: set[str] = set()
    for setting in settings:
        for test in planned_tests(setting, tables):
            wish = _wish(test)
            if wish is not None and wish.key not in seen and (tier != SMOKE or test.tier == SMOKE):
                seen.add(wish.key)
                yield wish


def update(
    every: Sequence[Wish], chosen: Sequence[Wish], folder: Path, progress: Progress, reason: str = ""
) -> Changes:
    """Compute the chosen ones and write the suites' files; what no plan asks for any more is dropped.

    UsageError if a stored digest would change and no reason is given; nothing is written then.
    """
    suites = sorted(path.parent.name for path in folder.glob(f"*/{FILE}"))
    books = {suite: _book(folder / suite / FILE) for suite in suites}
    known = {key: entry for book in books.values() for key, entry in book.digests.items()}
    stale = {key for book in books.values() if book.is_stale for key in book.digests}
    fresh, lost = _computed(chosen, progress)
    changed = [key for key, entry in fresh.items() if key in known and (key in stale or known[key].line != entry.line)]
    changed += [key for key in lost if key in known]
    if changed and not reason:
        raise UsageError(
            f"{len(changed)} stored digests would change, the first is {changed[0]}:"
            " say why with --reason TEXT; --check-digests lists them all"
        )
    found = Changes(len(known), _added(fresh, known), tuple(changed), _dropped(every, known))
    if disputed := _disputed(chosen, fresh, {*found.wrong, *found.added}, progress):
        return replace(found, disputed=disputed)
    asked = {wish.key for wish in every}
    kept = {key: entry for key, entry in known.items() if key in asked and key not in {*lost, *stale}} | fresh
    _write(every, kept, folder, books, DigestChange.of_today(reason, changed))
    return replace(found, stored=len(kept))


def check(every: Sequence[Wish], chosen: Sequence[Wish], folder: Path, progress: Progress) -> Changes:
    """Compute the chosen ones and say what the files hold otherwise; nothing is written."""
    paths = sorted(folder.glob(f"*/{FILE}"))
    known = {key: entry for path in paths for key, entry in read(path).items()}
    fresh, lost = _computed(chosen, progress)
    wrong = [key for key, entry in fresh.items() if key in known and known[key].line != entry.line]
    wrong += [key for key in lost if key in known]
    kept = {wish.key for wish in every if wish.key in known or wish.key in fresh}
    return Changes(len(kept), _added(fresh, known), tuple(wrong), _dropped(every, known))


def _computed(chosen: Sequence[Wish], progress: Progress) -> tuple[dict[str, StoredDigest], list[str]]:
    """Compute the digests by key, and list the keys of cases that can have none."""
    fresh: dict[str, StoredDigest] = {}
    lost: list[str] = []
    for count, wish in enumerate(chosen, 1):
        computed = wish.compute()
        if computed is None:
            lost.append(wish.key)
        else:
            fresh[wish.key] = computed
        if count % 100 == 0 or count == len(chosen):
            progress(f"{count} of {len(chosen)} digests computed")
    return fresh, lost


def _added(fresh: Mapping[str, StoredDigest], known: Mapping[str, StoredDigest]) -> tuple[str, ...]:
    return tuple(key for key in fresh if key not in known)


def _dropped(every: Sequence[Wish], known: Mapping[str, StoredDigest]) -> tuple[str, ...]:
    asked = {wish.key for wish in every}
    return tuple(key for key in known if key not in asked)


def _disputed(
    chosen: Sequence[Wish], fresh: Mapping[str, StoredDigest], keys: set[str], progress: Progress
) -> tuple[str, ...]:
    """Return the keys, of those to be written, for which the second reference gives other bits."""
    todo = [wish for wish in chosen if wish.key in fresh and wish.key in keys]
    found: list[str] = []
    for count, wish in enumerate(todo, 1):
        if not wish.agrees(fresh[wish.key]):
            found.append(wish.key)
        if count % 100 == 0 or count == len(todo):
            progress(f"{count} of {len(todo)} held against the ordered reference")
    return tuple(found)


def _write(
    every: Sequence[Wish],
    kept: Mapping[str, StoredDigest],
    folder: Path,
    books: Mapping[str, Book],
    reason: DigestChange,
) -> None:
    by_suite: dict[str, dict[str, StoredDigest]] = {suite: {} for suite in books}
    for wish in every:
        if wish.key in kept:
            by_suite.setdefault(wish.suite, {})[wish.key] = kept[wish.key]
    for suite, digests in by_suite.items():
        own = DigestChange(
            reason.date, reason.text, tuple(key for key in reason.keys if key in books.get(suite, NO_BOOK).digests)
        )
        earlier = books.get(suite, NO_BOOK).reasons
        write(folder / suite / FILE, digests, (*earlier, own) if own.keys else earlier)


@dataclass(frozen=True)
class Book:
    """A suite's file as it is; ``is_stale``: of another generator, so that all of it is computed anew."""

    digests: Mapping[str, StoredDigest]
    reasons: tuple[DigestChange, ...] = ()
    is_stale: bool = False


NO_BOOK = Book({})


def _book(path: Path) -> Book:
    """UsageError for a file that cannot be read: whatever it held would be lost without a reason."""
    try:
        return Book(read(path), read_reasons(path))
    except StaleDigests as error:
        return Book(error.digests, read_reasons(path), is_stale=True)


def _wish(planned: PlannedCase) -> Wish | None:
    """Return None for a case without an exact reference: other fills, refusals, what is not run, what is too large."""
    problem = _in_memory(planned.problem)
    if planned.no_kernel or planned.refused or problem is None or not is_stored(problem, planned.fill):
        return None
    accumulation = planned.kernel.instance.accumulation_for(problem)
    plan = plan_fill(problem, accumulation, planned.fill, planned.seed)
    return Wish(planned.suite, key_of(planned.case, plan), problem, plan, accumulation)


def _in_memory(problem: Problem) -> Problem | None:
    """Return the problem, without the gaps that make it too large, if any: digests do not depend on them."""
    return next((one for one in (problem, packed(problem)) if held_bytes(one) <= LARGEST), None)
