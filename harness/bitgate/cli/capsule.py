"""``bitgate capsule``: a case as a folder that runs by itself, and its replay."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.capsule.errors import CapsuleDefect
from bitgate.errors import UsageError
from bitgate.exact.fill import FILLS
from bitgate.problem import ProblemError
from bitgate.problem.foreign import problems_of

app = typer.Typer(help="A case as a folder that runs by itself: code object, launches, data, expected result.")


@app.command()
def write(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Case id, or a quoted foreign command line.")],
    target: Annotated[str, typer.Option(help="The gfx target whose code object it holds; no GPU is needed.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where it goes; a capsule there is replaced.")],
    kernel: Annotated[
        str | None, typer.Option(help="Glob over family.instance; the first that takes the case is it.")
    ] = None,
    fill: Annotated[str, typer.Option(help=f"Data: {', '.join(FILLS)}.")] = "exact",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data.")] = 0,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A kernel option; repeatable.")] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Declaration of your kernels.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Write a capsule. It is written for a failing case too, which is what a ticket needs; a note then says so.

    Exit codes: 0 written; 1 the device code does not compile, or a launch does not fit it; 2 usage or environment.
    """
    from bitgate.build import BuildError
    from bitgate.capsule.writing import Order
    from bitgate.capsule.writing import write as write_capsule

    if fill not in FILLS:
        raise UsageError(f"--fill {fill}: {', '.join(FILLS)} are known")
    order = Order(_problem(case), target, kernel, _options(option or []), fill, seed, tuple(load or ()))
    try:
        written = write_capsule(order, out)
    except BuildError as error:
        print(f"{error.output}\n{error}".lstrip(), file=sys.stderr)
        return 1
    except CapsuleDefect as error:
        print(f"bitgate: {error}", file=sys.stderr)
        return 1
    manifest = written.manifest
    if json_output:
        summary: dict[str, Any] = {
            "capsule": str(out),
            "case": manifest.case,
            "kernel": f"{manifest.family}.{manifest.instance}",
            "target": manifest.target,
            "wave_size": manifest.wave_size,
            "steps": [step.kind for step in manifest.steps],
            "digest": manifest.expected.digest,
            "host_run": manifest.host_run,
            "others": list(written.others),
        }
        print(json.dumps(summary, indent=2))
        return 0
    steps = ", ".join(step.name for step in manifest.steps)
    print(f"{out}  {manifest.case}  {manifest.family}.{manifest.instance}  {manifest.target}  {steps}")
    if written.others:
        print(f"  --kernel chooses another: {', '.join(written.others[:4])}{' ...' if written.others[4:] else ''}")
    if manifest.host_run != "PASS":
        print(f"  on the host these launches give {manifest.host_run}")
    return 0


@app.command()
def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The capsule.")],
    target: Annotated[
        str | None, typer.Option(help="host or a target of this machine; default: the capsule's own, else host.")
    ] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Declaration of your kernels.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run a capsule's steps and compare the result.

    Exit codes: 0 as expected; 1 it is not, with the diagnosis; 2 the capsule is damaged, or usage or environment.
    """
    from bitgate.build import BuildError
    from bitgate.capsule.folder import open_capsule
    from bitgate.capsule.replay import replay as replay_capsule
    from bitgate.kernel.errors import LibraryError
    from bitgate.record import Outcome

    capsule = open_capsule(folder)
    try:
        replayed = replay_capsule(capsule, target, tuple(load or ()))
    except (BuildError, LibraryError) as error:
        print(f"bitgate: {error}", file=sys.stderr)
        return 1
    manifest, answer = capsule.manifest, replayed.answer
    code = 0 if answer.outcome is Outcome.PASS else 1
    if json_output:
        diagnosis = answer.diagnosis
        document = {
            "capsule": str(folder),
            "case": manifest.case,
            "kernel": f"{manifest.family}.{manifest.instance}",
            "target": replayed.target.name,
            "verdict": str(answer.outcome),
            "reason": answer.reason,
            "digest": answer.digest,
            "expected_digest": manifest.expected.digest,
            "diagnosis": None
            if diagnosis is None
            else {"kinds": diagnosis.kinds, "sentence": diagnosis.sentence, "evidence": diagnosis.evidence},
            "exit": code,
        }
        print(json.dumps(document, indent=2))
        return code
    kernel = f"{manifest.family}.{manifest.instance} of {manifest.target}"
    print(f"{answer.outcome}  {manifest.case}  {kernel}  on {replayed.target.name}  {answer.digest}".rstrip())
    if answer.reason:
        print(f"  {answer.reason}")
    return code


def _problem(case: str) -> Any:
    try:
        problems = problems_of(case)
    except ProblemError as error:
        raise UsageError(str(error)) from None
    if len(problems) != 1:
        raise UsageError(f"{case} names {len(problems)} problems: a capsule holds one, name its case id")
    return problems[0]


def _options(words: list[str]) -> tuple[tuple[str, str], ...]:
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {word}: write NAME=VALUE")
        options[name] = value
    return tuple(sorted(options.items()))
