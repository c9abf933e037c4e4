"""Capsules of a run's red cases, as many as a budget of bytes holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import target_id
from bitgate.model import parse_case_id
from bitgate.model.problem import held_bytes
from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.render import read_run
from bitgate.tools.capsule.client import ask
from bitgate.tools.capsule.server import WriteCapsule

FOLDER = "capsules"
"""The folder of the capsules, in that of the run."""

MOST = 100
"""The number of capsules of a run; a run in which all is red needs no more."""

SECONDS = 120.0
"""Seconds that writing a capsule may take: a kernel that hangs does so here too."""

LAUNCHED = frozenset({Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED, Outcome.CRASHED, Outcome.HUNG})
"""Outcomes of cases that a capsule can hold: a kernel was launched."""


@dataclass
class RedCapsules:
    """The capsules that were written, their bytes, and why others were not, by case."""

    folder: Path
    bytes: int = 0
    written: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        first = next(iter(self.left_out.items()), None)
        rest = f"; left out: {len(self.left_out)}, the first {first[0]}: {first[1]}" if first else ""
        return f"{len(self.written)} capsules of red cases in {self.folder} ({self.bytes} bytes){rest}"


def write_capsules(run: Path, project: Project, budget: int) -> RedCapsules:
    """Write a capsule of each red case of a run's folder, in the order of its plan, within ``budget`` bytes."""
    made = RedCapsules(run / FOLDER)
    rmtree(made.folder, ignore_errors=True)
    for verdict in _reds(run):
        name = _name(verdict)
        if why := _written(verdict, project, made.folder / name, budget - made.bytes, len(made.written)):
            made.left_out[name] = why
            rmtree(made.folder / name, ignore_errors=True)
        else:
            made.written.append(name)
            made.bytes += _size(made.folder / name)
    return made


def _reds(run: Path) -> Iterator[Verdict]:
    for ledger in read_run(run).ledgers:
        for entry in ledger.entries:
            if not entry.verdict.green and entry.verdict.outcome in LAUNCHED:
                yield entry.verdict


def _written(verdict: Verdict, project: Project, folder: Path, room: int, count: int) -> str:
    """Write one capsule; return why there is none, empty if it is written."""
    key = verdict.key
    over = f"it does not fit into the {room} bytes that are left"
    problem = parse_case_id(key.case)
    if count == MOST:
        return f"a run has {MOST} capsules at most"
    if held_bytes(problem) > room:
        return over
    question = WriteCapsule(
        case=key.case,
        target=key.target,
        kernel=f"{key.kernel}.{key.instance}",
        options=tuple(key.options),
        fill=key.fill,
        seed=key.seed,
        project=project.as_json(),
        out=str(folder),
        standalone=target_id(key.target).platform != "amd",
    )
    try:
        answer = ask(question, SECONDS)
    except (UsageError, RuntimeError) as error:
        return str(error)
    if "defect" in answer:
        return str(answer["defect"]).removeprefix("bitgate: ").splitlines()[-1]
    return over if _size(folder) > room else ""


def _name(verdict: Verdict) -> str:
    """Return the id of the verdict's test, which is a file's name too."""
    key = verdict.key
    _, bracket, found = verdict.test.rpartition("[")
    return found.removesuffix("]") if bracket else f"{key.case}__{key.kernel}_{key.instance}__{key.fill}"


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
