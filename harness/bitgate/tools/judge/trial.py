"""The trial of a submission, in a child: whether its file loads, and what it gives where a length is zero."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from bitgate.core.errors import UsageError, raised
from bitgate.core.untrusted import printable, shown
from bitgate.kernel.python_callable import load_function
from bitgate.tools.judge.conventions import Module, check_bools, is_tensor, tensor_of, to_numpy, type_of
from bitgate.tools.judge.data import cells_of
from bitgate.tools.judge.submission import device_of, start_runtime
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
Answer = TypeVar("Answer")


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


class LoadedSubmission(Struct):
    """The reason that a file does not load, and the module that is missing; both are empty if it does."""

    why: str = ""
    module: str = ""


class CalledOutput(Struct):
    """An output; without cells where its shape is another one than is asked for."""

    type: str
    shape: list[int]
    cells: list[float | None]


class CalledSubmission(Struct):
    """The outputs of a submission, or what it raised."""

    outputs: list[CalledOutput] = []
    raised: str = ""


def serve(channel: Channel) -> None:
    """Answer for one submission."""
    enter()
    give_up_reaching()
    serving.serve(channel, {TrySubmission: _load, CallSubmission: _call})


def _load(asked: TrySubmission) -> LoadedSubmission:
    with redirect_stdout(sys.stderr):
        try:
            start_runtime(asked.platform)
            load_function(Path(asked.file), asked.name, is_foreign=True)
        except ModuleNotFoundError as error:
            return LoadedSubmission(f"ModuleNotFoundError: {shown(error)}", str(error.name))
        except BaseException as error:
            return LoadedSubmission(f"{shown(raised(error))}")
    return LoadedSubmission()


def _call(asked: CallSubmission) -> CalledSubmission:
    facts, shapes = asked.facts, dict(asked.shapes)
    with redirect_stdout(sys.stderr):
        try:
            made, device = load_function(Path(asked.file), asked.name, is_foreign=True), device_of(asked.platform)
            torch, inputs, written = bool(facts["torch"]), list[Any](), dict[int, Any]()
            for place, one in enumerate(facts["inputs"]):
                if "role" in one:
                    cells = cells_of(one, tuple(shapes[place]), "decimal", asked.seed)
                    inputs.append(tensor_of(np.asarray(cells), one["given"], torch, device))
                    if "updates" in one:
                        written[one["updates"]] = inputs[-1]
                elif "buffer" in one:
                    given = facts["outputs"][one["buffer"]]["given"]
                    inputs.append(tensor_of(np.zeros(asked.outputs[one["buffer"]]), given, torch, device))
                    written[one["buffer"]] = inputs[-1]
                else:
                    inputs.append(one["constant"])
            reals = [one["given"] for one in facts["inputs"] if "float" in one.get("given", "")]
            module = Module(made, facts["init"], facts["packing"], torch, device)
            outputs = module(inputs, reals[0] if reals else "float32")
            outputs = [written[number] for number in sorted(written)] if written and outputs[0] is None else outputs
            for one in filter(is_tensor, outputs):
                check_bools(one)
        except BaseException as error:
            return CalledSubmission(raised=f"{shown(raised(error))}")
    if not all(map(is_tensor, outputs)):
        return CalledSubmission(raised=f"it returned {shown(outputs)}: return tensors")
    return CalledSubmission([_output(one, asked.outputs) for one in outputs])


def _output(one: Any, wanted: list[list[int]]) -> CalledOutput:
    shape = list(one.shape)
    cells = [float(cell) for cell in to_numpy(one).ravel()] if shape in wanted else []
    return CalledOutput(type_of(one), shape, list(cells))


class SubmissionTrial:
    """The child in which a submission is tried. Its answers are claims: each is compared here."""

    def __init__(self, file: Path, name: str, seconds: float, platform: str) -> None:
        self._file, self._name, self._seconds, self._platform = str(file), name, seconds, platform
        self._worker = Worker(ENTRY, OutputLimit(to_stderr), preload=(__name__,))

    def end(self) -> None:
        self._worker.end()

    def why_not_loaded(self) -> str:
        """Return why the file does not load; empty if it does. UsageError for a runtime that is not installed here."""
        asked = TrySubmission(self._file, self._name, self._platform)
        try:
            said = self._answer(asked, max(load_seconds(self._platform), self._seconds), LoadedSubmission)
        except WorkerDied as ended:
            return f"its file does not load: {_reason(ended)}"
        if said.module in RUNTIMES and find_spec(said.module) is None:
            raise UsageError(f"{self._file}: needs the module {said.module}, which is not installed here")
        return f"its file does not load: {printable(said.why)}" if said.why else ""

    def of_zero_length(self, facts: Mapping[str, Any], problem: Mapping[str, Any], seed: int) -> str:
        """Return what is wrong with the outputs of a problem with a length of zero; empty if nothing is."""
        shapes, outputs = problem["shapes"], problem["outputs"]
        asked = CallSubmission(self._file, self._name, dict(facts), shapes, outputs, seed, self._platform)
        try:
            said = self._answer(asked, self._seconds, CalledSubmission)
        except WorkerDied as ended:
            return _reason(ended)
        if said.raised:
            return printable(said.raised)
        for place, (lengths, cells) in enumerate(zip(outputs, problem["cells"], strict=True)):
            kind = facts["outputs"][place]["given"]
            given = said.outputs[place] if place < len(said.outputs) else None
            if given is None or (given.shape, given.type) != (lengths, kind):
                found = ", ".join(f"{one.type} of {one.shape}" for one in said.outputs)
                return f"it returned {shown(found) or 'nothing'}: output {place} is {kind} of {lengths}"
            if len(given.cells) != len(cells):
                return f"its process answered with {len(given.cells)} of {len(cells)} cells of output {place}"
            for right, cell in zip(cells, given.cells, strict=True):
                if right is not None and not (cell is not None and abs(cell - right) <= CLOSE * (1 + abs(right))):
                    return f"a cell of output {place} is {cell} instead of {right}"
        return ""

    def _answer(self, asked: Message, seconds: float, into: type[Answer]) -> Answer:
        """Return the child's answer. WorkerDied if there is none: errors are caught there, so one that is reported is
        the submission's own."""
        try:
            answer: Answer = self._worker.ask(asked, seconds, into=into)
            return answer
        except (UsageError, RuntimeError) as error:
            if isinstance(error, WorkerDied):
                raise
            self._worker.end()
            raise WorkerDied(f"its process answered with no result: {shown(error)}") from None


def _reason(ended: WorkerDied) -> str:
    return printable(ended.reason.replace("verdict", "answer"))
