"""The child in which a step of bring-up is taken: whatever it does there is that step's finding."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from msgspec import Struct

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build import BuildError
from bitgate.kernel.user_operation import add_here
from bitgate.lab.bringup.finding import BringupStep, FaultDomain, StepFinding, StepResult
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker, WorkerDied

ENTRY = f"{__name__}:serve"

SAID = 4000
"""Characters kept of what a step's libraries print."""


class StepAnswer(Struct):
    """The answer of a step's function: ``wrong`` is empty if all is well. ``files`` go into the bundle, by name."""

    sentence: str
    wrong: str = ""
    detail: Mapping[str, Any] = {}
    files: Mapping[str, str] = {}


class TakeStep(Message):
    """A question for the step that the function ``do``, ``module:function``, takes with these arguments."""

    do: str
    arguments: dict[str, Any]


def serve(channel: Channel) -> None:
    """Call the functions that are named; the first argument reports progress."""

    def take(step: TakeStep) -> StepAnswer:
        module, _, name = step.do.partition(":")
        try:
            add_here(Project.from_json(step.arguments["project"]).operation_files)
            function: Callable[..., StepAnswer] = getattr(import_module(module), name)
            return function(lambda line: channel.note({"progress": line}), **step.arguments)
        except BuildError as error:
            return _failed(str(error), error.output)
        except UsageError as error:
            return _failed(str(error), "")
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            return _failed(f"{type(error).__name__}: {said}", traceback.format_exc())

    serving.serve(channel, {TakeStep: take})


def _failed(wrong: str, output: str) -> StepAnswer:
    return StepAnswer("", wrong, files={"error.txt": output} if output else {})


def taken(
    step: BringupStep, do: str, arguments: Mapping[str, Any], tell: Callable[[str], None]
) -> tuple[StepFinding, Mapping[str, str]]:
    """Return the finding of a step that one function takes, and the texts that it leaves for the bundle."""
    printed = bytearray()

    def hear(note: Any) -> None:
        if isinstance(note, dict) and "progress" in note:
            tell(str(note["progress"]))

    try:
        under, environment = emulation.started()
        with Worker(ENTRY, printed.extend, under=under, environment=environment) as worker:
            answer: StepAnswer = worker.ask(TakeStep(do, dict(arguments)), step.seconds, hear, into=StepAnswer)
    except WorkerDied as ended:
        answer = StepAnswer("", ended.reason)
    except RuntimeError as error:
        answer = StepAnswer("", f"its process answered gibberish: {error}")
    files = dict(answer.files)
    if printed:
        files["output.txt"] = printed[-SAID:].decode(errors="replace")
    if not answer.wrong:
        return StepFinding(step.name, StepResult.GREEN, _one_line(answer.sentence), detail=answer.detail), files
    blames: FaultDomain | None = step.blames
    wrong = _one_line(answer.wrong)
    return StepFinding(step.name, StepResult.RED, wrong, blames=blames, detail=answer.detail), files


def _one_line(text: str) -> str:
    return " ".join(text.split())[:1000]
