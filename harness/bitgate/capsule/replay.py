"""Runs a capsule on a device that is here: the code object on its own GPU, the library's kernels elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.capsule.folder import Capsule
from bitgate.capsule.library_symbols import LibrarySymbols
from bitgate.capsule.manifest import BufferSpec, Manifest
from bitgate.capsule.memory import Bytes, image
from bitgate.capsule.modules import ModulePlayer
from bitgate.capsule.playing import LibraryPlayer, Playback, Player, play
from bitgate.capsule.tolerance import restored
from bitgate.device.loaded import mapped_runtimes
from bitgate.device.targets import Target, named, present
from bitgate.errors import UsageError
from bitgate.exact.digest import digest
from bitgate.kernel.arguments import find_instance
from bitgate.kernel.declaration import wave_sizes
from bitgate.kernel.runner import Conduct
from bitgate.operation import Problem, ProblemError, parse_case_id
from bitgate.operation.host_tensor import HostTensor
from bitgate.project import Project
from bitgate.verify.judgement import Judgement, Question
from bitgate.verify.session import Reference, Session


@dataclass(frozen=True)
class Replayed:
    target: Target
    answer: Judgement


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
    question = question_of(capsule)
    images = _images(capsule, question)
    session = Session(where, project=project)
    family = session.family(manifest.family)
    tile = find_instance(family, manifest.instance).tile
    question = replace(question, tile=tile, rules=session.rules)

    def played(player: Player, conduct: Conduct) -> Replayed:
        playback = Playback(session.device, player, manifest.steps, family, conduct)
        return Replayed(where, play(playback, manifest.buffers, images, question))

    if where.platform == "amd":
        _ = session.device  # the runtime that modules are loaded by
        with ModulePlayer(mapped_runtimes()[0], capsule.folder) as modules:
            return played(modules, Conduct())
    library = session.library(manifest.family)
    return played(LibraryPlayer(LibrarySymbols(library.path)), library.conduct)


def _target(manifest: Manifest, name: str | None) -> Target:
    """AMD's own code object runs on its own target only."""
    if name is None:
        here = {target.name: target for target in present()}
        own = here.get(manifest.target)
        return own if own is not None and not own.obstacle else here["host"]
    target = named(name)
    if target.platform == "amd" and target.name != manifest.target:
        raise UsageError(f"the capsule's code is for {manifest.target}, not {name}: write one for {name}")
    return target


def question_of(capsule: Capsule) -> Question:
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
    judge = restored(expected.tolerance, reference, capsule.array)
    judges = {} if judge is None else {problem.result: judge}
    held_to = Reference({problem.result: reference}, expected.reference, expected.digest, judges)
    return Question(problem, inputs, held_to, None)


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
