"""Stored digests of all suites: computed by the exact CPU reference, written, or held against what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitgate.cases.planning import PlannedTest, Setting
from bitgate.cases.row import SMOKE
from bitgate.cases.suites import planned_tests
from bitgate.errors import UsageError
from bitgate.exact.certificate import certify
from bitgate.exact.digest import digest
from bitgate.exact.fill import FillPlan, make_inputs, plan_fill
from bitgate.exact.reference import exact_reference
from bitgate.kernel.declaration import KernelFamily
from bitgate.problem import ConvProblem
from bitgate.problem.accumulation import Accumulation
from bitgate.verify.bounds import nan_class
from bitgate.verify.poison import poison_bits
from bitgate.verify.stored import FILE, StoredDigest, key_of, read, write

LARGEST = 2**30
"""Bytes of all tensors of a case whose digest is stored; larger ones have the checksum identity and the GPU."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    """One digest that belongs into a suite's file."""

    suite: str
    key: str
    problem: ConvProblem
    plan: FillPlan
    accumulation: Accumulation

    def compute(self) -> StoredDigest | None:
        """By the CPU's exact reference; None where the order of summation shows in the bits, or a NaN does."""
        inputs = make_inputs(self.problem, self.plan)
        certificate = certify(self.problem, self.plan, inputs, self.accumulation)
        if not certificate.holds:
            return None
        result = exact_reference(self.problem, inputs)
        if nan_class(result, poison_bits(result.tensor.dtype)) is not None:
            return None
        return StoredDigest.of(digest(result), certificate)


@dataclass(frozen=True)
class Changes:
    """What an update or a check found, as keys; ``wrong`` were stored with another digest or certificate."""

    stored: int
    added: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def wishes(settings: Sequence[Setting], folder: Path, tier: str = "") -> Iterator[Wish]:
    """Every digest that the plans of a tier (empty: of all) ask for under any of the settings, each once."""
    seen: set[str] = set()
    for setting in settings:
        for test in planned_tests(setting, folder):
            wish = _wish(test, setting.families)
            if wish is not None and wish.key not in seen and (tier != SMOKE or test.planned.tier == SMOKE):
                seen.add(wish.key)
                yield wish


def update(every: Sequence[Wish], chosen: Sequence[Wish], folder: Path, progress: Progress) -> Changes:
    """Compute the chosen ones and write the suites' files; what no plan asks for any more is dropped."""
    return _go_over(every, chosen, folder, progress, store=True)


def check(every: Sequence[Wish], chosen: Sequence[Wish], folder: Path, progress: Progress) -> Changes:
    """Compute the chosen ones and say what the files hold otherwise; nothing is written."""
    return _go_over(every, chosen, folder, progress, store=False)


def _go_over(every: Sequence[Wish], chosen: Sequence[Wish], folder: Path, progress: Progress, store: bool) -> Changes:
    stored = {path.parent.name: _read(path, lenient=store) for path in sorted(folder.glob(f"*/{FILE}"))}
    known = {key: entry for entries in stored.values() for key, entry in entries.items()}
    asked = {wish.key for wish in every}
    fresh: dict[str, StoredDigest] = {}
    for count, wish in enumerate(chosen, 1):
        computed = wish.compute()
        if computed is not None:
            fresh[wish.key] = computed
        if count % 100 == 0 or count == len(chosen):
            progress(f"{count} of {len(chosen)} digests computed")
    kept = {key: entry for key, entry in known.items() if key in asked} | fresh
    if store:
        _write(every, kept, folder, tuple(stored))
    return Changes(
        stored=len(kept),
        added=tuple(key for key in fresh if key not in known),
        wrong=tuple(key for key, entry in fresh.items() if key in known and known[key].line != entry.line),
        dropped=tuple(key for key in known if key not in asked),
    )


def _write(every: Sequence[Wish], kept: Mapping[str, StoredDigest], folder: Path, suites: Sequence[str]) -> None:
    by_suite: dict[str, dict[str, StoredDigest]] = {suite: {} for suite in suites}
    for wish in every:
        if wish.key in kept:
            by_suite.setdefault(wish.suite, {})[wish.key] = kept[wish.key]
    for suite, digests in by_suite.items():
        write(folder / suite / FILE, digests)


def _read(path: Path, lenient: bool) -> dict[str, StoredDigest]:
    """What a file holds; a stale one counts as empty where all is computed anew."""
    try:
        return read(path)
    except UsageError:
        if not lenient:
            raise
        return {}


def _wish(test: PlannedTest, families: Mapping[str, KernelFamily]) -> Wish | None:
    """None for a case without an exact reference: other fills, refusals, what nobody runs, what is too large."""
    planned, problem = test.planned, test.planned.problem
    too_large = sum(tensor.bytes for tensor in problem.tensors.values()) > LARGEST
    if test.nobody or planned.fill != "exact" or planned.expect.kind != "pass" or too_large:
        return None
    instance = families[planned.family].instance(planned.instance)
    assert instance is not None
    accumulation = instance.accumulation_for(problem)
    plan = plan_fill(problem, accumulation, planned.fill, planned.seed)
    return Wish(planned.suite, key_of(planned.case, plan), problem, plan, accumulation)
