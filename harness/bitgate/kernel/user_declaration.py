"""A user's declaration: its code runs in a child (user_declaration_server.py), and what it says is data here.

``UserFamily`` is the family as data, with ``supports`` and ``dispatch`` that ask the child.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Option, Refusal
from bitgate.kernel.errors import DeclarationFailed
from bitgate.kernel.predicates import checked_answer
from bitgate.kernel.runner import Runner
from bitgate.kernel.source import DeviceSource
from bitgate.model import DTYPES, Accumulation, Problem, case_id
from bitgate.model.registry import places
from bitgate.worker.kept import USER_WORKERS
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker, WorkerDied

LOAD_SECONDS = 60.0
ANSWER_SECONDS = 20.0

SERVER = "bitgate.kernel.user_declaration_server"


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
        self._worker = Worker(
            f"{SERVER}:serve", _to_stderr, opening=opening, opening_seconds=LOAD_SECONDS, preload=(SERVER,)
        )
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
        USER_WORKERS.keep(self._worker)
        try:
            return ask()
        except UsageError as error:  # one that its own code raises may name no file
            is_named = str(self._path.parent) in str(error)
            raise DeclarationFailed(str(error) if is_named else f"{self._path}: {error}") from None
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
