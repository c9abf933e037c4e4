"""``bitgate fuzz``: random problems until time is up; what fails is shrunk and written as a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.launcher import DaemonOption, LauncherOption, opened
from bitgate.core import emulation
from bitgate.core.progress import print_progress
from bitgate.core.settings import MOST_SECONDS
from bitgate.results.record.identity import MOST_SEED

if TYPE_CHECKING:
    from bitgate.tools.fuzz.failure import ShrunkFailure

app = typer.Typer(add_completion=False)


@app.command()
def fuzz(
    seconds: Annotated[
        float, typer.Option(min=0.1, max=MOST_SECONDS, help="Run for these seconds, once the kernels are built.")
    ] = 60.0,
    kernel: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Choose kernels by family.instance [every kernel].")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MOST_SEED, help="Draw problems, instances and data from this seed.")
    ] = 0,
    target: Annotated[str | None, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels' declaration.")] = None,
    workers: Annotated[
        int | None,
        typer.Option("-n", "--workers", min=1, help="Run in this number of processes [host: one a core, GPU: 1]."),
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="Stop at the first failure, once it is shrunk.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after an earlier run with this seed.")] = False,
    case_timeout: Annotated[
        float, typer.Option(min=1, max=MOST_SECONDS, help="Call a case HUNG after these seconds.")
    ] = 60.0,
    shrink_seconds: Annotated[
        float, typer.Option(min=1, max=MOST_SECONDS, help="Shrink for at most these seconds.")
    ] = 60.0,
    launcher: LauncherOption = "",
    launcher_daemon: DaemonOption = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Verify random problems on all instances.

    Boundaries come first; declared and reported support must agree too.

    The first failure of each kind is shrunk to the smallest problem that fails alike, with the nearest ones that pass,
    and written to failures.toml below out/<target>/fuzz, as rows for a case table. Exit codes: 0 nothing failed, 1 a
    defect was found, 2 usage or environment, 3 nothing was compared, 130 interrupted (what was found is on disk).
    """
    from bitgate.core import paths
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.tools.fuzz.campaign import Campaign, default_workers
    from bitgate.tools.fuzz.server import CampaignSetting
    from bitgate.tools.fuzz.state import CampaignState, read_state

    name = opened(launcher, launcher_daemon, target).name
    project = with_operations(find().loading(to_load(load)))
    setting = CampaignSetting(name, kernel, project, seed, case_timeout * emulation.slowness(), shrink_seconds)
    folder = paths.out_dir() / name / "fuzz"
    state = read_state(folder / "state.json", seed, kernel, name) if resume else CampaignState(seed, kernel, name)
    campaign = Campaign(
        setting,
        state,
        folder,
        workers=workers or default_workers(name),
        first_only=first,
        failed=lambda shrunk: None if as_json else print_failure(shrunk),
        progress=print_progress,
    )
    campaign.run(seconds)
    code = 1 if state.failures else 0 if state.tally.compared else 3
    if as_json:
        print(json.dumps({"failures": state.failures, "summary": state.summary() | {"exit": code}}, indent=1))
    else:
        print(_format_summary(state.summary(), len(state.failures), folder))
    return code


def print_failure(shrunk: ShrunkFailure) -> None:
    """Print what fails, the smallest such case, what makes it pass, and the lines to go on with."""
    found = shrunk.found
    print(f"\n{shrunk.verdict.outcome}  {shrunk.planned.kernel.name}  {shrunk.verdict.human or shrunk.planned.case}")
    print(f"  {shrunk.sentence}")
    print(
        f"  {shrunk.multiply_adds} multiply-adds (found with {found.planned.problem.flops // 2},"
        f" after {found.seconds:.1f} s; shrunk in {shrunk.seconds:.1f} s, {shrunk.tried} verdicts)"
    )
    if not shrunk.minimal:
        print("  time was up: a smaller one may fail too")
    for neighbour in shrunk.neighbours:
        print(f"  {neighbour.words}")
    print(f"  again: {shrunk.verdict.repro}\n")
    print("  " + shrunk.row().replace("\n", "\n  ").rstrip(), flush=True)


def _format_summary(summary: dict[str, Any], failures: int, folder: Path) -> str:
    return (
        f"\n{summary['seconds']:.0f} s, seed {summary['seed']}: {summary['problems']} problems,"
        f" {summary['verdicts']} verdicts on {len(summary['instances'])} instances, {failures} failures"
        + (f" in {folder / 'failures.toml'}" if failures else "")
    )
