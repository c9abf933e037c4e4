"""Does a selection by changed files hold the case that finds each seeded defect, and how much of the tier is it?

    python benchmarks/selection.py --faults-run FAULTS.json [--whole N] [--seed S]

The file that a fault edits is taken as the change. FAULTS.json is what ``bitgate faults run --json`` printed; without
it the catalogue is run first, which takes hours. Recall: the share of the found faults whose killing case is selected.

``faults run`` leaves families out that a fault does not reach, by the same includes, so that alone it could not show a
family forgotten. ``--whole N`` therefore plants N faults, drawn by the seed, and runs the whole tier with each, with no
case left out: every red case must be selected.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from threading import Event
from typing import Any

from bitgate.core import paths
from bitgate.core.project import Project, ours
from bitgate.kernel.loading import with_operations
from bitgate.lab.ci.select import CaseSelection, select, shown
from bitgate.lab.ci.select_changes import FileChange
from bitgate.lab.planning.project_facts import facts_of
from bitgate.lab.planning.shards import Sizes, make_run_plan
from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.tools.faults.tier_run import run_tier

TIER, TARGET = "smoke", "host"
LIMIT_SECONDS = 1800.0


@dataclass(frozen=True)
class Held:
    """Of one fault: its selection, and which of the red cases are not in it."""

    fault: Fault
    selection: CaseSelection
    red: frozenset[str]

    @property
    def missing(self) -> list[str]:
        return sorted(self.red - {item.test for item in self.selection.items})


def main() -> int:
    stated = _arguments()
    project = with_operations(ours())
    (plan,) = make_run_plan(TIER, [TARGET], Sizes(), project).shards
    facts = facts_of(project, plan)
    faults = {fault.name: fault for fault in read_faults(project.faults)}
    trials = _trials(stated.faults_run)
    selections = {name: select(plan, facts, [FileChange(project.root / fault.file)]) for name, fault in faults.items()}
    planned = {item.test for item in plan.cases}
    held = [
        Held(faults[trial["name"]], selections[trial["name"]], frozenset({trial["by"]} & planned))
        for trial in trials
        if trial["name"] in faults and trial["killed"] and trial["by"] in planned
    ]
    missed = _tell("killing cases", held)
    others = [trial["name"] for trial in trials if trial["name"] not in {one.fault.name for one in held}]
    if others:
        print(f"not counted, no planned case found them: {', '.join(others)}")
    _tell_shares(list(selections.values()))
    if stated.whole:
        drawn = random.Random(stated.seed).sample(sorted(faults), stated.whole)
        missed += _tell("red cases", list(_whole_runs([faults[name] for name in drawn], project, selections)))
    return 1 if missed or not held else 0


def _tell(what: str, held: Sequence[Held]) -> int:
    """Prints the recall of cases; how many are missing."""
    red, missing = sum(len(one.red) for one in held), sum(len(one.missing) for one in held)
    print(
        f"{what}: {red - missing} of {red} selected, of {len(held)} faults"
        + (f": {1 - missing / red:.2%}" if red else "")
    )
    for one in held:
        for test in one.missing:
            print(f"MISSED {one.fault.name} ({one.fault.file}): {test}")
    return missing


def _tell_shares(selections: Sequence[CaseSelection]) -> None:
    shares = [one.share for one in selections]
    print(
        f"selected of {TIER} on {TARGET}: mean {mean(shares):.1%}, median {median(shares):.1%} of {len(shares)} faults"
    )
    by_file: dict[str, list[float]] = {}
    for one in selections:
        by_file.setdefault(shown(one.reasons[0].change.path, paths.root()), []).append(one.share)
    widest = sorted(by_file.items(), key=lambda entry: -entry[1][0])
    for name, found in widest:
        print(f"  {name}: {found[0]:.1%}, {len(found)} faults")


def _whole_runs(faults: Sequence[Fault], project: Project, selections: Mapping[str, CaseSelection]) -> Iterator[Held]:
    for fault in faults:
        with tempfile.TemporaryDirectory(prefix="bitgate-overlay-") as overlay:
            fault.plant(project.root, Path(overlay))
            run = run_tier(
                TIER,
                TARGET,
                project.root,
                root=project.root,
                overlay=Path(overlay),
                limit_seconds=LIMIT_SECONDS,
                most_reds=0,
                threads=paths.threads(),
                stop=Event(),
                pytest_arguments=[*map(str, project.suites)],
            )
        held = Held(fault, selections[fault.name], frozenset(verdict.test for verdict in run.reds))
        said = f"{len(held.red)} red of {len(run.verdicts)} cases, {len(held.missing)} of them not selected"
        print(f"whole tier with {fault.name}: {said}; {held.selection.share:.1%} selected", flush=True)
        yield held


def _trials(file: Path | None) -> list[dict[str, Any]]:
    if file is None:
        command = [sys.executable, "-m", "bitgate", "faults", "run", "--tier", TIER, "--target", TARGET, "--json"]
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=paths.root()).stdout
    else:
        text = file.read_text()
    return list(json.loads(text)["faults"])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults-run", type=Path, metavar="FILE", help="what `bitgate faults run --json` printed")
    parser.add_argument("--whole", type=int, default=0, metavar="N", help="faults that the whole tier is run with")
    parser.add_argument("--seed", type=int, default=0, help="which they are")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
