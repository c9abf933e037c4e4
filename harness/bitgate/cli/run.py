"""``bitgate run``: a tier through pytest, with the same exit codes and the same record."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bitgate.cli.args import bytes_stated
from bitgate.cli.launcher import DaemonOption, LauncherOption, SanitizerOption, set_launcher, set_sanitizer
from bitgate.core.emulation import EMULATED
from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.core.settings import MOST_SECONDS
from bitgate.core.untrusted import message
from bitgate.lab.planning.collect import PLUGIN, QUIET, check_meant, print_whose_suites, suites_and_root
from bitgate.results.record.identity import MOST_SEED
from bitgate.results.targets_file import EMULATED_SECONDS

SPARED = {"logging": "--log", "hypothesispytest": "--hypothesis", "benchmark": "--benchmark"}
"""Plugins that look at each test three times, and that no test of bitgate's own suites has a use for; how their options
begin."""

OF_STORE = ("BITGATE_ARTEFACTS", "BITGATE_FETCH_ONLY")
"""The variables of a store, without what builds libraries: a run's command seldom needs that."""

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    tier: Annotated[str, typer.Option(help="Take this tier: smoke, regression or emulated [the first].")] = "",
    seconds: Annotated[
        float, typer.Option(min=0.1, max=MOST_SECONDS, help="Limit the tier emulated to these seconds on one worker.")
    ] = EMULATED_SECONDS,
    target: Annotated[str, typer.Option(help="Run on this target: host, gfx942 ... [the best present].")] = "",
    select: Annotated[str, typer.Option(metavar="FILE", help="Run only the ids in FILE, one a line.")] = "",
    workers: str = typer.Option("auto", "-n", metavar="N", help="Run kernels in N processes; auto: one a GPU or core."),
    resume: Annotated[bool, typer.Option("--resume", help="Keep the results and run what is not green yet.")] = False,
    race: Annotated[bool, typer.Option("--race", help="Watch each access for races; host only.")] = False,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Run each case N times; red if any run is.")] = 1,
    until_red: Annotated[
        bool, typer.Option("--until-red", help="With --repeat: stop a case at its first red run.")
    ] = False,
    shuffle: Annotated[
        int | None, typer.Option(metavar="SEED", min=0, max=MOST_SEED, help="Draw the order of cases from this seed.")
    ] = None,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only kernels whose family.instance matches.")] = "",
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option for every case; repeatable.")
    ] = None,
    load: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Load your kernels; run them alone unless --kernel is given."),
    ] = None,
    shard: Annotated[str, typer.Option(metavar="I/N", help="Run only the I-th of N parts of the tier.")] = "",
    plan: Annotated[str, typer.Option(metavar="FILE", help="Run what a plan by `bitgate ci plan` assigns.")] = "",
    artefacts: Annotated[
        str,
        typer.Option(metavar="URL", help="Take libraries from the store of `compile --artefacts`."),
    ] = "",
    fetch_only: Annotated[
        bool, typer.Option("--fetch-only", help="Refuse libraries that are not in the store; build nothing.")
    ] = False,
    launcher: LauncherOption = "",
    launcher_daemon: DaemonOption = "",
    sanitizer: SanitizerOption = "",
    mean_bitgates: Annotated[
        bool, typer.Option("--bitgate-suites", help="Run bitgate's suites, above kernels of yours.")
    ] = False,
    dump_on_red: Annotated[
        str, typer.Option(metavar="SIZE", help="Keep capsules of red cases within SIZE bytes (64M, 2G).")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document; pytest's output goes to stderr.")
    ] = False,
) -> int:
    """Run a tier of the suites through pytest.

    What follows goes to pytest: a folder of suites, -k, -x ...

    Exit codes: 0 green, 1 red, 2 usage, 3 nothing was compared, 130 interrupted.
    """
    from bitgate.core.project_file import find
    from bitgate.core.suite_paths import names_a_suite
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.suite.session import run_session

    set_launcher(launcher, launcher_daemon, target)
    set_sanitizer(sanitizer)
    budget = bytes_stated("--dump-on-red", dump_on_red) if dump_on_red else 0
    own = names_a_suite(context.args, Path.cwd()) and any(Path(arg.split("::")[0]).exists() for arg in context.args)
    project = find(*(Path(arg.split("::")[0]) for arg in context.args)) if own else find()
    if not own:
        project.tables()  # without a suite pytest would not know our options
        if not (mean_bitgates or kernel or select or plan or shard or project.file or to_load(load)):
            check_meant(project)
        print_whose_suites(project)
    is_bare = not own and all(map(ours().holds, project.suites))
    arguments = [] if own else suites_and_root(project)
    arguments += [*(spared(context.args) if is_bare else ()), *context.args]
    if tier == EMULATED:
        from bitgate.lab.planning.emulated_tier import chosen_ids

        if select or plan or shard:
            raise UsageError(f"--tier {EMULATED} chooses its cases: leave --select, --plan and --shard out")
        tier, select = project.tiers[-1], str(chosen_ids(target, seconds, project.loading(to_load(load)), kernel))
    stated = {"--tier": [tier or project.tiers[0]], "--target": [target], "--select": [select], "--kernel": [kernel]}
    stated |= {"--shard": [shard], "--plan": [plan]}
    stated |= {"--repeat": [str(repeat)] * (repeat > 1), "--shuffle": [] if shuffle is None else [str(shuffle)]}
    stated |= {"--option": option or [], "--load": [str(path) for path in load or []]}
    arguments += [f"{name}={value}" for name, values in stated.items() for value in values if value]
    arguments += (
        ["--resume"] * resume + ["--race"] * race + ["--until-red"] * until_red + ["-n0", f"--processes={workers}"]
    )
    arguments += ["-q", *QUIET, "-p", PLUGIN]
    with _libraries_from(artefacts, fetch_only):
        code, summary, folder = run_session(arguments, stdout=2 if as_json else None)
        if budget and folder is not None and code == 1:
            from bitgate.tools.capsule.of_reds import write_capsules

            made = write_capsules(folder, with_operations(project.loading(to_load(load))), budget)
            print(f"bitgate: {message(made.sentence)}", file=sys.stderr)
    if as_json:
        typer.echo(json.dumps({"summary": summary.as_json() if summary else {"exit_code": code}}))
    return code


def spared(arguments: Sequence[str]) -> list[str]:
    """Return pytest's arguments for bitgate's own suites, without plugins that they do not need.

    Their tests log nothing, and only kernels print by other means than Python's, in separate processes. A plugin whose
    options are given stays.
    """
    stated = [*arguments, *os.environ.get("PYTEST_ADDOPTS", "").split()]
    idle = [name for name, begin in SPARED.items() if not any(text.startswith(begin) for text in stated)]
    return ["--capture=sys", *(f"-pno:{name}" for name in idle)]


@contextmanager
def _libraries_from(store: str, only: bool) -> Iterator[None]:
    """Name the store in the environment, which pytest, workers and kernel processes inherit: all of them build.

    UsageError if it is unusable.
    """
    if not (store or only or any(map(os.environ.get, OF_STORE))):
        yield
        return
    from bitgate.kernel.build.artefacts import ONLY, VARIABLE, from_environment

    named = {VARIABLE: store} if store else {}
    named |= {ONLY: "1"} if only else {}
    before = {name: os.environ.get(name) for name in named}
    os.environ.update(named)
    try:
        from_environment(print)
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
