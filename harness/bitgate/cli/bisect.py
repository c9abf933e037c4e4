"""``bitgate bisect CASE --good C``: the commit since which a case is red."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.results.record.identity import MOST_SEED

if TYPE_CHECKING:
    from bitgate.lab.history.bisect import BisectResult

app = typer.Typer(add_completion=False)


@app.command()
def bisect(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Name a case id, or quote a foreign or a repro line.")],
    good: Annotated[str, typer.Option(metavar="COMMIT", help="Start from this commit, at which the case is green.")],
    bad: Annotated[str, typer.Option(metavar="COMMIT", help="End at this commit, at which the case is red.")] = "HEAD",
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Choose kernels by family.instance.")] = "",
    target: Annotated[str, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = "",
    fill: Annotated[str, typer.Option(help="Fill with this data, as `bitgate verify` does.")] = "",
    seed: Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Draw the data from this seed.")] = None,
    schedule: Annotated[str, typer.Option(help="Order host threads, as `bitgate verify` does.")] = "",
    race: Annotated[bool, typer.Option("--race", help="Watch each access for races; host only.")] = False,
    reference: Annotated[str, typer.Option(help="Compare with this reference, as `bitgate verify` does.")] = "",
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    load: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Load a kernel declaration in this repository.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on stdout, progress on stderr.")
    ] = False,
) -> int:
    """Find the commit since which a case is red.

    Runs `git bisect run` with `bitgate verify` in a separate worktree. Your checkout is not touched, and nothing is
    left after it; builds come from the cache that all runs share. Commits that do not build are skipped. Ends with 1 if
    the commit is found, 2 if the good one is bad or the bad one good.
    """
    from bitgate.core.project_file import find as project_here
    from bitgate.lab.history.bisect import bisect as find

    root = project_here().root
    stated = {"--kernel": kernel, "--target": target, "--fill": fill, "--schedule": schedule, "--reference": reference}
    words = [*_repro(case, root), *(f"{name}={value}" for name, value in stated.items() if value)]
    words += [f"--seed={seed}"] * (seed is not None) + ["--race"] * race
    words += [f"--option={one}" for one in option or []]
    words += [f"--load={_within(path, root)}" for path in load or []]

    def tell(line: str) -> None:
        print(line, file=sys.stderr if as_json else sys.stdout, flush=True)

    found = find(root, words, good, bad, tell)
    if as_json:
        print(json.dumps({"bisect": _json(found)}))
    else:
        for line in _lines(found):
            print(line)
    return 1


def _repro(case: str, root: Path) -> list[str]:
    """Return the words after `bitgate verify` of a line that shows a red case again; else the case alone."""
    try:
        words = shlex.split(case)
    except ValueError:
        return [case]
    if words[:2] != ["bitgate", "verify"]:
        return [case]
    loaded = [before == "--load" for before in words]
    return [
        str(_within(Path(word), root)) if behind else word for word, behind in zip(words[2:], loaded[1:], strict=False)
    ]


def _within(path: Path, root: Path) -> Path:
    """Return the path in each commit's worktree, where the file is in the repository."""
    whole = path.resolve()
    return whole.relative_to(root.resolve()) if whole.is_relative_to(root.resolve()) else whole


def _json(found: BisectResult) -> dict[str, Any]:
    return {
        "commits": [dict(vars(commit)) for commit in found.candidates],
        "good": found.good,
        "bad": found.bad,
        "steps": found.steps,
    }


def _lines(found: BisectResult) -> list[str]:
    several = len(found.candidates) > 1
    lines = ["it is one of these; those between could not be tested:"] if several else []
    for commit in found.candidates:
        what = "candidate" if several else "first bad commit"
        lines += [f"{what}: {commit.id}", f"  {commit.subject}", f"  {commit.author}, {commit.date}"]
    return lines
