"""The trial of a submission, in a child: whether its file loads, and what it gives where a length is zero."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable, shown
from bitgate.kernel.python_callable import load_function
from bitgate.tools.judge.conventions import Module, is_tensor, tensor_of, to_numpy, type_of
from bitgate.tools.judge.submission import device_of, start_runtime
from bitgate.tools.judge.survey import cells_of
from bitgate.verify.output_limit import OutputLimit, to_stderr
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import enter
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker, WorkerDied

ENTRY = f"{__name__}:serve"
LOAD_SECONDS, COMPILE_SECONDS = 120.0, 300.0
RUNTIMES = ("torch", "triton", "cupy", "jax", "numba")
"""Modules that a submission may need and this environment lack: no fault of the submission."""
CLOSE = 2.0**-6
"""The share by which a cell may be off where there are no terms to sum."""


def load_seconds(platform: str) -> float:
    """Return how long a submission may take to load: on a GPU it may compile C++ (``load_inline``)."""
    return LOAD_SECONDS if platform == "host" else COMPILE_SECONDS


class TrySubmission(Message):
    """A question whether a file loads: the answer is why not, and the module that is not installed."""

    file: str
    name: str
    platform: str


class CallSubmission(Message):
    """A question for the outputs of a task's inputs of these shapes by place; ``outputs`` are the shapes of buffers."""

    file: str
    name: str
    facts: dict[str, Any]
    shapes: list[tuple[int, list[int]]]
    outputs: list[list[int]]
    seed: int
    platform: str


def serve(channel: Channel) -> None:
    """Answer for one submission."""
    enter()
    give_up_reaching()
    serving.serve(channel, {TrySubmission: _load, CallSubmission: _call})


def _load(asked: TrySubmission) -> dict[str, str]:
    with redirect_stdout(sys.stderr):
        try:
            start_runtime(asked.platform)
            load_function(Path(asked.file), asked.name)
        except ModuleNotFoundError as error:
            return {"why": f"ModuleNotFoundError: {shown(error)}", "module": str(error.name)}
        except BaseException as error:
            return {"why": f"{type(error).__name__}: {shown(error)}", "module": ""}
    return {"why": "", "module": ""}


def _call(asked: CallSubmission) -> dict[str, Any]:
    facts, shapes = asked.facts, dict(asked.shapes)
    with redirect_stdout(sys.stderr):
        try:
            made, device = load_function(Path(asked.file), asked.name), device_of(asked.platform)
            torch, inputs, buffers = bool(facts["torch"]), list[Any](), list[Any]()
            for place, one in enumerate(facts["inputs"]):
                if "role" in one:
                    cells = cells_of(one, tuple(shapes[place]), "decimal", asked.seed)
                    inputs.append(tensor_of(np.asarray(cells), one["given"], torch, device))
                elif "buffer" in one:
                    given = facts["outputs"][one["buffer"]]["given"]
                    buffers.append(tensor_of(np.zeros(asked.outputs[one["buffer"]]), given, torch, device))
                    inputs.append(buffers[-1])
                else:
                    inputs.append(one["constant"])
            reals = [one["given"] for one in facts["inputs"] if "float" in one.get("given", "")]
            module = Module(made, facts["init"], facts["packing"], torch, device)
            outputs = module(inputs, reals[0] if reals else "float32")
            outputs = buffers if buffers and outputs[0] is None else outputs
        except BaseException as error:
            return {"raised": f"{type(error).__name__}: {shown(error)}"}
    if not all(map(is_tensor, outputs)):
        return {"raised": f"it returned {shown(outputs)}: return tensors"}
    return {
        "types": [type_of(one) for one in outputs],
        "shapes": [list(one.shape) for one in outputs],
        "cells": [
            [float(cell) for cell in to_numpy(one).ravel()] if list(one.shape) in asked.outputs else []
            for one in outputs
        ],
    }


class SubmissionTrial:
    """The child in which a submission is tried. Its answers are claims: each is compared here."""

    def __init__(self, file: Path, name: str, seconds: float, platform: str) -> None:
        self._file, self._name, self._seconds, self._platform = str(file), name, seconds, platform
        self._worker = Worker(ENTRY, OutputLimit(to_stderr))

    def end(self) -> None:
        self._worker.end()

    def why_not_loaded(self) -> str:
        """Return why the file does not load; empty if it does. UsageError for a runtime that is not installed here."""
        try:
            said = self._worker.ask(
                TrySubmission(self._file, self._name, self._platform), max(load_seconds(self._platform), self._seconds)
            )
        except WorkerDied as ended:
            return f"its file does not load: {_reason(ended)}"
        if said["module"] in RUNTIMES:
            raise UsageError(f"{self._file}: needs the module {said['module']}, which is not installed here")
        return f"its file does not load: {printable(str(said['why']))}" if said["why"] else ""

    def of_zero_length(self, facts: Mapping[str, Any], problem: Mapping[str, Any], seed: int) -> str:
        """Return what is wrong with the outputs of a problem with a length of zero; empty if nothing is."""
        try:
            said = self._worker.ask(
                CallSubmission(
                    self._file,
                    self._name,
                    dict(facts),
                    problem["shapes"],
                    problem["outputs"],
                    seed,
                    self._platform,
                ),
                self._seconds,
            )
        except WorkerDied as ended:
            return _reason(ended)
        if "raised" in said:
            return printable(str(said["raised"]))
        for place, (lengths, cells) in enumerate(zip(problem["outputs"], problem["cells"], strict=True)):
            kind = facts["outputs"][place]["given"]
            if place >= len(said["shapes"]) or (said["shapes"][place], said["types"][place]) != (lengths, kind):
                found = ", ".join(f"{one} of {shape}" for one, shape in zip(said["types"], said["shapes"], strict=True))
                return f"it returned {shown(found) or 'nothing'}: output {place} is {kind} of {lengths}"
            for right, cell in zip(cells, said["cells"][place], strict=True):
                if right is not None and not (cell is not None and abs(cell - right) <= CLOSE * (1 + abs(right))):
                    return f"a cell of output {place} is {cell} instead of {right}"
        return ""


def _reason(ended: WorkerDied) -> str:
    return printable(ended.reason.replace("verdict", "answer"))
