"""Judgement of what an exported capsule's run brought back: the capsule's own expectation, and nothing of the run's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import InvalidInput, parse_json, printable, read_bytes, safe_name, shaped
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.declaration import KernelFamily
from bitgate.model import parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.results.record import Diagnosis, Outcome
from bitgate.tools.capsule.expectation import expectation_of
from bitgate.tools.capsule.export import document_of
from bitgate.tools.capsule.export_format import EXPORT, HOST, RESULTS, Export, Results
from bitgate.tools.capsule.folder import Capsule, open_capsule
from bitgate.tools.capsule.manifest import MANIFEST, Manifest
from bitgate.verify.compare_outputs import judge_outputs
from bitgate.verify.decide import blindness
from bitgate.verify.running import LaunchConfig, LaunchResult

HOST_TARGET = "host"


@dataclass(frozen=True)
class CheckedReturn:
    """The verdict on one exported capsule; ``by`` names what ran it, ``target`` whose code that was."""

    folder: Path
    manifest: Manifest
    outcome: Outcome
    reason: str
    by: str = ""
    target: str = ""
    digest: str = ""
    diagnosis: Diagnosis | None = None
    shows: bool = True
    """False for a PASS that a kernel which only clears its results gets as well; ``reason`` says why."""


def check_returned(place: Path, families: dict[str, KernelFamily]) -> CheckedReturn:
    """Judge the results next to a capsule. UsageError for a damaged capsule or document; a run that brought nothing
    back is LOST, one that failed INFRA."""
    folder = place if place.is_dir() else place.parent
    capsule = open_capsule(folder)
    manifest = capsule.manifest
    path = place if place.is_file() else folder / RESULTS
    if not path.is_file():
        return CheckedReturn(folder, manifest, Outcome.LOST, f"no {RESULTS}: nothing has run it, or it did not end")
    try:
        results = shaped(Results, parse_json(read_bytes(path)))
    except InvalidInput as error:
        raise UsageError(f"{path}: not a results document: {error}") from None
    stated = (manifest.case, f"{manifest.family}.{manifest.instance}", manifest.target)
    if (results.case, results.kernel, results.target) != stated:
        raise UsageError(f"{path}: is of {results.case} {results.kernel} {results.target}, not of this capsule")
    by, target = printable(results.by), _target_of(capsule, results, path)
    if results.failed:
        return CheckedReturn(folder, manifest, Outcome.INFRA, printable(results.failed), by, target)
    return replace(_judged(capsule, results, folder, families), by=by, target=target)


def _target_of(capsule: Capsule, results: Results, path: Path) -> str:
    """Return whose code a run executed: the target's, or in its place the host's.

    UsageError for results of another document than those in the folder, and for a document that is not the capsule's.
    """
    folder = capsule.folder
    try:
        text = read_bytes(folder / EXPORT)
        exported = shaped(Export, parse_json(text))
    except InvalidInput as error:
        raise UsageError(f"{folder / EXPORT}: {error}: export the capsule again") from None
    if exported != document_of(capsule):
        raise UsageError(f"{folder / EXPORT}: is not of {folder / MANIFEST}: export the capsule again")
    if results.document == sha256(text).hexdigest():
        return capsule.manifest.target
    if (folder / HOST).is_file() and results.document == sha256(read_bytes(folder / HOST)).hexdigest():
        return HOST_TARGET
    raise UsageError(f"{path}: is of another {EXPORT} than that in the folder: run its loader again")


def _judged(capsule: Capsule, results: Results, folder: Path, families: dict[str, KernelFamily]) -> CheckedReturn:
    manifest, expectation = capsule.manifest, expectation_of(capsule)
    problem = parse_case_id(manifest.case)
    files = {one.buffer: one.file for one in results.outputs}
    run = LaunchResult(LaunchConfig("right", ""))
    for role in problem.outputs:
        tensor, spec = problem.tensors[role], manifest.buffer(role)
        if role not in files or spec is None:
            reason = f"{RESULTS} has no output {role}"
            return CheckedReturn(folder, manifest, Outcome.LOST, reason)
        path = folder / safe_name(files[role], f"{folder / RESULTS}: a file")
        try:
            data = read_bytes(path, spec.bytes + 1)
        except InvalidInput as error:
            raise UsageError(f"{path}: {error}") from None
        if len(data) != spec.bytes:
            raise UsageError(f"{path}: {len(data)} bytes, the buffer {role} has {spec.bytes}")
        run.outputs[role] = HostTensor(tensor, np.frombuffer(bytearray(data), np.uint8).view(tensor.dtype.numpy))
    family = families.get(manifest.family)
    if family is not None:
        expectation = replace(expectation, tile=find_instance(family, manifest.instance).tile)
    expectation.reference.hold(run)
    expectation.reference.settle(run)
    found = judge_outputs(expectation, [run])
    blind = blindness(problem, expectation.reference) if found.outcome is Outcome.PASS else ""
    judged = CheckedReturn(folder, manifest, found.outcome, blind or found.reason, shows=not blind)
    return replace(judged, digest=found.digest, diagnosis=found.diagnosis)
