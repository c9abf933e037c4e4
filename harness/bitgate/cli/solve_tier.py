"""``bitgate cases --solve-tier``: the cases that a tier should hold within its seconds, and those that it holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import typer

from bitgate.core.project import Project
from bitgate.kernel import registry
from bitgate.results.plan import Plan
from bitgate.suite.tier_solver import Chosen, Solution, covered_by, solve
from bitgate.tools.coverage.features import Features, features, read_killers
from bitgate.tools.tiers import recording
from bitgate.tools.tiers.lists import strengths_of, table_of, write_lists

SHOWN = 20


def solve_tier(
    tier: str, plan: Plan, now: Plan, seconds: float, killers: list[Path], out: Path | None, as_json: bool
) -> None:
    """Choose among all cases of ``plan``; ``now`` is the tier as the tables have it. ``out`` gets the ids, which
    ``bitgate run --select`` takes."""
    known = features(plan.cases, read_killers(killers))
    solution = solve(known.candidates, known.weights, seconds)
    held = frozenset(item.id for item in now.cases)
    if out is not None:
        out.write_text("".join(f"{one.item.id}\n" for one in solution.chosen))
    document = _document(tier, known, solution, held, now, seconds)
    typer.echo(json.dumps(document, indent=1) if as_json else _in_words(document, out))


def solve_lists(suites: list[str], project: Project, as_json: bool) -> None:
    """Write the solved lists of these suites, or of all, and print the strength that each tier reaches."""
    families = registry.families(project)
    say = partial(typer.echo, err=True)
    strengths = [one for folder in project.shelves for one in write_lists(folder, suites, families, say)]
    if as_json:
        typer.echo(json.dumps({"strengths": [asdict(one) for one in strengths]}, indent=1))


def measure_costs(suites: list[str], project: Project, as_json: bool) -> None:
    """Measure and write the costs of these suites' families, or of all, and print how well they predict."""
    families = registry.families(project)
    say = partial(typer.echo, err=True)
    fits = [one for folder in project.shelves for one in recording.record_costs(folder, suites, families, say)]
    typer.echo(json.dumps({"fits": [asdict(one) for one in fits]}) if as_json else recording.table_of(fits))


def print_strengths(project: Project, as_json: bool) -> None:
    """Print the strength of each solved list, as its header states it."""
    strengths = [one for folder in project.shelves for one in strengths_of(folder)]
    typer.echo(json.dumps({"strengths": [asdict(one) for one in strengths]}) if as_json else table_of(strengths))


def _document(
    tier: str, known: Features, solution: Solution, held: frozenset[str], now: Plan, seconds: float
) -> dict[str, Any]:
    before = covered_by(known.candidates, held, len(known.names))
    return {
        "tier": tier,
        "budget": seconds,
        "possible": known.counts(solution.possible),
        "now": {"cases": len(held), "seconds": round(now.seconds, 2), **known.counts(before)},
        "solved": {
            "cases": len(solution.chosen),
            "seconds": round(solution.seconds, 2),
            **known.counts(solution.covered),
        },
        "cases": [_as_json(one) for one in solution.chosen],
        "added": [_as_json(one) for one in solution.chosen if one.item.id not in held],
        "removed": sorted(held - solution.ids),
        "lost": [" with ".join(n[1:]) for n, b, s in zip(known.names, before, solution.covered, strict=True) if b > s],
    }


def _as_json(one: Chosen) -> dict[str, Any]:
    return {
        "id": one.item.id,
        "seconds": round(one.seconds, 4),
        "gain": one.gain,
        "pinned": one.is_pinned,
        "why": one.item.why,
    }


def _in_words(document: dict[str, Any], out: Path | None) -> str:
    possible, lines = document["possible"], []
    for name, words in (("now", f"{document['tier']} as the tables have it"), ("solved", "solved")):
        side = document[name]
        lines.append(
            f"{words}: {side['cases']} cases, {side['seconds']:.1f} s; {side['pair']} of {possible['pair']} pairs,"
            f" {side['instance']} of {possible['instance']} instances, {side['refusal']} of {possible['refusal']}"
            f" refusals, {side['kill']} of {possible['kill']} killed defects"
        )
    lines.append(f"added {len(document['added'])}, removed {len(document['removed'])}, lost {len(document['lost'])}")
    for one in document["added"][:SHOWN]:
        lines.append(
            f"+ {one['id']}  {one['seconds']:.3f} s, gain {one['gain']:.0f}{', pinned' if one['pinned'] else ''}"
        )
    lines += [f"- {name}" for name in document["removed"][:SHOWN]]
    lines += [f"lost: {words}" for words in document["lost"][:SHOWN]]
    lines += [f"ids are in {out}: bitgate run --tier regression --select {out}"] if out else []
    return "\n".join(lines)
