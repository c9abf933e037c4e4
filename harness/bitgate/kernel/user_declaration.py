"""A user's declaration: its code runs in a child, and what it says is data here.

``serve`` is the child's side: it loads the file and answers. ``UserFamily`` is the parent's: the family as data, with
``supports`` and ``dispatch`` that ask the child.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Option, Refusal
from bitgate.kernel.errors import DeclarationFailed
from bitgate.kernel.predicates import checked_answer, failure
from bitgate.kernel.runner import Runner
from bitgate.kernel.source import DeviceSource
from bitgate.kernel.user_operation import add_here
from bitgate.model import DTYPES, Accumulation, Problem, case_id, parse_case_id
from bitgate.model.registry import places
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import enter
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker, WorkerDied

LOAD_SECONDS = 60.0
ANSWER_SECONDS = 20.0

ENTRY = f"{__name__}:serve"


class LoadFamily(Message):
    """The opening: a declaration file, with the operations that it may name."""

    path: str
    operations: tuple[str, ...]


class AskPredicate(Message):
    """A question for what ``supports`` or ``dispatch`` says of a case."""

    what: Literal["supports", "dispatch", "launches"]
    case: str
    instance: str
    options: dict[str, str]


class UserFamily:
    """One declaration file in a separate child. UsageError if the file is wrong, or ends or hangs its process.

    With what another child ``declared`` of it, none is started before there is a question.
    """

    def __init__(self, path: Path, declared: Mapping[str, Any] | None = None) -> None:
        self._path = path
        opening = LoadFamily(str(path), tuple(map(str, places())))
        self._worker = Worker(ENTRY, _to_stderr, opening=opening, opening_seconds=LOAD_SECONDS, preload=(__name__,))
        self.declared = dict(declared or self._heard(self._worker.opened, "it was loaded"))
        self.family = self._read(self.declared)

    def supports(self, problem: Problem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
        answer = self._about("supports", problem, instance, options)
        try:
            return None if answer is None else Refusal(str(answer["clause"]), str(answer["text"]))
        except (TypeError, KeyError):
            raise UsageError(f"{self._path}: supports: returned {answer!r}: return None or a Refusal") from None

    def dispatch(self, problem: Problem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
        answer = self._about("dispatch", problem, instance, options)
        try:
            return None if answer is None else checked_answer(Dispatch, Dispatch(**answer), "dispatch")
        except TypeError:
            raise UsageError(f"{self._path}: dispatch: returned {answer!r}: return None or a Dispatch") from None

    def launches(self, problem: Problem, instance: Instance, options: Mapping[str, str]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._about("launches", problem, instance, options)
        return answer

    def begin(self) -> None:
        """Start the child, if none runs."""
        self._heard(self._worker.opened, "it was loaded")

    def _about(
        self,
        what: Literal["supports", "dispatch", "launches"],
        problem: Problem,
        instance: Instance,
        options: Mapping[str, str],
    ) -> Any:
        question = AskPredicate(what, case_id(problem), instance.name, dict(options))
        return self._heard(lambda: self._worker.ask(question, ANSWER_SECONDS), f"{what}({question.case}) was asked")

    def _heard(self, ask: Callable[[], Any], when: str) -> Any:
        try:
            return ask()
        except UsageError as error:
            raise DeclarationFailed(str(error)) from None
        except WorkerDied as ended:
            reason = ended.reason.replace("verdict", "answer")
            raise DeclarationFailed(f"{self._path}: while {when}: {reason}") from None

    def _read(self, said: dict[str, Any]) -> KernelFamily:
        try:
            return _family(said, self)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{self._path}: its FAMILY cannot be read: {type(error).__name__}: {error}") from None


def _to_stderr(data: bytes) -> None:
    sys.stderr.write(printable(data.decode(errors="replace")))


def serve(channel: Channel) -> None:
    """Answer for one declaration file."""
    give_up_reaching()
    enter()
    served: list[KernelFamily] = []

    def load(question: LoadFamily) -> Any:
        from bitgate.kernel.registry import load_here

        add_here(map(Path, question.operations))
        try:
            served.append(load_here(Path(question.path)))
        except Exception:
            raise
        except BaseException as error:  # sys.exit, a KeyboardInterrupt: here they can only be the user's
            raise UsageError(f"{question.path}: {type(error).__name__}: {error}") from None
        with _users_code(served[0], "family"):
            return _checked(_as_json(served[0]))

    def ask(question: AskPredicate) -> Any:
        family = served[0]
        instance = family.instance(question.instance)
        assert instance is not None
        problem = parse_case_id(question.case)
        with _users_code(family, question.what):
            if question.what == "launches":
                assert family.source is not None
                return _checked(family.source.plan(problem, instance, question.options))
            predicate = family.supports if question.what == "supports" else family.dispatch
            said = predicate(problem, instance, question.options)
            return _checked(asdict(said) if isinstance(said, (Refusal, Dispatch)) else said)

    serving.serve(channel, {LoadFamily: load, AskPredicate: ask})


@contextmanager
def _users_code(family: KernelFamily, what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into a UsageError, a sys.exit too."""
    try:
        yield
    except UsageError:
        raise
    except BaseException as error:
        raise UsageError(failure(what, error, family.folder)) from None


