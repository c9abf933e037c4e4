"""Runs a capsule on a device that is here: the code object on its own GPU, the library's kernels elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.capsule.folder import Capsule
from bitgate.capsule.judging import Answer, Question, run_and_judge
from bitgate.capsule.library_symbols import LibrarySymbols
from bitgate.capsule.manifest import BufferSpec, Manifest
from bitgate.capsule.memory import Bytes, image
from bitgate.capsule.modules import ModulePlayer
from bitgate.capsule.playing import LibraryPlayer
from bitgate.capsule.tolerance import restored
from bitgate.device.loaded import mapped_runtimes
from bitgate.device.targets import Target, named, present
from bitgate.errors import UsageError
from bitgate.exact.digest import digest
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.declaration import wave_sizes
from bitgate.operation import Problem, ProblemError, parse_case_id
from bitgate.operation.host_tensor import HostTensor
from bitgate.project import Project
from bitgate.target_id import runs_on
from bitgate.verify.session import Session


@dataclass(frozen=True)
class Replayed:
    target: Target
    answer: Answer


def replay(capsule: Capsule, target: str | None = None, project: Project | None = None) -> Replayed:
    """The verdict of a capsule on a target; by default its own if that is here, else the host.

    UsageError if the target is not here, has other waves, or the library no longer has the kernels.
    """
    manifest = capsule.manifest
    where = _target(manifest, target)
    if manifest.wave_size not in wave_sizes(where.name):
        raise UsageError(
            f"{where.name} has no waves of {manifest.wave_size} lanes, as the capsule's kernels need: replay it on host"
        )
    question = _question(capsule)
    images = _images(capsule, question)
    session = Session(where, project=project)
    family = session.family(manifest.family)
    tile = find_instance(family, manifest.instance).tile
    question = Question(question.problem, question.inputs, question.reference, question.judge, tile)
    if where.platform == "amd":
        device = session.device
        with ModulePlayer(mapped_runtimes()[0], capsule.folder) as modules:
            answer, _ = run_and_judge(device, modules, manifest, images, question)
    else:
        library = session.library(manifest.family)
        player = LibraryPlayer(LibrarySymbols(library.path))
        answer, _ = run_and_judge(session.device, player, manifest, images, question)
    return Replayed(where, answer)


def _target(manifest: Manifest, name: str | None) -> Target:
    """AMD's own code object runs where its target says only."""
    if name is None:
        here = [target for target in present() if not target.obstacle and runs_on(manifest.target, target.name)]
        return replace(here[0], name=manifest.target) if here else named("host")
    target = named(name)
    if target.platform == "amd" and not runs_on(manifest.target, target.name):
        raise UsageError(f"the capsule's code is for {manifest.target}, not {name}: write one for {name}")
    return target


def _question(capsule: Capsule) -> Question:
    manifest = capsule.manifest
    try:
        problem = parse_case_id(manifest.case)
    except ProblemError as error:
        raise UsageError(f"{capsule.folder}: {error}") from None
    inputs = {
        spec.name: _tensor(capsule, problem, spec.name, capsule.contents[spec.name])
        for spec in manifest.buffers
        if spec.role == "input" and spec.content is not None
    }
    expected = manifest.expected
    if expected.buffer != problem.result:
        raise UsageError(f"{capsule.folder}: the case writes {problem.result}, the capsule expects {expected.buffer}")
    reference = _tensor(capsule, problem, expected.buffer, capsule.array(expected.content))
    if expected.tolerance is None and digest(reference) != expected.digest:
        raise UsageError(
            f"{capsule.folder / expected.content.file} does not have the digest that the manifest states"
            f" ({expected.digest}): write the capsule again"
        )
    return Question(problem, inputs, reference, restored(expected.tolerance, reference, capsule.array), None)


def _tensor(capsule: Capsule, problem: Problem, name: str, data: NDArray[Any]) -> HostTensor:
    tensor = problem.tensors.get(name)
    if tensor is None or data.nbytes != tensor.bytes:
        raise UsageError(f"{capsule.folder}: the case has no tensor {name} of {data.nbytes} bytes")
    return HostTensor(tensor, np.ascontiguousarray(data).reshape(-1).view(tensor.dtype.numpy))


def _images(capsule: Capsule, question: Question) -> Mapping[str, Bytes]:
    def first(spec: BufferSpec) -> Bytes:
        return image(spec, capsule.contents.get(spec.name))

    missing = set(question.problem.tensors) - {spec.name for spec in capsule.manifest.buffers}
    if missing:
        raise UsageError(f"{capsule.folder}: the case's tensor {', '.join(sorted(missing))} has no buffer")
    return {spec.name: first(spec) for spec in capsule.manifest.buffers}
