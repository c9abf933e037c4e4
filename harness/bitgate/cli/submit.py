"""``bitgate submit``, also as ``bitgate ci submit``: a night in one command, on this machine or on an engine's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core.choices import ENGINES
from bitgate.core.errors import UsageError

if TYPE_CHECKING:
    from bitgate.lab.executors.executor import Executor
    from bitgate.lab.planning.night import NightOptions

app = typer.Typer(add_completion=False)


@app.command()
def submit(
    executor: Annotated[
        str, typer.Option(metavar="|".join(ENGINES), help="Run the shards by this executor [local].")
    ] = "",
    tier: Annotated[str, typer.Option(help="Take this tier: smoke or regression [the project's first].")] = "",
    target: Annotated[
        list[str] | None,
        typer.Option(help="Run on a target; repeatable [those the executor has]."),
    ] = None,
    matrix_file: Annotated[
        Path | None,
        typer.Option("--matrix", metavar="FILE", help="Take the targets from what `ci matrix --out` wrote."),
    ] = None,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Run a plan that `ci plan` wrote.")
    ] = None,
    shards: Annotated[
        list[str] | None, typer.Option(metavar="N|TARGET=N", help="Cut every target, or one, into N parts; repeatable.")
    ] = None,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only kernels whose family.instance matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load a user's kernel declaration.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set an executor's option: partition=gpu ...; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="NIGHT", help="Keep the night in this folder [out/night].")
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=0, help="Run N shards at a time [local: 1; else the engine's limit].")
    ] = 0,
    workers: Annotated[
        str,
        typer.Option("-n", metavar="N", help="Run each shard in N processes [auto]."),
    ] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the night in NIGHT; keep its answers.")] = False,
    until: Annotated[
        str, typer.Option(metavar="TIME", help="End the night at 06:30, or after 8h or 90m; or never [24h].")
    ] = "",
    detach: Annotated[bool, typer.Option("--detach", help="Leave shards running on Ctrl-C, for --resume.")] = False,
    history: Annotated[str, typer.Option(metavar="FILE|URL", help="Read the results into this history, too.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> int:
    """Run a whole night: plan, run shards, merge results.

    Each shard runs on a machine of its target; without --target on those that have a pool of the executor in the
    targets file. What a lost machine left unanswered runs once more, elsewhere; a red case once more, to find out
    whether it fails each time. Nothing that is red turns green by running again. All is kept in NIGHT: if this command
    is killed, give it again with --resume. Processes of shards are fewer where --jobs share cores.

    Exit codes: 0 green, 1 red or lost, 2 usage, 3 nothing was compared, 130 interrupted.
    """
    from bitgate.cli.report import print_summary
    from bitgate.core import paths
    from bitgate.lab.ci.attempts import SHARDS
    from bitgate.lab.ci.deadline import DEFAULT, deadline
    from bitgate.lab.ci.night import MERGED, Controller, lock
    from bitgate.lab.ci.screen import screen
    from bitgate.lab.planning.night import NightOptions

    options = _pairs(option or [])
    order = NightOptions(
        executor,
        tier,
        tuple(target or ()),
        matrix_file,
        plan_file,
        tuple(shards or ()),
        kernel,
        tuple(load or ()),
        options,
        workers,
    )
    end = deadline(until or DEFAULT)
    folder = (out or paths.out_dir() / "night").absolute()
    if resume and order.stated:
        raise UsageError(f"{order.stated} and --resume: the night is planned: leave it out")
    if resume and not folder.is_dir():
        raise UsageError(f"{folder}: no such folder: leave --resume out to start a night")
    with lock(folder), screen() as shown:
        engine = _engine(order, folder, jobs, resume)
        controller = Controller(folder, engine, shown, end)
        try:
            controller.run()
            summary = controller.finish()
        except KeyboardInterrupt:
            if not detach:
                controller.cancel()
            left = f"tasks left as they are: {len(controller.open)}" if controller.open else "nothing runs any more"
            shown.say(f"interrupted; {left}: go on with bitgate submit --resume --out {folder}")
            return 130
        except OSError as error:
            if error.errno is None:  # it says what to do already
                raise
            raise UsageError(f"{folder}: {error.strerror}: fix that, and go on with --resume") from None
    print_summary(summary, folder / MERGED, as_json)
    if not history:
        return summary.exit_code
    from bitgate.cli.history import remember

    remembered = remember([folder / SHARDS], history)
    return summary.exit_code or remembered


def _engine(order: NightOptions, folder: Path, jobs: int, resume: bool) -> Executor:
    """Return the executor of a night that is planned now or was. UsageError for an executor that does not fit it."""
    from bitgate.lab.ci.journal import Journal
    from bitgate.lab.executors import executor
    from bitgate.lab.planning.night import planned_night

    journal = Journal(folder)
    planned = journal.night.planned
    if resume:
        if planned is None:
            raise UsageError(f"{journal.path}: no night was planned here: leave --resume out")
        return executor(planned.executor, folder, jobs or planned.jobs, planned.options)
    if planned:
        raise UsageError(f"{folder}: holds a night: go on with it by --resume, or give another --out")
    engine = executor(order.executor or "local", folder, jobs, order.options)
    journal.add(planned_night(order, folder, jobs))
    return engine


def _pairs(stated: Sequence[str]) -> dict[str, str]:
    pairs = dict(text.partition("=")[::2] for text in stated)
    if bad := next((text for text in stated if not text.partition("=")[1] or not text.partition("=")[0]), None):
        raise UsageError(f"--option {bad}: write NAME=VALUE")
    return pairs
