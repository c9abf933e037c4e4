"""The child in which capsules are written and replayed: both run kernels, and a replay those of another machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build import BuildError
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.user_operation import add_here
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.tools.capsule.export import export, export_for_host, hip_on_host
from bitgate.tools.capsule.folder import open_capsule
from bitgate.tools.capsule.manifest import CapsuleDefect, Manifest
from bitgate.tools.capsule.replay import replay
from bitgate.tools.capsule.standalone import write_standalone
from bitgate.tools.capsule.writing import CapsuleRequest, write
from bitgate.verify.session import Session
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.serving import Message

ENTRY = f"{__name__}:serve"


class WriteCapsule(Message):
    """A question for a capsule of a case; ``standalone``: as one file for hipcc or nvcc."""

    case: str
    target: str
    kernel: str | None
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    project: dict[str, Any]
    out: str
    standalone: bool = False


class ExportCapsules(Message):
    """A question for exported capsules, each in a folder of ``out`` unless it is the only one of a case."""

    requests: tuple[WriteCapsule, ...]
    host: bool


class ReplayCapsule(Message):
    folder: str
    target: str | None
    project: dict[str, Any]


def serve(channel: Channel) -> None:
    """Answer with the JSON document of the command, or ``{"defect": text}``: exit code 1 without a document."""
    handlers: dict[type[Message], Callable[..., dict[str, Any]]] = {
        WriteCapsule: _write,
        ReplayCapsule: _replayed,
        ExportCapsules: partial(_exported, channel),
    }
    serving.serve(channel, {kind: _answered(handler) for kind, handler in handlers.items()})


def _answered(make: Callable[..., dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    def handle(question: Any) -> dict[str, Any]:
        try:
            stated = question.requests[0] if isinstance(question, ExportCapsules) else question
            project = Project.from_json(stated.project)
            add_here(project.operation_files)
            return make(question, project)
        except BuildError as error:
            return {"defect": f"{error.output}\n{error}".lstrip()}
        except (CapsuleDefect, LibraryError) as error:
            return {"defect": f"bitgate: {error}"}

    return handle


def _write(question: WriteCapsule, project: Project) -> dict[str, Any]:
    problem = parse_case_id(question.case)
    wanted = CapsuleRequest(
        problem, question.target, question.kernel, question.options, question.fill, question.seed, project
    )
    return (_standalone if question.standalone else _written)(wanted, question.out)


def _exported(channel: Channel, question: ExportCapsules, project: Project) -> dict[str, Any]:
    """Write and export each capsule; one that cannot be is in the answer with the reason."""
    session, done = Session("host", project=project), list[dict[str, Any]]()
    for number, one in enumerate(question.requests, 1):
        wanted = CapsuleRequest(
            parse_case_id(one.case), one.target, one.kernel, one.options, one.fill, one.seed, project
        )
        found: dict[str, Any] = {"capsule": one.out, "case": one.case, "kernel": one.kernel or "", "target": one.target}
        try:
            written = write(wanted, Path(one.out), session)
            capsule = open_capsule(Path(one.out))
            document = export(capsule)
            found |= {"kernel": document.kernel, "host_run": written.manifest.host_run}
            found |= {"outputs": [one.buffer for one in document.expected], "files": sorted(written.files)}
            if question.host:
                export_for_host(capsule, document, session.opened.library(written.manifest.family).path)
        except (BuildError, CapsuleDefect, LibraryError, UsageError) as error:
            if isinstance(error, UsageError) and len(question.requests) == 1:
                raise
            found["defect"] = f"{getattr(error, 'output', '')}\n{error}".strip()
        done.append(found)
        channel.note({"progress": f"[{number}/{len(question.requests)}] {one.case} {found['kernel']} {one.target}"})
    return {"capsules": done, "hip": [*map(str, hip_on_host())] if question.host else []}


def _standalone(wanted: CapsuleRequest, out: str) -> dict[str, Any]:
    made = write_standalone(wanted, Path(out))
    return {
        "folder": out,
        "case": made.case,
        "kernel": made.kernel,
        "target": made.target,
        "names": list(made.names),
        "files": {name: len(data) for name, data in made.files.items()},
        "others": list(made.others),
    }


def _written(wanted: CapsuleRequest, out: str) -> dict[str, Any]:
    written = write(wanted, Path(out))
    manifest = written.manifest
    return {
        **_named(out, manifest),
        "target": manifest.target,
        "wave_size": manifest.wave_size,
        "steps": [type(step).__struct_config__.tag for step in manifest.steps],
        "names": [step.name for step in manifest.steps],
        "digest": manifest.digest,
        "host_run": manifest.host_run,
        "others": list(written.others),
    }


def _replayed(question: ReplayCapsule, project: Project) -> dict[str, Any]:
    capsule = open_capsule(Path(question.folder))
    done = replay(capsule, question.target, project)
    manifest, answer = capsule.manifest, done.answer
    diagnosis = answer.diagnosis
    return {
        **_named(question.folder, manifest),
        "of": manifest.target,
        "target": done.target.name,
        "verdict": str(answer.outcome),
        "reason": answer.reason,
        "digest": answer.digest,
        "expected_digest": manifest.digest,
        "diagnosis": None
        if diagnosis is None
        else {"kinds": list(diagnosis.kinds), "sentence": diagnosis.sentence, "evidence": diagnosis.evidence},
        "exit": 0 if answer.outcome is Outcome.PASS else 1,
    }


def _named(folder: str, manifest: Manifest) -> dict[str, str]:
    return {"capsule": folder, "case": manifest.case, "kernel": f"{manifest.family}.{manifest.instance}"}
