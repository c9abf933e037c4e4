"""Completeness of a run: the plan, shard, tier, commit and build that files state are compared with each other and with
the plan of the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from bitgate.results.build_manifest import BuildManifest, strangers
from bitgate.results.record import UNKNOWN, Verdict
from bitgate.results.report.attempts import SettledVerdict
from bitgate.results.report.facts import RUN, SourceFacts
from bitgate.results.report.findings import RunFinding, distinct, some
from bitgate.results.report.source import Source
from bitgate.results.run_plan import RunPlan

BUILD = "build"
RACE = "race"
"""The schedule whose cases run on a separate flavour of the kernels, which not every shard needs."""


Builds = dict[tuple[str, str], set[str]]
"""Builds by kernel and instance."""


def of_night(sources: Sequence[SourceFacts], plan: RunPlan | None) -> list[RunFinding]:
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
    if plan and plan.commit not in ("", UNKNOWN):
        stated = {commit for one in sources for what, commit in one.commits if what == RUN and commit != UNKNOWN}
        others = sorted(one for one in stated if one.removesuffix("-dirty") != plan.commit.removesuffix("-dirty"))
        if others and not found:
            found.append(
                RunFinding("OtherCommit", f"the plan is of commit {plan.commit:.46}, a run of {others[0]:.46}")
            )
        silent = [one.file for one in sources if one.commits and {commit for _, commit in one.commits} <= {"", UNKNOWN}]
        if silent:
            named = f"the plan is of commit {plan.commit:.46}, and {some(silent)} cannot say of which they are"
            found.append(
                RunFinding("OtherCommit", f"{named}: let git answer where they ran (git config safe.directory)")
            )
    return found


def of_target(target: str, sources: Sequence[SourceFacts], builds: Builds, plan: RunPlan | None) -> list[RunFinding]:
    """Return the findings about all results of one target together."""
    own = [source for source in sources if target in source.targets]
    findings = [*_plans(target, own, plan), *_tiers(target, own, plan), *_builds(target, builds)]
    return findings if plan else [*_shards(target, own), *findings]


def of_part(
    target: str, sources: Sequence[Source], verdicts: Sequence[Verdict], plan: RunPlan | None
) -> tuple[list[RunFinding], list[str]]:
    """Return the findings about files of one target that share cases, and notes on those that ran again since."""
    findings, notes = [], []
    for source in sources:
        if source.flaws and min(source.targets) == target:
            again = _ran_again(source, sources, target)
            notes += [f"{flaw} (it has run again since)" for flaw in source.flaws if again]
            findings += [RunFinding("Unreadable", flaw, target) for flaw in source.flaws if not again]
    findings += _odd_tiers(target, sources, verdicts, plan)
    if plan:
        findings += _lost_shards(target, verdicts, plan)
        findings += _unplanned(target, verdicts, plan)
    return findings, notes


def _ran_again(source: Source, sources: Sequence[Source], target: str) -> bool:
    """Return whether the same shard of the same run has a later attempt."""
    if source.attempt is None:
        return False
    run, attempt = source.attempt
    later = (other for other in sources if other.shard == source.shard and other.targets == {target} and other.attempt)
    return any(other.attempt and other.attempt[0] == run and other.attempt[1] > attempt for other in later)


def _lost_shards(target: str, verdicts: Sequence[Verdict], plan: RunPlan) -> Iterator[RunFinding]:
    """Yield a finding for each planned shard without results."""
    recorded = {verdict.key for verdict in verdicts}
    for part in plan.of(target):
        if part.cases and not any(item.key in recorded for item in part.cases):
            of = "" if part.shard == "1/1" else f"shard {part.shard} of "
            yield RunFinding("LostShard", f"{of}{target} left no results: {len(part.cases)} cases are lost", target)


def _shards(target: str, sources: Sequence[SourceFacts]) -> Iterator[RunFinding]:
    """Yield a finding for each missing number of a shard."""
    here = [source.shard for source in sources if source.shard]
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


def _plans(target: str, sources: Sequence[SourceFacts], plan: RunPlan | None) -> Iterator[RunFinding]:
    """Yield a finding if the plans next to the results belong to different run plans, or to another than ``plan``."""
    beside = [source for source in sources if source.planned == target]
    wholes = distinct(source.whole for source in beside)
    if plan:
        others = [source.file for source in beside if source.whole not in ("", plan.id)]
        if others:
            yield RunFinding("OtherPlan", f"{target}: {some(others)} ran by another plan than {plan.id[:12]}", target)
    elif len(wholes) > 1:
        named = some(f"{whole[:12]}" for whole in wholes)
        yield RunFinding(
            "OtherPlan", f"{target}: shards of {len(wholes)} plans ({named}): give those of one run", target
        )


def _tiers(target: str, sources: Sequence[SourceFacts], plan: RunPlan | None) -> Iterator[RunFinding]:
    beside = [source.tier for source in sources if source.planned == target]
    tiers = distinct([*beside, *([plan.tier] if plan else [])])
    if len(tiers) > 1:
        yield RunFinding("OtherTier", f"{target}: results of tiers {' and '.join(tiers)} in one report", target)


def _odd_tiers(
    target: str, sources: Sequence[Source], verdicts: Sequence[Verdict], plan: RunPlan | None
) -> Iterator[RunFinding]:
    beside = [source.plan for source in sources if source.plan and source.plan.target == target]
    planned = {item.key: item.tier for part in (plan.of(target) if plan else beside) for item in part.cases}
    odd = [v for v in verdicts if v.tier and planned.get(v.key) and v.tier != planned[v.key]]
    if odd:
        said = f"{target}: {len(odd)} results are of another tier than planned, the first is {_first(odd)}"
        yield RunFinding("OtherTier", said, target)


def builds_of(settled: Iterable[SettledVerdict]) -> Builds:
    """Return the known builds of each instance. The flavour that logs accesses is another library."""
    built: Builds = defaultdict(set)
    for one in settled:
        verdict = one.entry.verdict
        build = verdict.fingerprint.get(BUILD, UNKNOWN)
        if build != UNKNOWN and verdict.key.schedule != RACE:
            built[verdict.key.kernel, verdict.key.instance].add(build)
    return dict(built)


def _builds(target: str, builds: Builds) -> Iterator[RunFinding]:
    """Yield a finding for each kernel of which an instance ran in several builds, in one job or in several."""
    by_kernel: dict[str, set[str]] = defaultdict(set)
    for (kernel, _), found in builds.items():
        if len(found) > 1:
            by_kernel[kernel] |= found
    for kernel, found in sorted(by_kernel.items()):
        yield RunFinding("OtherBuild", f"{target}: different builds of {kernel} ran: {some(found)}", target)


def not_built(target: str, builds: Builds, built: Sequence[BuildManifest]) -> Iterator[RunFinding]:
    """Yield a finding for each library that was not built for this run: a machine built it, or kept an old one."""
    ran = {(kernel, build) for (kernel, _), found in builds.items() for build in found}
    for kernel, build in strangers(target, ran, built):
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


def _commits(sources: Sequence[SourceFacts]) -> list[dict[str, set[object]]]:
    """Return the commits of each kernel, each commit with the files that name it."""
    found: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    for source in sources:
        for kernel, commit in source.commits:
            if commit not in ("", UNKNOWN):
                found[kernel][commit].add(source.file)
    return [found[kernel] for kernel in sorted(found)]
