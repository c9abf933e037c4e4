"""``bitgate kernels``: families, instances, options, and what each takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate import rooms
from bitgate.device import targets
from bitgate.errors import UsageError
from bitgate.kernel import registry
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.record import Outcome, RecordError, read

app = typer.Typer()


@app.command()
def kernels(
    target: Annotated[str, typer.Option(help="List what is for this target; the best one present by default.")] = "",
    kernel: Annotated[str, typer.Option(help="Only family.instance that this glob matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(help="A further declaration.py.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """List kernel families, their instances and options, and what each supports."""
    name = target or targets.best().name
    platform = targets.platform_of(name)
    passed = _passed(name)
    rows = [
        _row(family, instance, name, passed)
        for family, instance in registry.select(kernel or None, load or (), name)
        if platform in family.platforms
    ]
    if json_:
        typer.echo(json.dumps({"kernels": rows}, indent=2))
    else:
        for line in _lines(rows):
            typer.echo(line)


def _row(family: KernelFamily, instance: Instance, target: str, passed: Counter[tuple[str, str]]) -> dict[str, Any]:
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
        "verified": passed[family.name, instance.name],
    }


def _passed(target: str) -> Counter[tuple[str, str]]:
    """How many PASS verdicts the recorded runs on this target hold, by (family, instance)."""
    folder = rooms.out_dir() / target
    count: Counter[tuple[str, str]] = Counter()
    for path in sorted({*folder.glob("results.jsonl"), *folder.glob("s*of*/results.jsonl")}):
        try:
            keys = {verdict.key for verdict in read(path) if verdict.outcome is Outcome.PASS}
        except RecordError as error:
            raise UsageError(f"{error}: remove the file, or set BITGATE_OUT to another folder") from None
        count.update((key.kernel, key.instance) for key in keys)
    return count


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
                f"  {ndims}{tile}  {row['verified']} passed"
            )
        for option in members[0]["options"]:
            values = "an integer" if option["values"] == ["int"] else "|".join(option["values"])
            yield f"  --option {option['name']}={values}  (production: {option['production']})  {option['help']}"
    if not rows:
        yield "no kernel is declared for this target"