def _checked(said: Any) -> Any:
    """Return what can be an answer. TypeError if it cannot."""
    json.dumps(said)
    return said


def _as_json(family: KernelFamily) -> dict[str, Any]:
    return {
        "name": family.name,
        "operations": list(map(str, family.operations)),
        "sources": list(family.sources),
        "generated": dict(family.generated),
        "folder": str(family.folder),
        "platforms": list(family.platforms),
        "instances": [_instance_as_json(instance) for instance in family.instances],
        "options": [asdict(option) for option in family.options],
        "is_reference": family.is_reference,
        "is_probe": family.is_probe,
        "library": None if family.library is None else str(family.library),
        "changes": list(family.changes),
        "is_captured": family.is_captured,
        "is_opened": family.opens is not None,
        "kernels": None if family.source is None else list(family.source.kernels),
        "include_dirs": list(family.include_dirs),
        "flags": family.flags,
        "defines": dict(family.defines),
        "libraries": list(family.libraries),
    }


def _instance_as_json(instance: Instance) -> dict[str, Any]:
    stated = instance.accumulation
    contracts = {"": stated} if isinstance(stated, Accumulation) else dict(stated)
    return {
        **{name: value for name, value in vars(instance).items() if name not in ("accumulation", "operations")},
        "operations": None if instance.operations is None else list(map(str, instance.operations)),
        "accumulation": {
            dtypes: {
                "accumulator": contract.accumulator.name,
                "partial": None if contract.partial is None else contract.partial.name,
                "measured_range": contract.measured_range,
                "flushes_subnormals": contract.flushes_subnormals,
            }
            for dtypes, contract in contracts.items()
        },
    }


def _family(said: dict[str, Any], owner: UserFamily) -> KernelFamily:
    return KernelFamily(
        name=said["name"],
        operations=tuple(said["operations"]),
        sources=tuple(said["sources"]),
        generated=said["generated"],
        folder=Path(said["folder"]),
        platforms=tuple(said["platforms"]),
        instances=tuple(map(_instance, said["instances"])),
        options=tuple(Option(**{**option, "values": tuple(option["values"])}) for option in said["options"]),
        supports=owner.supports,
        dispatch=owner.dispatch,
        is_reference=said["is_reference"],
        is_probe=said["is_probe"],
        library=None if said["library"] is None else Path(said["library"]),
        changes=tuple(said["changes"]),
        is_captured=said["is_captured"],
        opens=_elsewhere if said["is_opened"] else None,
        source=None if said["kernels"] is None else UserSource(tuple(said["kernels"]), _unasked, _unasked, owner=owner),
        include_dirs=tuple(said["include_dirs"]),
        flags=_flags(said["flags"]),
        defines=said["defines"],
        libraries=tuple(said["libraries"]),
    )


@dataclass(frozen=True, eq=False)
class UserSource(DeviceSource):
    """The kernels of a user's source, whose functions a child answers for."""

    owner: UserFamily = field(kw_only=True)

    def plan(self, problem: Problem, instance: Instance, options: Mapping[str, str]) -> Mapping[str, Any]:
        return self.owner.launches(problem, instance, options)

    def begin(self) -> None:
        self.owner.begin()


def _unasked(problem: Any, instance: Instance, options: Mapping[str, str]) -> Any:
    raise AssertionError("the child answers for both functions at once: plan")


def _flags(said: Any) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    return {name: tuple(each) for name, each in said.items()} if isinstance(said, dict) else tuple(said)


def _elsewhere(family: KernelFamily, instance: Instance, options: Mapping[str, str]) -> Runner:
    raise UsageError(f"{family.folder}: its kernels are opened where kernels run, not here")


def _instance(said: dict[str, Any]) -> Instance:
    contracts = {dtypes: _contract(contract) for dtypes, contract in said["accumulation"].items()}
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    operations = None if said["operations"] is None else tuple(said["operations"])
    accumulation = contracts.get("", contracts)
    fields |= {"accumulation": accumulation, "operations": operations}
    return Instance(**fields)


def _contract(said: dict[str, Any]) -> Accumulation:
    contract = Accumulation(DTYPES[said["accumulator"]], None, said["measured_range"], said["flushes_subnormals"])
    return contract if said["partial"] is None else replace(contract, partial=DTYPES[said["partial"]])
