"""``bitgate kernels``: families, instances, options, and what each takes; and ``kernels new``, one to begin with."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project_file import find
from bitgate.core.targets import target_id
from bitgate.kernel import registry
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.loading import loaded_names, to_load, with_operations
from bitgate.model import Problem, ProblemError, parse_case_id
from bitgate.results.record import Key, Outcome, RecordError, read
from bitgate.runtime import targets
from bitgate.suite.suites import make_plan

app = typer.Typer(add_completion=False)


@app.callback(invoke_without_command=True)
def kernels(
    context: typer.Context,
    target: Annotated[str, typer.Option(help="List kernels for this target [the best present].")] = "",
    kernel: Annotated[str, typer.Option(help="List only kernels whose family.instance matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(help="Load one more declaration.py.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """List kernel families, their instances and options.

    Lists what each supports, and what the recorded runs verified. Ends with 1 if no case of the regression tier would
    run some instance: what is never run is never verified.
    """
    if context.invoked_subcommand is not None:
        if target or kernel or load or json_:
            raise UsageError(f"options of the list go without '{context.invoked_subcommand}': leave them out")
        return
    wanted = target_id(target or targets.best().name)
    name, platform = wanted.name, wanted.platform
    project = with_operations(find().loading(to_load(load)))
    passed = _passed(name)
    # What is loaded is meant, unless a glob asks for others.
    mine = loaded_names((*project.load, *project.added)) if not kernel else frozenset()
    plan = make_plan(project.tiers[-1], name, project, kernel, of_all=not mine)
    planned = Counter((c.key.kernel, c.key.instance, c.suite) for c in plan.cases if not c.refused)
    suites = sorted({table.parent.name for table in project.tables()})
    rows = [
        _row(family, instance, name, passed[family.name, instance.name], _of_suites(planned, family, instance, suites))
        for family, instance in registry.select(kernel or None, project, name)
        if platform in family.platforms and (not mine or family.name in mine)
    ]
    if json_:
        typer.echo(json.dumps({"kernels": rows}, indent=2))
    else:
        for line in _lines(rows):
            typer.echo(line)
    idle = [f"{row['family']}.{row['instance']}" for row in rows if not row["planned"]]
    if idle:
        typer.echo(f"no case of any suite runs {', '.join(idle)} on {name}: add a row that it supports", err=True)
        raise typer.Exit(1)


@app.command("new")
def new_kernel(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name the folder, the kernel and its operation.")],
    operation: Annotated[str, typer.Option(help="Compute an operation of bitgate: gemm, fwd ... [your own].")] = "",
    kind: Annotated[str, typer.Option(help="Write a library, a source, a module or a callable.")] = "library",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Make a folder NAME with a kernel that runs.

    Its operation, source, suite and a seeded defect are a separate repository, to be changed into yours file by
    file; each says what belongs there. Of operations other than gemm the kernel is to be filled in.
    """
    from bitgate.kernel import skeleton

    made = skeleton.Skeleton(name, operation, cast(Any, kind))
    written = skeleton.make(made, Path.cwd())
    begin, run = f"cd {name}", "bitgate run --tier smoke --target host"
    if made.is_stub:
        steps = {f"{begin} && {run}": f"red: says what is to be filled in, in kernels/{name}"}
    elif made.is_module:
        held = f"bitgate verify {made.case} --target host"
        steps = {f"{begin} && {held}": "not run: what is launched is held to the module; exit code 3"}
        steps["bitgate run --tier smoke --target sm_90"] = f"on a GPU: {made.verdicts} verdicts"
    else:
        steps = {f"{begin} && {run}": f"green: {made.verdicts} verdicts"}
        if made.has_fault:
            steps["bitgate faults run"] = "its one seeded defect is found"
        else:
            steps["bitgate kernels --target host"] = "what it covers, and the suites that take it"
    if json_:
        typer.echo(json.dumps({"folder": name, "files": list(map(str, written)), "next": list(steps)}, indent=2))
        return
    typer.echo("\n".join(["made", *(f"    {path}" for path in written), "next"]))
    width = max(map(len, steps))
    for step, then in steps.items():
        typer.echo(f"    {step:<{width}}  # {then}")


def _of_suites(
    planned: Counter[tuple[str, str, str]], family: KernelFamily, instance: Instance, suites: list[str]
) -> dict[str, int]:
    """Return the number of cases of each suite that would run an instance."""
    return {suite: planned[family.name, instance.name, suite] for suite in suites}


