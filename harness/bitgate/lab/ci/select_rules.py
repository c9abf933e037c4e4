"""The reach of a changed file, by one table of rules.

All rules of RULES that know a file add their reach. For a file that none of them knows, the first rule of REST with an
answer decides. The last one has an answer for everything, so that an unforeseen file selects all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from bitgate.lab.ci import select_entries as entries
from bitgate.lab.ci.select_changes import FileChange
from bitgate.lab.ci.select_reach import EVERYTHING, NOTHING, Reach

READ_BY_PEOPLE = ("*.md", "*.rst", "*.adoc", "*.pdf", "*.png", "*.jpg", "*.jpeg", "*.gif", "*.svg", "*.webp")
CPP = (".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hh", ".hip", ".hpp", ".inc")
NO_PART_OF_A_RUN = ("LICENSE*", "NOTICE*", "AUTHORS*", "CODEOWNERS", ".gitignore", ".mailmap", ".editorconfig")


@dataclass(frozen=True)
class ProjectFacts:
    """The facts about a project that the rules use, for one target. Paths are absolute."""

    sources: Mapping[Path, Reach] = field(default_factory=dict)
    """Files that translation units of kernels are made of, and prebuilt libraries."""
    tools: Mapping[Path, Reach] = field(default_factory=dict)
    """C++ of the harness: fills, digests and comparisons, the platform's HIP runtime."""
    platforms: Mapping[Path, Reach] = field(default_factory=dict)
    """A folder of each platform's runtime and headers."""
    declarations: Mapping[Path, Reach] = field(default_factory=dict)
    """Python of kernels' declarations, including what they share."""
    operations: Mapping[Path, Reach] = field(default_factory=dict)
    """Files that define a user's operations."""
    harness: Callable[[Path], Reach | None] = lambda path: None
    """The reach of a file of the package; None for other files."""
    rows: Mapping[Path, Mapping[tuple[str, int], frozenset[tuple[str, str]]]] = field(default_factory=dict)
    """Case tables -> set and number of a row -> the rows of plans that are made of it."""
    tests: Mapping[Path, Reach] = field(default_factory=dict)
    """Python in the folders of suites."""
    instances: frozenset[str] = frozenset()
    """All planned instances, as ``family.instance``."""
    suites: tuple[Path, ...] = ()
    """Folders of suites whose stored digests and durations count."""
    ignored: tuple[Path, ...] = ()
    """Files and folders that a run of a tier does not read."""
    folders: Mapping[Path, Reach] = field(default_factory=dict)
    """Folders of kernel families."""


@dataclass(frozen=True)
class SelectionRule:
    """A rule of selection. ``reach`` returns None where the rule does not know the file."""

    name: str
    says: str
    reach: Callable[[ProjectFacts, FileChange], Reach | None]


@dataclass(frozen=True)
class SelectionReason:
    """The reach of a change, and the rules that gave it."""

    change: FileChange
    rules: tuple[SelectionRule, ...]
    reach: Reach

    @property
    def why(self) -> str:
        return "; ".join(rule.says for rule in self.rules)


def reason(facts: ProjectFacts, change: FileChange) -> SelectionReason:
    known = [(rule, reach) for rule in RULES if (reach := rule.reach(facts, change)) is not None]
    if not known:
        known = [next((rule, reach) for rule in REST if (reach := rule.reach(facts, change)) is not None)]
    reach = NOTHING
    for _, one in known:
        reach |= one
    return SelectionReason(change, tuple(rule for rule, _ in known), reach)


def _around(folders: Mapping[Path, Reach], path: Path) -> Reach | None:
    """Return the reach of the innermost of these folders that contains a file."""
    return next((folders[folder] for folder in path.parents if folder in folders), None)


def _rows(facts: ProjectFacts, change: FileChange) -> Reach | None:
    known = facts.rows.get(change.path)
    if known is None:
        return None
    changed = entries.rows(change)
    made = known.values() if changed is entries.ALL else [known[row] for row in changed if row in known]
    return Reach(rows=frozenset().union(*made))


def _digests(facts: ProjectFacts, change: FileChange) -> Reach | None:
    if change.path.name != "digests.json" or change.path.parent.parent not in facts.suites:
        return None
    changed = entries.digests(change)
    return EVERYTHING if changed is entries.ALL else Reach(cases=changed)


def _known_bugs(facts: ProjectFacts, change: FileChange) -> Reach | None:
    if change.path.name != "known_bugs.toml":
        return None
    globs = entries.known_bugs(change)
    if globs is entries.ALL:
        return EVERYTHING
    names = {name for name in facts.instances for glob in globs if fnmatchcase(name, glob)}
    names |= {name for name in facts.instances for glob in globs if fnmatchcase(name.partition(".")[0], glob)}
    return Reach(instances=frozenset(names))


def _durations(facts: ProjectFacts, change: FileChange) -> Reach | None:
    if change.path.parent.name != "durations" or change.path.parent.parent not in facts.suites:
        return None
    changed = entries.durations(change)
    return EVERYTHING if changed is entries.ALL else Reach(timed=changed[0], families=changed[1])


def _ignored(facts: ProjectFacts, change: FileChange) -> Reach | None:
    path = change.path
    no_part = any(fnmatchcase(path.name, glob) for glob in (*READ_BY_PEOPLE, *NO_PART_OF_A_RUN))
    return NOTHING if no_part or any(path.is_relative_to(place) for place in facts.ignored) else None


def _included_no_more(facts: ProjectFacts, change: FileChange) -> Reach | None:
    return NOTHING if change.is_gone and change.before is not None and change.path.suffix in CPP else None


RULES = (
    SelectionRule("source", "kernels are compiled from it", lambda facts, change: facts.sources.get(change.path)),
    SelectionRule(
        "tool", "data are made, or results compared, with it", lambda facts, change: facts.tools.get(change.path)
    ),
    SelectionRule("platform", "a platform's runtime", lambda facts, change: _around(facts.platforms, change.path)),
    SelectionRule(
        "declaration", "kernels are declared by it", lambda facts, change: facts.declarations.get(change.path)
    ),
    SelectionRule("operation", "an operation is stated in it", lambda facts, change: facts.operations.get(change.path)),
    SelectionRule(
        "harness", "by its importers, from the process that judges", lambda facts, change: facts.harness(change.path)
    ),
    SelectionRule("rows", "rows that are new or changed", _rows),
    SelectionRule(
        "test", "tests that it holds, or that are next to it", lambda facts, change: facts.tests.get(change.path)
    ),
    SelectionRule("digests", "problems whose stored digest changed", _digests),
    SelectionRule("known bugs", "kernels that its changed entries name", _known_bugs),
    SelectionRule("durations", "cases whose durations changed", _durations),
)
REST = (
    SelectionRule("no part of a run", "no run of a tier reads it", _ignored),
    SelectionRule("gone", "it is gone, and nothing includes it", _included_no_more),
    SelectionRule("folder", "it is in a kernel's folder", lambda facts, change: _around(facts.folders, change.path)),
    SelectionRule("anything else", "nothing is known of such a file", lambda facts, change: EVERYTHING),
)
