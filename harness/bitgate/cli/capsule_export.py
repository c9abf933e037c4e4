"""The export of capsules, and the check of what came back, as commands print them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.files import folders_below
from bitgate.core.project import Project
from bitgate.core.targets import emulated, target_id
from bitgate.core.untrusted import printable
from bitgate.kernel import registry
from bitgate.kernel.cache.content import sha256
from bitgate.results.record import Outcome
from bitgate.suite.suites import make_plan
from bitgate.tools.capsule.export_format import EXPORT
from bitgate.tools.capsule.manifest import MANIFEST
from bitgate.tools.capsule.returned import CheckedReturn, check_returned
from bitgate.tools.capsule.selection import chosen
from bitgate.tools.capsule.server import WriteCapsule

ChosenCase = tuple[str, str, tuple[tuple[str, str], ...], str, int]
"""Case, kernel, options, fill and seed."""
LONGEST = 200
"""Characters of a folder's name; file systems end at 255 bytes."""


def chosen_cases(target: str, tier: str, kernel: str, project: Project) -> list[ChosenCase]:
    """Return the cases of a tier whose capsules show all in which the target's device code can differ."""
    project.check_tier(tier)
    families = registry.families(project, target)
    # Its seconds are those of an emulator, which is to run them.
    items = make_plan(tier, emulated(target_id(target)).name, project, kernel).cases
    if not items:
        raise UsageError(f"--kernel {kernel}: no case of {tier} on {target} has such a kernel")
    return [
        (one.key.case, one.key.name, one.key.options, one.key.fill, one.key.seed)
        for one in chosen(items, families, target)
    ]


def requests_of(
    cases: Sequence[ChosenCase], target: str, project: Project, out: Path, is_one: bool
) -> Iterator[WriteCapsule]:
    stated = project.as_json()
    for case, kernel, options, fill, seed in cases:
        folder = out if is_one else out / folder_name(case, kernel, options, fill, target)
        yield WriteCapsule(case, target, kernel or None, options, fill, seed, stated, str(folder))


def folder_name(case: str, kernel: str, options: Sequence[tuple[str, str]], fill: str, target: str) -> str:
    """Return the name of a capsule's folder, another one for each case; at most 200 characters."""
    chosen_options = "".join(f"_{name}_{value}" for name, value in options)
    name = f"{case}__{kernel.replace('.', '_')}{chosen_options}__{fill}__{target}"
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 16]}{sha256(name)[:16]}"


def print_exported(answer: dict[str, Any], out: Path, as_json: bool) -> int:
    if "defect" in answer:
        print(answer["defect"], file=sys.stderr)
        return 1
    capsules = answer["capsules"]
    red = [one for one in capsules if "defect" in one]
    for one in red:
        print(f"bitgate: {one['case']} {one['kernel']}: {printable(one['defect'])}", file=sys.stderr)
    if as_json:
        print(json.dumps(answer, indent=1))
        return 1 if red else 0
    for one in capsules:
        if "defect" not in one:
            print(f"{one['capsule']}  {one['case']}  {one['kernel']}  {one['target']}")
    print(f"{len(capsules) - len(red)} of {len(capsules)} capsules are exported below {out}")
    if answer["hip"]:
        libraries = " ".join(f"--hip {library}" for library in answer["hip"])
        print(f"on this machine: python3 FOLDER/loader.py FOLDER --json host.json {libraries}")
    return 1 if red else 0


def print_checked(places: Sequence[Path], project: Project, as_json: bool) -> int:
    """Judge every exported capsule in these folders, and return the command's exit code."""
    families = registry.families(project)
    found = [check_returned(folder, families) for place in places for folder in _folders(place)]
    passed = [one for one in found if one.outcome is Outcome.PASS]
    elsewhere = [one for one in passed if one.target != one.manifest.target]
    if as_json:
        print(json.dumps({"capsules": [_document(one) for one in found]}, indent=1))
    else:
        for one in found:
            manifest = one.manifest
            by = f"  by {one.by}" if one.by else ""
            target = one.target or manifest.target
            print(f"{one.outcome}  {manifest.case}  {manifest.family}.{manifest.instance}  {target}{by}")
            if one.reason:
                print(f"  {printable(one.reason)}")
        for target in sorted({one.manifest.target for one in elsewhere}):
            count = sum(one.manifest.target == target for one in elsewhere)
            print(f"the host ran {count} of them: that says nothing about {target}")
        print(f"{len(passed)} of {len(found)} capsules came back as expected")
    return code_of(found)


def code_of(found: Sequence[CheckedReturn]) -> int:
    """Return 0 only if all are as expected, each by its target's code, and one differs from cleared memory."""
    if any(one.outcome is not Outcome.PASS for one in found):
        return 1
    is_all = all(one.target == one.manifest.target for one in found) and any(one.shows for one in found)
    return 0 if is_all else 3


def _folders(place: Path) -> list[Path]:
    """Return the exported capsules of a folder: itself, or those below. UsageError if there is none.

    One whose export was broken off is among them, as it was asked for.
    """
    if place.is_file() or (place / EXPORT).is_file():
        return [place]
    every = list(folders_below(place)) if place.is_dir() else []
    found = sorted(folder for folder, names in every if {MANIFEST, EXPORT} & names)
    if not any(EXPORT in names for _, names in every):
        raise UsageError(f"{place}: no exported capsule, and no folder of some: there is no {EXPORT}")
    return found


def _document(one: CheckedReturn) -> dict[str, Any]:
    manifest = one.manifest
    return {
        "capsule": str(one.folder),
        "case": manifest.case,
        "kernel": f"{manifest.family}.{manifest.instance}",
        "target": manifest.target,
        "ran": one.target,
        "by": one.by,
        "verdict": str(one.outcome),
        "compared": one.shows and one.outcome.facts.compared,
        "reason": one.reason,
        "digest": one.digest,
        "expected_digest": manifest.digest,
        "diagnosis": None if one.diagnosis is None else asdict(one.diagnosis),
    }
