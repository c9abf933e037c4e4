"""The result of a capsule's launches against what it expects: an outcome, and what the wrong cells have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bitgate.capsule.manifest import KernelStep, Manifest
from bitgate.capsule.memory import Bytes, Memory
from bitgate.capsule.playing import Player, play
from bitgate.device.device import Device
from bitgate.device.errors import HipError
from bitgate.diagnose import Scene, diagnose
from bitgate.exact.digest import digest
from bitgate.operation import Problem, Tensor
from bitgate.operation.host_tensor import HostTensor
from bitgate.record import Diagnosis, Outcome
from bitgate.verify.bounds import Judge
from bitgate.verify.compare import compare
from bitgate.verify.poison import poison_bits


@dataclass(frozen=True, eq=False)
class Question:
    """What a result is judged by. ``judge`` decides about cells whose bits may differ; None: no bit may."""

    problem: Problem
    inputs: Mapping[str, HostTensor]
    reference: HostTensor
    judge: Judge | None
    tile: tuple[int, int, int] | None


@dataclass(frozen=True)
class Answer:
    """``digest`` is the result's; empty if there is none, or if bits are not compared."""

    outcome: Outcome
    reason: str = ""
    digest: str = ""
    diagnosis: Diagnosis | None = None

    @property
    def words(self) -> str:
        return f"{self.outcome}: {self.reason}" if self.reason else str(self.outcome)


def tensor_of(tensor: Tensor, image: Bytes) -> HostTensor:
    """A tensor over memory as it lies on a device."""
    return HostTensor(tensor, image.view(tensor.dtype.numpy))


def judge(question: Question, image: Bytes) -> Answer:
    """The verdict on the result's memory."""
    reference = question.reference
    result = tensor_of(reference.tensor, image)
    outside = None if question.judge is None else question.judge.outside(result.logical)
    found = "" if question.judge is not None else digest(result)
    if _gap_was_written(result, reference):
        return Answer(Outcome.CORRUPTED, f"a gap between the rows of {result.tensor.name} was written", found)
    comparison = compare(result.logical, reference.logical, outside)
    if comparison.equal:
        return Answer(Outcome.PASS, digest=found)
    scene = Scene.thinned(
        question.problem,
        result.logical,
        reference.logical,
        outside=outside,
        poison=poison_bits(reference.tensor.dtype),
        inputs={name: tensor.logical for name, tensor in question.inputs.items()},
        tile=question.tile,
    )
    diagnosis = diagnose(scene)
    evidence = {**diagnosis.evidence, "first_wrong_cells": comparison.rows()}
    return Answer(Outcome.MISMATCH, diagnosis.sentence, found, replace(diagnosis, evidence=evidence))


def _gap_was_written(result: HostTensor, reference: HostTensor) -> bool:
    rest = HostTensor(result.tensor, result.storage.copy())
    rest.bits[...] = reference.bits
    return rest.storage.tobytes() != reference.storage.tobytes()


def run_and_judge(
    device: Device,
    player: Player,
    manifest: Manifest,
    images: Mapping[str, Bytes],
    question: Question,
    after: Callable[[KernelStep], None] | None = None,
) -> tuple[Answer, Bytes | None]:
    """Play the steps on fresh memory; the verdict, and the result's memory unless the kernels crashed."""
    image: Bytes | None = None
    device.clear_fault()
    memory = Memory(device, manifest.buffers, images)
    with memory:
        try:
            play(device, player, manifest.steps, memory, after)
        except HipError as error:
            fault = device.fault()
            crash = fault.text if fault is not None else str(error)
            return Answer(Outcome.CRASHED, crash), None
        image = memory.download(manifest.expected.buffer)
        memory.inspect()
    if memory.damage:
        return Answer(Outcome.CORRUPTED, memory.damage), image
    return judge(question, image), image
