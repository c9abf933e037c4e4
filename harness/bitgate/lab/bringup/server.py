"""The child in which a step of first contact is taken: whatever it does there is that step's finding."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build import BuildError
from bitgate.kernel.user_operation import add_here
from bitgate.lab.bringup.finding import BringupStep, FaultDomain, StepFinding, StepResult
from bitgate.worker.channel import Channel
from bitgate.worker.child import Worker, WorkerDied

ENTRY = f"{__name__}:serve"

SAID = 4000
"""Characters kept of what a step's libraries print."""


@dataclass(frozen=True)
class StepAnswer:
    """Of a step's function: ``wrong`` is empty if all is well. ``files`` go into the bundle, by name."""

    sentence: str
    wrong: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def serve(channel: Channel) -> None:
    """Call the function that is named, ``module:function``, with what is to be told of its progress."""
    while (question := channel.next()) is not None:
        module, _, name = question["do"].partition(":")
        try:
            add_here(Project.from_json(question["with"]["project"]).operation_files)
            take: Callable[..., StepAnswer] = getattr(import_module(module), name)
            answer = take(lambda line: channel.note({"progress": line}), **question["with"])
            channel.answer(dict(vars(answer)))
        except BuildError as error:
            channel.answer(_failed(str(error), error.output))
        except UsageError as error:
            channel.answer(_failed(str(error), ""))
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            channel.answer(_failed(f"{type(error).__name__}: {said}", traceback.format_exc()))


def _failed(wrong: str, output: str) -> dict[str, Any]:
    files = {"error.txt": output} if output else {}
    return dict(vars(StepAnswer("", wrong, files=files)))


def taken(
    step: BringupStep, do: str, arguments: Mapping[str, Any], tell: Callable[[str], None]
) -> tuple[StepFinding, Mapping[str, str]]:
    """The finding of a step that one function takes, and the texts that it leaves for the bundle."""
    printed = bytearray()

    def hear(note: Any) -> None:
        if isinstance(note, dict) and "progress" in note:
            tell(str(note["progress"]))

    child = Worker(ENTRY, printed.extend)
    try:
        answer = child.ask({"do": do, "with": dict(arguments)}, step.seconds, hear)
        wrong, sentence = str(answer["wrong"]), str(answer["sentence"])
        detail, files = dict(answer["detail"]), {str(name): str(text) for name, text in answer["files"].items()}
    except WorkerDied as ended:
        wrong, sentence, detail, files = ended.reason, "", {}, {}
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        wrong, sentence, detail, files = f"its process answered gibberish: {error}", "", {}, {}
    finally:
        child.end()
    if printed:
        files["output.txt"] = printed[-SAID:].decode(errors="replace")
    if wrong:
        blames: FaultDomain | None = step.blames
        finding = StepFinding(step.name, StepResult.RED, _one_line(wrong), blames=blames, detail=detail)
    else:
        finding = StepFinding(step.name, StepResult.GREEN, _one_line(sentence), detail=detail)
    return finding, files


def _one_line(text: str) -> str:
    return " ".join(text.split())[:1000]
