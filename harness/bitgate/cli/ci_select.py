"""``bitgate ci select``: the cases that a change can turn red, for a pull request's run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core.errors import UsageError, near

if TYPE_CHECKING:
    from bitgate.core.project import Project
    from bitgate.lab.ci.select import CaseSelection
    from bitgate.lab.ci.select_changes import FileChange
    from bitgate.results.plan import Plan


def select(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help="Name the files that changed.")] = None,
    base: Annotated[str, typer.Option(metavar="REV", help="Ask git what differs since HEAD and REV parted.")] = "",
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="Count what is not committed, too (with --base).")
    ] = False,
    changed: Annotated[
        str, typer.Option(metavar="FILE", help="Read names of changed files, one a line; - is stdin.")
    ] = "",
    tier: Annotated[str, typer.Option(help="Take this tier: smoke or regression [the project's first].")] = "",
    target: Annotated[
        list[str] | None,
        typer.Option(help="Select for a target; repeatable [the tier's matrix's]."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the ids, or <target>.txt in a folder for several."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print what each file selects, and why.")] = False,
    explain_case: Annotated[
        str, typer.Option(metavar="ID", help="Print which files would select this case, and why.")
    ] = "",
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only kernels whose family.instance matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load a user's kernel declaration.")] = None,
    suites: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Take the suites of this folder [the project's].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Select the cases whose verdict changed files can change.

    Run them with `bitgate run --select FILE`. Kernels go by what they include, Python by what imports it, case tables
    row by row; documents select nothing, and what no rule is for selects all.

    Ends with 0 whether or not there is anything to run: a file without ids, which `bitgate run --select` ends with 3.
    """
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.lab.planning.collect import print_whose_suites

    project = with_operations(find(suites).of_suites(suites).loading(to_load(load)))
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    print_whose_suites(project)
    project.tables()
    changes = () if explain_case else _changes(files or [], base, changed, uncommitted, project)
    plans = _plans(project, tier, target or [], kernel)
    if explain_case:
        return _explain_case(explain_case, plans, project, as_json)
    found = _selected(plans, changes, project)
    if out is not None:
        several = len(found) > 1
        for one in found:
            one.write(out / f"{one.plan.target}.txt" if several else out)
    if as_json:
        document = {"base": base, "tier": tier, "targets": [one.as_json(project.root) for one in found]}
        typer.echo(json.dumps({"select": document}))
        return 0
    for one in found:
        _print_selection(one, project, explain)
    return 0


def _changes(files: list[Path], base: str, changed: str, uncommitted: bool, project: Project) -> tuple[FileChange, ...]:
    from bitgate.lab.ci.select_changes import named, since

    if base and (files or changed):
        raise UsageError("give --base, or the names of files, not both: git finds which files differ")
    if base:
        return since(base, project.root, uncommitted=uncommitted)
    if uncommitted:
        raise UsageError("--uncommitted: say since when: --base HEAD for what is not committed alone")
    if not files and not changed:
        raise UsageError("say what changed: --base REV, or names of files, or --changed FILE with a name a line")
    return named([*files, *_listed(changed)])


def _listed(changed: str) -> list[Path]:
    if not changed:
        return []
    try:
        text = sys.stdin.read() if changed == "-" else Path(changed).read_text()
    except (OSError, ValueError) as error:
        raise UsageError(f"--changed {changed}: {error}; give a text with a file's name a line") from None
    return [Path(line) for line in text.splitlines() if line.strip()]


def _plans(project: Project, tier: str, targets: Sequence[str], kernel: str) -> tuple[Plan, ...]:
    from bitgate.cli.ci_plan import targets_planned
    from bitgate.core.targets import target_id
    from bitgate.lab.planning.shards import Sizes, make_run_plan

    names = [target_id(name).name for name in targets or targets_planned(None, tier, project)]
    return tuple(make_run_plan(tier, names, Sizes(), project, kernel).shards)


def _selected(plans: Iterable[Plan], changes: tuple[FileChange, ...], project: Project) -> list[CaseSelection]:
    from bitgate.lab.ci.select import select as select_cases
    from bitgate.lab.planning.project_facts import facts_of

    gone = [change.path for change in changes if change.is_gone]
    return [select_cases(plan, facts_of(project, plan, gone), changes) for plan in plans]


def _print_selection(one: CaseSelection, project: Project, explain: bool) -> None:
    from bitgate.lab.ci.select import shown

    if explain:
        for reason in one.reasons:
            name = shown(reason.change.path, project.root)
            typer.echo(f"{name}\n    {one.cases(reason)} cases: {reason.reach.words}\n    {reason.why}")
    of_all = f"{len(one.items)} of {len(one.plan.cases)} cases of {one.plan.tier} ({one.share:.1%})"
    typer.echo(f"{one.plan.target:<8} {of_all}, by {_files(len(one.reasons))}")
    if not one.items:
        typer.echo(f"{'':<8} nothing to run: {_no_case(one)}")


def _files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def _no_case(one: CaseSelection) -> str:
    """Explain why nothing is selected."""
    if not one.reasons:
        return "no file changed"
    if all(rule.name == "no part of a run" for reason in one.reasons for rule in reason.rules):
        return "documents only, or what else no run of a tier looks at"
    return "no verdict of the tier depends on these files; --explain lists each"


def _explain_case(case: str, plans: Sequence[Plan], project: Project, as_json: bool) -> int:
    from bitgate.lab.ci.select import selectors, shown
    from bitgate.lab.ci.select_changes import tracked
    from bitgate.lab.planning.project_facts import facts_of

    known = {item.id: (plan, item) for plan in plans for item in plan.cases}
    if case not in known:
        raise UsageError(f"--explain-case: no case of the plan is called '{case}'; {near(case, known)}")
    plan, item = known[case]
    reasons = selectors(item, facts_of(project, plan), tracked(project.root))
    if as_json:
        files = [{"file": shown(one.change.path, project.root), "why": one.why} for one in reasons]
        typer.echo(json.dumps({"select": {"case": case, "target": plan.target, "files": files}}))
        return 0
    by_why: dict[str, list[str]] = {}
    for one in reasons:
        by_why.setdefault(one.why, []).append(shown(one.change.path, project.root))
    for why, names in by_why.items():
        typer.echo("\n    ".join([f"{why}: {_files(len(names))}", *names]))
    return 0
