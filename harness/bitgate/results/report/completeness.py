"""Completeness of a run: the plan, shard, tier, commit and build that files state are compared with each other and with
the plan of the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from bitgate.results.build_manifest import BuildManifest, strangers
from bitgate.results.record import UNKNOWN, Verdict
from bitgate.results.report.attempts import SettledVerdict
from bitgate.results.report.findings import RunFinding, distinct, some
from bitgate.results.report.source import Source
from bitgate.results.run_plan import RunPlan

COMMIT = "commit"
"""Name of the kernels' commit in a verdict's fingerprint."""
BUILD = "build"
RACE = "race"
"""The schedule whose cases run on a separate flavour of the kernels, which not every shard needs."""


def of_night(sources: Sequence[Source], plan: RunPlan | None) -> list[RunFinding]:
    """Return the findings that concern all targets."""
    found = []
    every: set[str] = set()
    # A user's kernel may come from another repository than the suites: each must be of one commit.
    for by_commit in _commits(sources):
        every |= set(by_commit)
        if len(by_commit) > 1:
            named = "; ".join(f"{commit:.46} in {some(files)}" for commit, files in sorted(by_commit.items()))
            finding = RunFinding("OtherCommit", f"{len(by_commit)} commits in one report: {named}")
            found += [finding] * (finding not in found)
    # Which files count as changed depends on the folder in question; the plan's is that of the suites.
    known = {commit.removesuffix("-dirty") for commit in every}
    if plan and plan.commit not in ("", UNKNOWN) and known and plan.commit.removesuffix("-dirty") not in known:
        named = f"the plan is of commit {plan.commit:.46}, the results of {min(every):.46}"
        found += [RunFinding("OtherCommit", named)] * (not found)
    return found


def of_target(
    target: str,
    sources: Sequence[Source],
    settled: Sequence[SettledVerdict],
    verdicts: Sequence[Verdict],
    plan: RunPlan | None,
) -> tuple[list[RunFinding], list[str]]:
    """Return the findings about the results of one target, and notes on files whose job has run again since."""
    findings, notes = [], []
    for source in sources:
        if source.flaws and min(source.targets) == target:
            again = _ran_again(source, sources, target)
            notes += [f"{flaw} (it has run again since)" for flaw in source.flaws if again]
            findings += [RunFinding("Unreadable", flaw, target) for flaw in source.flaws if not again]
    findings += _shards(target, sources, plan)
    findings += _plans(target, sources, plan)
    findings += _tiers(target, sources, verdicts, plan)
    findings += _builds(target, settled)
    if plan:
        findings += _unplanned(target, verdicts, plan)
    return findings, notes


def _ran_again(source: Source, sources: Sequence[Source], target: str) -> bool:
    """Return whether the same shard of the same run has a later attempt."""
    if source.attempt is None:
        return False
    run, attempt = source.attempt
    later = (other for other in sources if other.shard == source.shard and other.targets == {target} and other.attempt)
    return any(other.attempt and other.attempt[0] == run and other.attempt[1] > attempt for other in later)


def _shards(target: str, sources: Sequence[Source], plan: RunPlan | None) -> Iterator[RunFinding]:
    """Yield a finding for each missing number of a shard; with a plan, for each planned shard without results."""
    here = [source.shard for source in sources if source.shard]
    if plan:
        recorded = {verdict.key for source in sources for verdict in source.verdicts}
        for part in plan.of(target):
            if part.cases and not any(item.key in recorded for item in part.cases):
                of = "" if part.shard == "1/1" else f"shard {part.shard} of "
                yield RunFinding("LostShard", f"{of}{target} left no results: {len(part.cases)} cases are lost", target)
        return
    counts = {shard.count for shard in here}
    if len(counts) > 1:
        yield RunFinding(
            "OtherPlan", f"{target}: shards of {some(counts)} in one report: give those of one run", target
        )
        return
    gone = set(range(1, max(counts, default=0) + 1)) - {shard.index for shard in here}
    if gone:
        numbers = ", ".join(map(str, sorted(gone)))
        yield RunFinding("LostShard", f"{target}: shard {numbers} of {max(counts)} left no results", target)
    apart = [source.file for source in sources if not source.shard]
    if here and apart:
        yield RunFinding(
            "OtherPlan", f"{target}: results of shards, and of no shard ({some(apart)}): give those of one run", target
        )


def _plans(target: str, sources: Sequence[Source], plan: RunPlan | None) -> Iterator[RunFinding]:
    """Yield a finding if the plans next to the results belong to different run plans, or to another than ``plan``."""
    beside = [(source, source.plan) for source in sources if source.plan and source.plan.target == target]
    wholes = distinct(own.whole for _, own in beside)
    if plan:
        others = [source.file for source, own in beside if own.whole not in ("", plan.id)]
        if others:
            yield RunFinding("OtherPlan", f"{target}: {some(others)} ran by another plan than {plan.id[:12]}", target)
    elif len(wholes) > 1:
        named = some(f"{whole[:12]}" for whole in wholes)
        yield RunFinding(
            "OtherPlan", f"{target}: shards of {len(wholes)} plans ({named}): give those of one run", target
        )


def _tiers(
    target: str, sources: Sequence[Source], verdicts: Sequence[Verdict], plan: RunPlan | None
) -> Iterator[RunFinding]:
    beside = [source.plan for source in sources if source.plan and source.plan.target == target]
    tiers = distinct([*(own.tier for own in beside), *([plan.tier] if plan else [])])
    if len(tiers) > 1:
        yield RunFinding("OtherTier", f"{target}: results of tiers {' and '.join(tiers)} in one report", target)
    planned = {item.key: item.tier for part in (plan.of(target) if plan else beside) for item in part.cases}
    odd = [v for v in verdicts if v.tier and planned.get(v.key) and v.tier != planned[v.key]]
    if odd:
        said = f"{target}: {len(odd)} results are of another tier than planned, the first is {_first(odd)}"
        yield RunFinding("OtherTier", said, target)


def _builds(target: str, settled: Sequence[SettledVerdict]) -> Iterator[RunFinding]:
    """Yield a finding if jobs of one run built a library differently. One job may build several flavours of it."""
    built: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in settled:
        verdict = one.entry.verdict
        build = verdict.fingerprint.get(BUILD, UNKNOWN)
        if build != UNKNOWN and verdict.key.schedule != RACE:
            built[verdict.key.kernel][one.job].add(build)
    for kernel, by_job in sorted(built.items()):
        if any(not (one <= other or other <= one) for one, other in combinations(by_job.values(), 2)):
            named = some(build for builds in by_job.values() for build in builds)
            yield RunFinding("OtherBuild", f"{target}: jobs ran different builds of {kernel}: {named}", target)


def not_built(target: str, verdicts: Iterable[Verdict], built: Sequence[BuildManifest]) -> Iterator[RunFinding]:
    """Yield a finding for each library that was not built for this run: a machine built it, or kept an old one."""
    plain = (verdict for verdict in verdicts if verdict.key.schedule != RACE)
    ran = {(one.key.kernel, str(one.fingerprint.get(BUILD, UNKNOWN))) for one in plain}
    for kernel, build in strangers(target, (pair for pair in ran if pair[1] != UNKNOWN), built):
        yield RunFinding("OtherBuild", f"{target}: {kernel} ran as {build}, which is not what was built for it", target)


def _unplanned(target: str, verdicts: Sequence[Verdict], plan: RunPlan) -> Iterator[RunFinding]:
    """Yield a finding if verdicts are not in the plan. A planned test may verify its case in several ways."""
    items = [item for part in plan.of(target) for item in part.cases]
    keys, ids, tests = {item.key for item in items}, {item.id for item in items}, {item.test for item in items}
    strays = [
        verdict
        for verdict in verdicts
        if verdict.key not in keys
        and (not verdict.test or verdict.test not in tests)
        and verdict.test.partition("[")[2].removesuffix("]") not in ids
    ]
    if strays:
        first = _first(strays)
        yield RunFinding(
            "Unplanned", f"{target}: {len(strays)} results are not in the plan, the first is {first}", target
        )


def _first(verdicts: Iterable[Verdict]) -> str:
    verdict = min(verdicts, key=lambda verdict: (verdict.key.case, verdict.key.kernel, verdict.key.instance))
    return f"{verdict.key.case} of {verdict.key.name}"


def _commits(sources: Sequence[Source]) -> list[dict[str, set[object]]]:
    """Return the commits of each kernel, each commit with the files that name it."""
    found: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    for source in sources:
        for kernel, commit in {(v.key.kernel, v.fingerprint.get(COMMIT, UNKNOWN)) for v in source.verdicts}:
            if commit not in ("", UNKNOWN):
                found[kernel][commit].add(source.file)
    return [found[kernel] for kernel in sorted(found)]
