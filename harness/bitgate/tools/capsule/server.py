"""The child in which capsules are written and replayed: both run kernels, a replay those of somebody else."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build import BuildError
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.user_operation import add_here
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome
from bitgate.tools.capsule.folder import open_capsule
from bitgate.tools.capsule.manifest import CapsuleDefect, Manifest
from bitgate.tools.capsule.replay import replay
from bitgate.tools.capsule.standalone import write_standalone
from bitgate.tools.capsule.writing import CapsuleRequest, write
from bitgate.worker.channel import Channel

ENTRY = f"{__name__}:serve"


def serve(channel: Channel) -> None:
    """Answer with the JSON document of the command, or ``{"defect": text}``: exit code 1 without a document."""
    while (question := channel.next()) is not None:
        try:
            add_here(Project.from_json(question["project"]).operation_files)
            channel.answer(_ANSWERS[question["ask"]](question))
        except BuildError as error:
            channel.answer({"defect": f"{error.output}\n{error}".lstrip()})
        except (CapsuleDefect, LibraryError) as error:
            channel.answer({"defect": f"bitgate: {error}"})
        except UsageError as error:
            channel.usage(str(error))
        except Exception:
            channel.error(traceback.format_exc())


def _order(question: dict[str, Any]) -> CapsuleRequest:
    return CapsuleRequest(
        parse_case_id(question["case"]),
        question["target"],
        question["kernel"],
        tuple((name, value) for name, value in question["options"]),
        question["fill"],
        question["seed"],
        Project.from_json(question["project"]),
    )


def _standalone(question: dict[str, Any]) -> dict[str, Any]:
    made = write_standalone(_order(question), Path(question["out"]))
    return {
        "folder": question["out"],
        "case": made.case,
        "kernel": made.kernel,
        "target": made.target,
        "names": list(made.names),
        "files": {name: len(data) for name, data in made.files.items()},
        "others": list(made.others),
    }


def _written(question: dict[str, Any]) -> dict[str, Any]:
    written = write(_order(question), Path(question["out"]))
    manifest = written.manifest
    return {
        **_named(question["out"], manifest),
        "target": manifest.target,
        "wave_size": manifest.wave_size,
        "steps": [type(step).__struct_config__.tag for step in manifest.steps],
        "names": [step.name for step in manifest.steps],
        "digest": manifest.digest,
        "host_run": manifest.host_run,
        "others": list(written.others),
    }


def _replayed(question: dict[str, Any]) -> dict[str, Any]:
    capsule = open_capsule(Path(question["folder"]))
    done = replay(capsule, question["target"], Project.from_json(question["project"]))
    manifest, answer = capsule.manifest, done.answer
    diagnosis = answer.diagnosis
    return {
        **_named(question["folder"], manifest),
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


_ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "write": _written,
    "standalone": _standalone,
    "replay": _replayed,
}
