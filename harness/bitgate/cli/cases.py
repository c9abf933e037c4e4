"""``bitgate cases``: the plan of a tier, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bitgate.cases.plan import Plan

app = typer.Typer()


@app.command()
def cases(
    tier: Annotated[str, typer.Option(help="smoke, or regression, which contains it.")] = "regression",
    target: Annotated[
        str, typer.Option(help="host, gfx942 ... Need not be present. Default: the best one that is.")
    ] = "",
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Only these family.instance.")] = "",
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A user's kernel declaration.")] = None,
    update_digests: Annotated[
        bool, typer.Option("--update-digests", help="Compute the tier's digests and store them beside the tables.")
    ] = False,
    check_digests: Annotated[
        bool, typer.Option("--check-digests", help="Compute them and compare with those stored; 1 if any differs.")
    ] = False,
    suites: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Default: bitgate's suites.")] = None,
    solved_tier: Annotated[
        str, typer.Option("--solve-tier", metavar="TIER", help="Choose its cases anew from all, and tell what differs.")
    ] = "",
    seconds: Annotated[float, typer.Option(min=0.1, help="Of a solved tier, on one worker.")] = 60.0,
    killers: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="What bitgate faults run --json printed: who kills what.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the ids of a solved tier.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """The plan: case, instance, fill, tier, why it is there, and estimated seconds.

    Lists what the tables hold; a test module may choose among them. Stored digests are computed for all targets.
    """
    if update_digests or check_digests:
        from bitgate.cases.row import check_tier
        from bitgate.cli.digests import go_over

        check_tier(tier)
        return go_over(tier, kernel, load or [], suites, store=update_digests, as_json=as_json)
    if solved_tier:
        from bitgate.cli.solve_tier import solve_tier

        every, now = (make_plan(name, target, kernel, load, suites) for name in ("regression", solved_tier))
        solve_tier(solved_tier, every, now, seconds, killers or [], out, as_json)
        return 0
    plan = make_plan(tier, target, kernel, load, suites)
    if as_json:
        typer.echo(json.dumps({"plan": plan.to_json()}))
        return 0
    for item in plan.cases:
        refused = f"  must be refused: {item.refused}" if item.refused else ""
        typer.echo(f"{item.id}\n    {item.tier}  {item.seconds:.2f} s  {item.human}{refused}\n    {item.why}")
    problems = len({item.case for item in plan.cases})
    about = f"about {plan.seconds:.0f} s on one worker"
    typer.echo(f"{len(plan.cases)} cases over {problems} problems, {about}; plan {plan.id[:12]}")
    return 0


def make_plan(
    tier: str, target: str, kernel: str = "", load: list[Path] | None = None, suites: Path | None = None
) -> Plan:
    """The plan of all suites' tables. UsageError for an unknown tier, target or kernel, or a bad table."""
    from bitgate.cases import durations
    from bitgate.cases.planning import Setting, check_setting
    from bitgate.cases.row import SMOKE, check_tier
    from bitgate.cases.suites import plan_suites
    from bitgate.device import targets
    from bitgate.kernel import registry

    check_tier(tier)
    name = target or targets.best().name
    setting = Setting(
        target=name,
        platform=targets.platform_of(name),
        families=registry.families(load or []),
        kernel=kernel,
        tier=SMOKE if tier == SMOKE else "",
        durations=durations.load(name),
    )
    check_setting(setting)
    return plan_suites(setting, tier, suites)
