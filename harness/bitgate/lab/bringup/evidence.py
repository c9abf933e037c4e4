"""Evidence for the bundle: the operating system's log, disassembly of what failed, capsules of red cases."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build.code_object import bundled
from bitgate.kernel.registry import families
from bitgate.lab.bringup.finding import RedCase
from bitgate.lab.bringup.installation import builder_of
from bitgate.lab.bringup.server import StepAnswer
from bitgate.runtime.targets import platform_of
from bitgate.tools.capsule.server import ENTRY, WriteCapsule
from bitgate.worker.worker import Worker, WorkerDied

LOG_LINES = 200
_LOG = re.compile(r"(?i)amdgpu|kfd|nvidia|nvrm")
LOG_COMMANDS = (("dmesg",), ("journalctl", "-k", "--no-pager", "-n", "20000"))
LOG_SECONDS = 20

MOST_CAPSULES = 5
CAPSULE_SECONDS = 180.0
MOST_DISASSEMBLIES = 3
LONGEST_DISASSEMBLY = 2 << 20

_OBJDUMPS = {
    "host": (("objdump", "llvm-objdump"), ("-d", "-C", "--no-show-raw-insn")),
    "amd": (("llvm-objdump", *(f"llvm-objdump-{major}" for major in range(23, 14, -1))), ("-d", "-C")),
    "nvidia": (("cuobjdump",), ("-sass",)),
}
_FOLDERS = ("/opt/rocm/llvm/bin", "/opt/rocm/bin", "/usr/local/cuda/bin")

Report = Callable[[str], None]


def kernel_log() -> str:
    """Return the last lines of the operating system's log about GPUs, or why there are none."""
    refusals = []
    for command in LOG_COMMANDS:
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LOG_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            refusals.append(f"{command[0]}: {getattr(error, 'strerror', '') or 'no answer'}")
            continue
        lines = done.stdout.splitlines()
        if done.returncode == 0 and lines and lines != ["-- No entries --"]:
            found = [line for line in lines if _LOG.search(line)][-LOG_LINES:]
            return "\n".join(found) + "\n" if found else f"{command[0]}: {len(lines)} lines, none of them of a GPU\n"
        refusals.append(f"{command[0]}: {' '.join(done.stderr.split())[:200] or 'nothing to read'}")
    return f"the kernel's log cannot be read: {'; '.join(refusals)}\n"


def chosen(reds: Iterable[RedCase], most: int) -> list[RedCase]:
    """Choose red cases: one of each kernel first, smaller cases before larger ones."""
    ordered = sorted(reds, key=lambda red: len(str(red.event.get("case"))))
    first: dict[str, RedCase] = {}
    for red in ordered:
        first.setdefault(red.kernel, red)
    rest = [red for red in ordered if red not in first.values()]
    return [*first.values(), *rest][:most]


def disassembly(report: Report, *, target: str, project: Any, kernel: str) -> StepAnswer:
    """Disassemble one instance, ``family.instance``, in a child."""
    name, _, instance = kernel.partition(".")
    family = families(Project.from_json(project), target, here=True)[name]
    group = next((one.group for one in family.instances if one.name == instance), "")
    if not family.sources or family.opens is not None:
        return StepAnswer("", f"{name} is not made from sources")
    program, flags = _objdump(platform_of(target))
    # Build a library of that instance alone: its units are compiled already, and the rest is irrelevant.
    library = builder_of(target, report).family(family.only(group) if group else family)
    with tempfile.TemporaryDirectory() as folder:
        texts = [_run([program, *flags, str(path)]) for path in _objects(library, target, Path(folder))]
    text = "\n".join(texts)
    cut = text[:LONGEST_DISASSEMBLY] + ("\n... cut\n" if len(text) > LONGEST_DISASSEMBLY else "")
    return StepAnswer(f"{kernel}: {text.count(chr(10))} lines", files={f"{kernel}.s": cut})


def _objects(library: Path, target: str, folder: Path) -> list[Path]:
    if platform_of(target) != "amd":
        return [library]
    found = []
    for number, data in enumerate(bundled(library.read_bytes(), target)):
        path = folder / f"{number}.co"
        path.write_bytes(data)
        found.append(path)
    return found


def _objdump(platform: str) -> tuple[str, Sequence[str]]:
    names, flags = _OBJDUMPS[platform]
    path = os.pathsep.join((os.environ.get("PATH", ""), *_FOLDERS))
    for name in names:
        if found := shutil.which(name, path=path):
            return found, flags
    raise UsageError(f"no disassembler ({', '.join(names[:2])})")


def _run(command: Sequence[str]) -> str:
    """Return as much of the program's output as is kept."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        data = process.stdout.read(LONGEST_DISASSEMBLY + 1)
        process.kill()
    return data.decode(errors="replace")


def seed_of(red: RedCase) -> int:
    """Return the seed of the data on which a case is wrong, which may differ from the case's seed."""
    diagnosis = red.event.get("diagnosis")
    return int((diagnosis["evidence"] if diagnosis else {}).get("seed", red.event["seed"]))


def write_capsule(red: RedCase, target: str, project: Project, out: Path) -> str:
    """Write a capsule to ``out``, and return why there is none, or an empty text.

    Where no gfx code object is possible it is one file for hipcc or nvcc.
    """
    event: Mapping[str, Any] = red.event
    request = WriteCapsule(
        case=event["case"],
        target=target,
        kernel=red.kernel,
        options=tuple(sorted(dict(event.get("options") or {}).items())),
        fill=event["fill"],
        seed=seed_of(red),
        project=project.as_json(),
        out=str(out),
        standalone=platform_of(target) != "amd",
    )
    try:
        with Worker(ENTRY, lambda data: None) as child:
            answer = child.ask(request, CAPSULE_SECONDS)
    except (UsageError, RuntimeError) as error:
        return str(error).strip().splitlines()[-1]
    except WorkerDied as ended:
        return ended.reason
    return str(answer.get("defect", "")) if isinstance(answer, dict) else "no answer"
