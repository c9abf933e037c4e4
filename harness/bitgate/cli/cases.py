"""``bitgate cases``: the plan of a tier, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.cli.launcher import LauncherOption, opened
from bitgate.core.emulation import EMULATED
from bitgate.core.errors import UsageError
from bitgate.core.settings import MOST_SECONDS
from bitgate.results.targets_file import EMULATED_SECONDS

if TYPE_CHECKING:
    from bitgate.core.project import Project

app = typer.Typer(add_completion=False)


@app.command()
def cases(
    tier: Annotated[str, typer.Option(help="Take this tier: smoke, regression or emulated [the first].")] = "",
    target: Annotated[str, typer.Option(help="Plan for this target, present or not [the best present].")] = "",
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only kernels whose family.instance matches.")] = "",
    load: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels; plan for them alone.")
    ] = None,
    update_digests: Annotated[
        bool, typer.Option("--update-digests", help="Compute digests and store them next to the tables.")
    ] = False,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Record why stored digests change; none changes without it.")
    ] = "",
    check_digests: Annotated[
        bool, typer.Option("--check-digests", help="Compare computed with stored digests; 1 if any differs.")
    ] = False,
    suites: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Take the suites of this folder [the project's].")
    ] = None,
    solved_tier: Annotated[
        str, typer.Option("--solve-tier", metavar="TIER", help="Choose a tier's cases anew; emulated: an emulator's.")
    ] = "",
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, max=MOST_SECONDS, help="Limit a solved tier to these seconds [60; emulated: 3600]."),
    ] = None,
    killers: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Read which case finds what, as `faults run --json` wrote it."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the ids of a solved tier to FILE.")] = None,
    solve: Annotated[
        list[str] | None, typer.Option("--solve", metavar="SUITE", help="Solve a suite's lists anew; all: every suite.")
    ] = None,
    costs: Annotated[
        list[str] | None,
        typer.Option("--costs", metavar="SUITE", help="Measure what a suite's solver counts with; all: every suite."),
    ] = None,
    strengths: Annotated[
        bool, typer.Option("--strengths", help="Print what the solved lists reach, as a table.")
    ] = False,
    launcher: LauncherOption = "",
    sweep: Annotated[
        str, typer.Option(metavar="NAME", help="List a sweep's problems instead, by its name or file.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """List a tier's plan: cases, why they run, and seconds.

    Lists what the tables hold; a test module may choose among them. Stored digests are computed for all targets, and
    without --tier for all tiers.
    """
    from bitgate.core import paths
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.lab.planning.collect import print_whose_suites

    project = with_operations(find(suites).of_suites(suites).loading(to_load(load)))
    if sweep:
        _list_sweep(sweep, project, as_json)
        return 0
    if strengths:
        from bitgate.cli.solve_tier import print_strengths

        print_strengths(project, as_json)
        return 0
    if costs:
        from bitgate.cli.solve_tier import measure_costs

        measure_costs([] if "all" in costs else costs, project, as_json)
        return 0
    if solve:
        from bitgate.cli.solve_tier import solve_lists

        solve_lists([] if "all" in solve else solve, project, as_json)
        return 0
    if tier == EMULATED:
        _print_predictions([target] * bool(target), launcher, seconds or EMULATED_SECONDS, project, kernel, as_json)
        return 0
    project.check_tier(tier or project.tiers[0])
    print_whose_suites(project)
    if update_digests or check_digests:
        from bitgate.cli.digests import go_over

        if update_digests and check_digests:
            raise UsageError("--update-digests writes what --check-digests compares with: give one of them")
        if reason and not update_digests:
            raise UsageError("--reason goes with --update-digests")
        why = " ".join(reason.split())
        return go_over(tier or project.tiers[-1], kernel, project, store=update_digests, reason=why, as_json=as_json)
    if reason:
        raise UsageError("--reason goes with --update-digests")
    from bitgate.suite.suites import make_plan

    if solved_tier:
        from bitgate.cli.solve_tier import solve_tier

        held = solved_tier
        if solved_tier == EMULATED:  # no table holds it: what is chosen is held against the first tier
            held, target = project.tiers[0], _on_emulator(target, launcher)
        every, now = (make_plan(name, target, project, kernel) for name in (project.tiers[-1], held))
        of_tier = EMULATED_SECONDS if solved_tier == EMULATED else 60.0
        solve_tier(solved_tier, every, now, seconds or of_tier, killers or [], out, as_json)
        return 0
    plan = make_plan(tier or project.tiers[0], target, project, kernel)
    if as_json:
        typer.echo(json.dumps({"plan": plan.to_json()}))
        return 0
    for item in plan.cases:
        refused = f"  must be refused: {item.refused}" if item.refused else ""
        typer.echo(f"{item.id}\n    {item.tier}  {item.seconds:.2f} s  {item.human}{refused}\n    {item.why}")
    problems = len({item.key.case for item in plan.cases})
    cores = paths.threads()
    about = f"about {plan.seconds:.0f} s on one worker" + (f", {plan.seconds / cores:.0f} s on {cores}" * (cores > 1))
    typer.echo(f"{len(plan.cases)} cases over {problems} problems, {about}; plan {plan.id[:12]}")
    return 0


def _on_emulator(target: str, launcher: str) -> str:
    """Return the name of a target on an emulator, whose pace is measured if there is a ``launcher``."""
    from bitgate.core.targets import emulated, target_id

    if launcher:
        opened(launcher, "", target)
    wanted = target_id(target) if target else None
    if wanted is None:
        raise UsageError(f"--solve-tier {EMULATED}: say of what GPU, with --target gfx942")
    return (wanted if wanted.is_emulated else emulated(wanted)).name


def _print_predictions(
    targets: list[str], launcher: str, seconds: float, project: Project, kernel: str, as_json: bool
) -> None:
    from bitgate.lab.planning.emulated_tier import in_words, predictions

    if launcher:
        targets = [opened(launcher, "", targets[0] if targets else None).name]
    found = []
    for one in predictions(targets, seconds, project, kernel):
        found.append(one)
        if not as_json:
            typer.echo(in_words(one))
    if as_json:
        typer.echo(json.dumps({"predictions": found}, indent=1))


def _list_sweep(name: str, project: Project, as_json: bool) -> None:
    from bitgate.model import case_id, human
    from bitgate.suite.sweep import read_sweep

    sweep = read_sweep(name, project)
    rows = [{"name": one.name, "case": case_id(one.problem), "human": human(one.problem)} for one in sweep.shapes]
    if as_json:
        said = {"name": sweep.name, "title": sweep.title, "source": sweep.source, "note": sweep.note}
        typer.echo(json.dumps({"sweep": {**said, "shapes": rows}}))
        return
    typer.echo("\n".join(text for text in (sweep.title, sweep.source, sweep.note) if text))
    for row in rows:
        typer.echo(f"{row['name']}\n    {row['case']}\n    {row['human']}")
    typer.echo(f"{len(rows)} problems")