def _row(
    family: KernelFamily, instance: Instance, target: str, passed: set[tuple[Key, Problem]], suites: dict[str, int]
) -> dict[str, Any]:
    problems = [problem for _, problem in passed]
    return {
        "family": family.name,
        "instance": instance.name,
        "target": target,
        "ops": [str(operation) for operation in family.operations_of(instance)],
        "dtypes": list(instance.dtypes),
        "layouts": list(instance.layouts),
        "ndims": list(instance.ndims),
        "options": [
            {"name": o.name, "values": list(o.values), "production": o.production, "help": o.help}
            for o in family.options
        ],
        "tile": instance.tile,
        "vector": instance.vector,
        "fragment": instance.fragment,
        "block_size": instance.block_size,
        "wave_size": instance.wave_size,
        "reference": family.is_reference,
        "planned": sum(suites.values()),
        "suites": suites,
        "verified": len(passed),
        "verified_dtypes": sorted({problem.dtypes.canonical for problem in problems}),
        "verified_layouts": sorted({problem.operation.space.layouts_of(problem) for problem in problems}),
        "verified_ndims": sorted({problem.ndim for problem in problems}),
    }


def _passed(target: str) -> defaultdict[tuple[str, str], set[tuple[Key, Problem]]]:
    """Return what has a PASS verdict in the recorded runs on this target, by (family, instance)."""
    folder = paths.out_dir() / target
    found: defaultdict[tuple[str, str], set[tuple[Key, Problem]]] = defaultdict(set)
    for path in sorted({*folder.glob("results.jsonl"), *folder.glob("s*of*/results.jsonl")}):
        try:
            keys = {verdict.key for verdict in read(path) if verdict.outcome is Outcome.PASS}
        except RecordError as error:
            raise UsageError(f"{error}: remove the file, or set BITGATE_OUT to another folder") from None
        for key in keys:
            with suppress(ProblemError):  # of an operation that is loaded no more
                found[key.kernel, key.instance].add((key, _problem(key.case)))
    return found


@cache
def _problem(case: str) -> Problem:
    return parse_case_id(case)


def _coverage_lines(members: list[dict[str, Any]]) -> Iterable[str]:
    """Yield what a family takes by its declaration, and which suites have cases of that."""
    stated = {key: list(dict.fromkeys(one for row in members for one in row[key])) for key in ("dtypes", "layouts")}
    ndims = sorted({ndim for row in members for ndim in row["ndims"] if ndim})
    layouts = " ".join(stated["layouts"]) or "any strides"
    dimensions = f"; {' '.join(f'{ndim}D' for ndim in ndims)}" if ndims else ""
    yield f"  covers {', '.join(stated['dtypes'])}; {layouts}{dimensions}"
    counts = {suite: sum(row["suites"][suite] for row in members) for suite in members[0]["suites"]}
    taken = ", ".join(f"{suite} ({count} cases)" for suite, count in counts.items() if count) or "none"
    idle = ", ".join(suite for suite, count in counts.items() if not count)
    yield f"  suites that take it: {taken}" + (f"; not {idle}" if idle else "")


def _lines(rows: list[dict[str, Any]]) -> Iterable[str]:
    for family in dict.fromkeys(row["family"] for row in rows):
        members = [row for row in rows if row["family"] == family]
        operations = dict.fromkeys(op for row in members for op in row["ops"])
        yield f"{family}  ({', '.join(operations)}; target {members[0]['target']})"
        width = max(len(row["instance"]) for row in members)
        for row in members:
            ndims = " ".join(f"{ndim}D" for ndim in row["ndims"])
            tile = " tile " + "x".join(map(str, row["tile"])) if row["tile"] else ""
            yield (
                f"  {row['instance']:<{width}}  {' '.join(row['dtypes'])}  {' '.join(row['layouts'])}"
                f"  {ndims}{tile}  {row['planned']} cases, {row['verified']} passed"
            )
        yield from _coverage_lines(members)
        for option in members[0]["options"]:
            values = "an integer" if option["values"] == ["int"] else "|".join(option["values"])
            yield f"  --option {option['name']}={values}  (production: {option['production']})  {option['help']}"
    if not rows:
        yield "no kernel is declared for this target"
