"""``bitgate capsule``: a case as a folder that runs by itself, and its replay."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.cli.args import options_named, problems_named
from bitgate.core.errors import UsageError
from bitgate.core.project_file import find
from bitgate.core.targets import target_id
from bitgate.kernel.loading import to_load, with_operations
from bitgate.model import case_id
from bitgate.numerics.fill import FILLS, fill_names
from bitgate.results.record.identity import MOST_SEED

app = typer.Typer(add_completion=False, help="Write and replay capsules: cases that run by themselves.")


@app.command()
def write(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Name a case id, or a quoted foreign command line.")],
    target: Annotated[str, typer.Option(help="Pack this gfx target's code or instances; needs no GPU.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write it to DIR; replace a capsule there.")],
    kernel: Annotated[str | None, typer.Option(help="Choose the first matching family.instance that takes it.")] = None,
    fill: Annotated[str, typer.Option(help=f"Fill with {', '.join(FILLS)}.")] = "exact",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Draw the data from this seed.")] = 0,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels' declaration.")] = None,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="Write a HIP file, data and a Makefile for hipcc or nvcc.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Write a case as a capsule.

    A failing case is written too, which is what a ticket needs; a note then says so. The gfx target's code object goes
    into it, or with --standalone its instances. Data are exact, decimal, special, codes or probe.

    Exit codes: 0 written; 1 the device code does not compile, or a launch does not fit it; 2 usage or environment.
    """
    project = with_operations(find().loading(to_load(load)))
    if fill not in fill_names():
        raise UsageError(f"--fill {fill}: {', '.join(fill_names())} are known")
    from bitgate.tools.capsule.client import ask
    from bitgate.tools.capsule.server import WriteCapsule

    question = WriteCapsule(
        case=case_id(_problem(case)),
        target=target_id(target).name,
        kernel=kernel,
        options=tuple(sorted(options_named(option).items())),
        fill=fill,
        seed=seed,
        project=project.as_json(),
        out=str(out),
        standalone=standalone,
    )
    answer = ask(question)
    if "defect" in answer:
        print(answer["defect"], file=sys.stderr)
        return 1
    names, others = answer.pop("names"), answer["others"]
    if json_output:
        print(json.dumps(answer, indent=2))
        return 0
    print(f"{out}  {answer['case']}  {answer['kernel']}  {answer['target']}  {', '.join(names)}")
    if others:
        print(f"  --kernel chooses another: {', '.join(others[:4])}{' ...' if others[4:] else ''}")
    if answer.get("host_run", "PASS") != "PASS":
        print(f"  on the host these launches give {answer['host_run']}")
    return 0


@app.command()
def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Replay the capsule in DIR.")],
    target: Annotated[str | None, typer.Option(help="Run on this target [the capsule's, else host].")] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels' declaration.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Run a capsule's steps and compare the result.

    Exit codes: 0 as expected; 1 it is not, with the diagnosis; 2 the capsule is damaged, or usage or environment.
    """
    project = with_operations(find().loading(to_load(load)))
    from bitgate.tools.capsule.client import ask
    from bitgate.tools.capsule.server import ReplayCapsule

    answer = ask(ReplayCapsule(str(folder), target, project.as_json()))
    if "defect" in answer:
        print(answer["defect"], file=sys.stderr)
        return 1
    of = answer.pop("of")
    if json_output:
        print(json.dumps(answer, indent=2))
        return int(answer["exit"])
    where = f"{answer['kernel']} of {of}  on {answer['target']}"
    print(f"{answer['verdict']}  {answer['case']}  {where}  {answer['digest']}".rstrip())
    if answer["reason"]:
        print(f"  {answer['reason']}")
    return int(answer["exit"])


@app.command()
def export(
    target: Annotated[str, typer.Option(help="Pack this gfx target's code; needs no GPU.")],
    case: Annotated[str, typer.Argument(metavar="[CASE]", help="Name a case; without it the tier's are chosen.")] = "",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write to DIR; without CASE a folder each.")] = None,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only kernels whose family.instance matches.")] = "",
    fill: Annotated[str, typer.Option(help=f"Fill with {', '.join(FILLS)}.")] = "exact",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Draw the data from this seed.")] = 0,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels' declaration.")] = None,
    tier: Annotated[str, typer.Option(help="Without CASE: choose among this tier's cases [the last].")] = "",
    only_list: Annotated[bool, typer.Option("--list", help="Print the chosen cases and write nothing.")] = False,
    host: Annotated[bool, typer.Option("--host", help="Add host.json, which the loader runs on the host.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Write capsules that any emulator or debugger can run.

    Each folder has the code object, launches with kernarg bytes and fix-ups, data and expected bits in export.json, its
    JSON Schema, and a loader over HIP's module API. Without CASE the chosen cases have all in which the
    target's device code can differ: family, types, path, main loop, split, merged groups, copies.

    Exit codes: 0 written; 1 a capsule could not be; 2 usage or environment.
    """
    project = with_operations(find().loading(to_load(load)))
    if fill not in fill_names():
        raise UsageError(f"--fill {fill}: {', '.join(fill_names())} are known")
    name = target_id(target).of_code.name
    if out is None and not only_list:
        raise UsageError("--out DIR: name the folder to write to, or print the cases with --list")
    from bitgate.cli.capsule_export import chosen_cases, print_exported, requests_of

    if case:
        chosen = [(case_id(_problem(case)), kernel, tuple(sorted(options_named(option).items())), fill, seed)]
    else:
        chosen = chosen_cases(name, tier or project.tiers[-1], kernel, project)
    if only_list:
        for one in chosen:
            options = " ".join(f"{name}={value}" for name, value in one[2])
            print(f"{one[0]}  {one[1]}  {one[3]}  {options}".rstrip())
        print(f"{len(chosen)} capsules of {name}")
        return 0
    assert out is not None
    from bitgate.tools.capsule.client import ask
    from bitgate.tools.capsule.server import ExportCapsules

    requests = list(requests_of(chosen, name, project, out, is_one=bool(case)))
    seconds = 900.0 + 300.0 * len(requests)
    answer = ask(ExportCapsules(tuple(requests), host), seconds, lambda note: print(note["progress"], file=sys.stderr))
    return print_exported(answer, out, json_output)


@app.command()
def check(
    results: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Judge exported capsules with results, or folders of them.")
    ],
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels' declaration.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Judge what runs of exported capsules brought back.

    Each folder has results.json, as the loader in it writes it. A capsule without results is red.

    Exit codes: 0 all as expected; 1 one is not; 2 a capsule or document is damaged, or there is none; 3 all as
    expected, but the host ran one in its target's place, or none shows more than that results were cleared.
    """
    from bitgate.cli.capsule_export import print_checked

    return print_checked(results, with_operations(find().loading(to_load(load))), json_output)


def _problem(case: str) -> Any:
    problems = problems_named(case)
    if len(problems) != 1:
        raise UsageError(f"{case} names {len(problems)} problems: a capsule holds one, name its case id")
    return problems[0]
