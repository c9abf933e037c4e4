"""``bitgate bringup``: a machine or target that is new to bitgate; every step is tried, and one bundle written."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.cli.launcher import DaemonOption, LauncherOption, set_launcher
from bitgate.core import emulation, paths
from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.core.targets import is_emulated, target_id
from bitgate.kernel.loading import to_load, with_operations
from bitgate.kernel.registry import families
from bitgate.lab.bringup import STEPS, BringupOptions, StepResult, bring_up
from bitgate.lab.bringup.bundle import Bundle
from bitgate.lab.bringup.identity import scrubber_of_this_machine
from bitgate.lab.bringup.server import StepAnswer, taken
from bitgate.runtime.targets import named
from bitgate.verify.emulated import begin, say
from bitgate.verify.selection import candidates

app = typer.Typer(add_completion=False)

DOCTOR, BEST = f"{__name__}:doctor", f"{__name__}:best"


@app.command("bringup")
def bringup(
    target: Annotated[str, typer.Option(help="Try this target: gfx942, sm_90 ... [the best GPU, or host].")] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the bundle [out/<target>/first_contact.tar.gz].")
    ] = None,
    launcher: LauncherOption = "",
    launcher_daemon: DaemonOption = "",
    second_launcher: Annotated[
        str, typer.Option("--second-launcher", metavar="COMMAND", help="Compare red cases on a second emulator.")
    ] = "",
    smoke: Annotated[
        bool | None, typer.Option("--smoke/--no-smoke", help="Run the smoke tier at the end [not on an emulator].")
    ] = None,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only these family.instance in steps 7 and 8.")] = "",
    load: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels and run steps 7 and 8 on them.")
    ] = None,
    workers: Annotated[
        str, typer.Option("-n", metavar="N", help="Run the smoke tier in N processes, as `bitgate run` does.")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Try every step on a new machine, and pack the findings.

    The findings are one file. Eight steps, each in a separate process: doctor, the runtime's functions, a build, the
    device; device tools, probes of the platform; a small case of each family and type, smoke. None stops the others.
    One line distinguishes a broken installation (1 to 4), a broken platform (5, 6) and a broken kernel (7, 8); another
    names who should get the bundle. It holds no user names, home paths, host names, addresses or serial numbers.

    Exit codes: 0 all green, 1 a defect of platform or kernel, 2 the installation, or usage, 3 nothing was compared, 130
    interrupted, with what was found until then.
    """
    begun = time.monotonic()
    set_launcher(launcher, launcher_daemon, target)
    if second_launcher:
        emulation.check(second_launcher, "--second-launcher")
    project = with_operations(find().loading(to_load(load)))
    name = target_id(target).name if target else _best(project)
    if emulation.launcher():
        where = named(name)
        name = where.name
        try:
            begin(where, say)
        except UsageError as error:  # the steps find out which part is to blame
            print_progress(f"bitgate: {error}")
    families(project)  # reports a declaration that cannot be read now, not in step 7
    for glob in filter(None, kernel.split(",")):
        candidates(glob, {}, name, project)
    arguments = ["--tier", project.tiers[0], "--target", name, "-n", workers]
    arguments += [f"--kernel={kernel}"] * bool(kernel) + [f"--load={path.absolute()}" for path in project.added]
    path = (out or paths.out_dir() / name / "first_contact.tar.gz").absolute()
    runs_smoke = smoke if smoke is not None else not is_emulated(name)
    options = BringupOptions(name, project, DOCTOR, kernel, arguments if runs_smoke else None, second_launcher)
    bundle = Bundle(path, scrubber_of_this_machine())
    done = bring_up(options, bundle, print_progress)
    seconds, end = time.monotonic() - begun, done.conclusion
    if as_json:
        document = {
            "target": name,
            "verdict": end.kind,
            "sentence": end.sentence,
            "send": end.send,
            "exit": 2 if done.trouble else end.code,
            "seconds": round(seconds, 3),
            "steps": [finding.as_json() for finding in done.findings],
            "bundle": {
                "path": str(path),
                "bytes": done.size,
                "files": bundle.names,
                "left_out": bundle.left_out,
                "trouble": done.trouble,
            },
        }
        print(json.dumps(document, indent=2, default=str))
    if done.trouble:
        for finding in done.findings:
            print_progress(f"{finding.step}: {finding.result}: {finding.sentence}")
    talk = sys.stderr if as_json or done.trouble else sys.stdout
    print(f"{end.kind}: {end.sentence}\n{end.send}", file=talk)
    if done.trouble:
        fix = "free some space, or name another place with --out; what was found is above"
        print_progress(f"bitgate: {path}: {done.trouble}: {fix}")
        return 2
    print(f"{path}  {done.size / 2**20:.2f} MiB  {len(bundle.names)} files  {seconds:.0f} s", file=talk)
    return end.code


def doctor(tell: Callable[[str], None], *, target: str, project: Any) -> StepAnswer:
    """Run ``bitgate doctor`` in a child, and check that it finds the target."""
    from bitgate.core.targets import runs_on
    from bitgate.runtime.doctor import report

    if is_emulated(target):
        where = named(target)
        found = report()
        return StepAnswer(where.device_name, files={"doctor.json": json.dumps(found, indent=1)})
    found = report()
    rows = [row for row in found["targets"] if runs_on(target, row["name"])]
    names = ", ".join(dict.fromkeys(row["name"] for row in found["targets"]))
    if not rows:
        wrong = f"{target} is not on this machine (found: {names})"
    else:
        wrong = "" if rows[0]["runs"] else f"{rows[0]['why']}: {rows[0]['fix']}"
    tools = ", ".join(entry["detail"] for entry in found["toolchains"] if entry["found"])
    detail = {"present": bool(rows), "targets": names}
    files = {"doctor.json": json.dumps(found, indent=1)}
    return StepAnswer(f"{rows[0]['detail'] if rows else ''}; {tools}", wrong, detail, files)


def best(tell: Callable[[str], None], *, target: str, project: Any) -> StepAnswer:
    """Return, in a child, the first target present: a GPU, able or not, before the host."""
    from bitgate.runtime.targets import present

    return StepAnswer(present()[0].name)


def _best(project: Project) -> str:
    """Ask for the best target in a child, since a driver may hang. Raises UsageError if it does."""
    arguments = {"target": "", "project": project.as_json()}
    found, _ = taken(STEPS[0], BEST, arguments, print_progress)
    if found.result is StepResult.RED:
        raise UsageError(f"the GPU of this machine cannot be determined ({found.sentence}): name one with --target")
    return found.sentence
