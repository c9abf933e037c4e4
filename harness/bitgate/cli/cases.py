"""``bitgate cases``: the plan of a tier, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core.errors import UsageError

if TYPE_CHECKING:
    from bitgate.core.project import Project

app = typer.Typer()


@app.command()
def cases(
    tier: Annotated[str, typer.Option(help="smoke, or regression, which contains it [the project's last].")] = "",
    target: Annotated[
        str, typer.Option(help="host, gfx942 ... Need not be present. Default: the best one that is.")
    ] = "",
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Only these family.instance.")] = "",
    load: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A kernel of yours; then nothing else is planned.")
    ] = None,
    update_digests: Annotated[
        bool, typer.Option("--update-digests", help="Compute the tier's digests and store them beside the tables.")
    ] = False,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why stored digests change; kept in the file. Without it none does.")
    ] = "",
    check_digests: Annotated[
        bool, typer.Option("--check-digests", help="Compute them and compare with those stored; 1 if any differs.")
    ] = False,
    suites: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Default: the project's suites.")] = None,
    solved_tier: Annotated[
        str, typer.Option("--solve-tier", metavar="TIER", help="Choose its cases anew from all, and tell what differs.")
    ] = "",
    seconds: Annotated[float, typer.Option(min=0.1, help="Of a solved tier, on one worker.")] = 60.0,
    killers: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="What bitgate faults run --json printed: who kills what.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the ids of a solved tier.")] = None,
    sweep: Annotated[
        str, typer.Option(metavar="NAME", help="Instead of a plan: the problems of a sweep, or of a sweep's FILE.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """The plan: case, instance, fill, tier, why it is there, and estimated seconds.

    Lists what the tables hold; a test module may choose among them. Stored digests are computed for all targets.
    """
    from bitgate.cli.notice import tell_whose
    from bitgate.core import paths
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import to_load, with_operations

    project = with_operations(find(suites).of_suites(suites).loading(to_load(load)))
    if sweep:
        _list_sweep(sweep, project, as_json)
        return 0
    tier = tier or project.tiers[-1]
    project.check_tier(tier)
    tell_whose(project)
    if update_digests or check_digests:
        from bitgate.cli.digests import go_over

        if update_digests and check_digests:
            raise UsageError("--update-digests writes what --check-digests compares with: give one of them")
        if reason and not update_digests:
            raise UsageError("--reason goes with --update-digests")
        why = " ".join(reason.split())
        return go_over(tier, kernel, project, store=update_digests, reason=why, as_json=as_json)
    if reason:
        raise UsageError("--reason goes with --update-digests")
    from bitgate.suite.suites import make_plan

    if solved_tier:
        from bitgate.cli.solve_tier import solve_tier

        every, now = (make_plan(name, target, project, kernel) for name in (project.tiers[-1], solved_tier))
        solve_tier(solved_tier, every, now, seconds, killers or [], out, as_json)
        return 0
    plan = make_plan(tier, target, project, kernel)
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
