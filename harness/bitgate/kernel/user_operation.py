"""A user's operation: its code runs in a child, and what it states as data is read once.

A process that plans, or writes results, reads case ids itself, by the sizes, which are data; what only code knows
(``check``, ``tensors``, a reference, a form, fills) it asks of a child, as ``supports`` of a kernel is asked, and what
is of the sizes alone it keeps. Reading ids in the child, too, would be a question for every case, thousands of them;
sizes as data make it one for each shape. The stand-in is a ``Sized`` like the user's own. Where
kernels run the file itself is loaded (``add_here``): there is nothing left to protect.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError, raised, traceback_of
from bitgate.core.untrusted import printable, shown
from bitgate.kernel.arrays import as_text, from_text
from bitgate.kernel.python_files import load_operations
from bitgate.model import DTYPES, Accumulation, Dtype, Fill, ProblemError, case_id, parse_case_id
from bitgate.model.form import Array, Form
from bitgate.model.registry import add, places
from bitgate.model.sized import Sized, SizedProblem, StatedTensor
from bitgate.model.sized.schema import Schema
from bitgate.worker import serving
from bitgate.worker.channel import Channel
from bitgate.worker.kept import USER_WORKERS
from bitgate.worker.outside import give_up_reaching
from bitgate.worker.sandbox import TASK, enter
from bitgate.worker.serving import Message
from bitgate.worker.worker import Worker, WorkerDied

LOAD_SECONDS = 60.0
ANSWER_SECONDS = 60.0
KEPT = 1 << 16
"""Answers about sizes that are kept: coverage asks about 20,000 problems, several times."""

ENTRY = f"{__name__}:serve"


def add_here(files: Iterable[Path]) -> None:
    """Load the operations of these files into this process, which is one for kernels. UsageError names the file."""
    for file in files:
        if str(file) not in places():
            for operation in load_operations(file):
                add(operation, str(file))


def add_owned(files: Iterable[Path]) -> None:
    """Make the operations of these files known, their code in a child each. UsageError names the file."""
    for file in files:
        if str(file) not in places():
            for operation in OperationChild(file).operations():
                add(operation, str(file))


class LoadOperations(Message):
    path: str


class AskOperation(Message):
    """A question for the method ``answer_<what>`` of ``OperationServer``."""

    what: str
    arguments: dict[str, Any]


class OperationChild:
    """One file in a separate child. Started again if it has ended: an answer depends on nothing but the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        opening = LoadOperations(str(path))
        self._worker = Worker(ENTRY, _to_stderr, opening=opening, opening_seconds=LOAD_SECONDS, preload=(__name__,))

    def operations(self) -> tuple[StandIn, ...]:
        try:
            return tuple(StandIn(said, self) for said in self._ask("names", {}, LOAD_SECONDS))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{self._path}: its OPERATIONS cannot be read: {type(error).__name__}: {error}") from None

    def ask(self, what: str, **question: Any) -> Any:
        """Return the answer. ProblemError if the user's code says that there is no such problem; UsageError if it
        fails."""
        said = self._ask(what, question, ANSWER_SECONDS)
        if isinstance(said, dict) and "impossible" in said:
            raise ProblemError(str(said["impossible"]))
        return said

    def _ask(self, what: str, arguments: dict[str, Any], seconds: float) -> Any:
        USER_WORKERS.keep(self._worker)
        try:
            return self._worker.ask(AskOperation(what, arguments), seconds)
        except WorkerDied as ended:
            reason = ended.reason.replace("verdict", "answer")
            when = "load" if ended.at_opening else what
            raise UsageError(f"{self._path}: while {when} was asked: {reason}") from None


class StandIn(Sized):
    """The operation as far as it is data, and the child for the rest."""

    def __init__(self, said: Mapping[str, Any], child: OperationChild) -> None:
        self.name = said["name"]
        self.schema = Schema.from_json(said["sizes"])
        self.sizes = self.schema.type
        self.is_product = said["is_product"]
        self.fills = tuple(self._fill(one) for one in said["fills"])
        self._states_form = said["states_form"]
        self._states_reference = said["states_reference"]
        self._states_bound, self._states_order = said["states_bound"], said["states_order"]
        self._child = child
        self.check = lru_cache(KEPT)(self._check if said["checks"] else lambda sizes: None)  # type: ignore[method-assign]
        self.stated_tensors = lru_cache(KEPT)(self._stated)  # type: ignore[method-assign]

    def tensors(self, sizes: Any) -> Iterable[StatedTensor]:
        return self.stated_tensors(sizes)

    def _check(self, sizes: Any) -> str | None:
        said = self._child.ask("check", operation=self.name, sizes=self.schema.plain(sizes))
        return None if said is None else str(said)

    def _stated(self, sizes: Any) -> tuple[StatedTensor, ...]:
        said = self._child.ask("tensors", operation=self.name, sizes=self.schema.plain(sizes))
        return tuple(StatedTensor(**one) for one in said)

    def reference(self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        if self.is_product and not self._states_reference:
            return super().reference(problem, inputs)
        return from_text(self._child.ask("reference", case=case_id(problem), arrays=as_text(inputs)))

    def form(self, problem: SizedProblem) -> Form | None:
        if self.is_product or not self._states_form:
            return super().form(problem)
        return _form(self._child, problem)

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, Array], accumulation: Accumulation
    ) -> Mapping[str, NDArray[np.float64]] | None:
        partial = accumulation.partial
        contract = {
            "accumulator": accumulation.accumulator.name,
            "partial": None if partial is None else partial.name,
            "measured_range": accumulation.measured_range,
            "flushes_subnormals": accumulation.flushes_subnormals,
        }
        said = self._child.ask("bound", case=case_id(problem), arrays=as_text(inputs), contract=contract)
        return None if said is None else from_text(said)

    def ordered(self, problem: SizedProblem, inputs: Mapping[str, Array], accumulator: Dtype) -> Array | None:
        if not self._states_order:
            return None
        question = {"case": case_id(problem), "arrays": as_text(inputs), "accumulator": accumulator.name}
        return from_text(self._child.ask("ordered", **question)).get("result")

    @property
    def states_order(self) -> bool:
        return bool(self._states_order)

    @property
    def states_bound(self) -> bool:
        return bool(self._states_bound)

    def _fill(self, said: Mapping[str, Any]) -> Fill:
        def make(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
            return from_text(self._child.ask("make", case=case_id(problem), fill=said["name"], seed=seed))

        return Fill(said["name"], said["reason"], make if said["makes"] else None, said["exact"])


class UserForm(Form):
    """Axes as data; the child applies it."""

    def __init__(self, child: OperationChild, case: str, said: Mapping[str, Any]) -> None:
        self._child, self._case, self._said = child, case, said

    @property
    def axes(self) -> Mapping[str, tuple[str, ...]]:
        return {role: tuple(names) for role, names in self._said["axes"]}

    @property
    def result(self) -> str:
        return str(self._said["result"])

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return from_text(self._child.ask("apply", case=self._case, arrays=as_text(arrays)))["result"]


@lru_cache(maxsize=256)
def _form(child: OperationChild, problem: SizedProblem) -> UserForm | None:
    said = child.ask("form", case=case_id(problem))
    return None if said is None else UserForm(child, case_id(problem), said)


def _to_stderr(data: bytes) -> None:
    sys.stderr.write(printable(data.decode(errors="replace")))


# ------------------------------------------------------------------------------------------------ the child's side


def serve(channel: Channel) -> None:
    """Answer for one operation file."""
    enter(TASK)
    give_up_reaching()
    served: list[OperationServer] = []

    def load(question: LoadOperations) -> None:
        with _users_code(question.path, "load"):
            served.append(OperationServer(Path(question.path)))

    def ask(question: AskOperation) -> Any:
        try:
            with _users_code(str(served[0].path), question.what):
                answer = getattr(served[0], f"answer_{question.what}")(**question.arguments)
                if not isinstance(answer, str):
                    json.dumps(answer)  # what cannot be an answer is the user's
                return answer
        except ProblemError as error:
            return {"impossible": str(error)}

    serving.serve(channel, {LoadOperations: load, AskOperation: ask})


@contextmanager
def _users_code(path: str, what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into a UsageError, a sys.exit too."""
    try:
        yield
    except (ProblemError, UsageError):
        raise
    except BaseException as error:
        raise UsageError(f"{path}: {what}: {_place(error, path)}") from None


class OperationServer:
    """The operations of a file, where it may run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._operations = {operation.name: operation for operation in load_operations(path)}
        for operation in self._operations.values():
            add(operation, str(path))

    def answer_names(self) -> list[dict[str, Any]]:
        return [
            {
                "name": one.name,
                "sizes": one.schema.as_json(),
                "is_product": one.is_product,
                "states_form": type(one).form is not Sized.form,
                "states_reference": type(one).reference is not Sized.reference,
                "states_bound": one.states_bound,
                "states_order": one.states_order,
                "checks": type(one).check is not Sized.check,
                "fills": [
                    {"name": f.name, "reason": f.reason, "exact": f.exact, "makes": f.make is not None}
                    for f in one.fills
                ],
            }
            for one in self._operations.values()
        ]

    def answer_check(self, operation: str, sizes: dict[str, Any]) -> str | None:
        one = self._operations[operation]
        return one.check(one.schema.made(sizes))

    def answer_tensors(self, operation: str, sizes: dict[str, Any]) -> list[dict[str, Any]]:
        one = self._operations[operation]
        return [asdict(tensor) for tensor in one.stated_tensors(one.schema.made(sizes))]

    def answer_reference(self, case: str, arrays: str) -> str:
        problem = self._problem(case)
        return as_text(problem.operation.reference(problem, from_text(arrays)))

    def answer_form(self, case: str) -> dict[str, Any] | None:
        problem = self._problem(case)
        form = problem.operation.form(problem)
        return None if form is None else {"axes": list(form.axes.items()), "result": form.result}

    def answer_apply(self, case: str, arrays: str) -> str:
        problem = self._problem(case)
        form = problem.operation.form(problem)
        assert form is not None
        return as_text({"result": form.apply(from_text(arrays))})

    def answer_ordered(self, case: str, arrays: str, accumulator: str) -> str:
        problem = self._problem(case)
        found = problem.operation.ordered(problem, from_text(arrays), DTYPES[accumulator])
        return as_text({} if found is None else {"result": found})

    def answer_make(self, case: str, fill: str, seed: int) -> str:
        problem = self._problem(case)
        make = next(one.make for one in problem.operation.fills if one.name == fill)
        assert make is not None
        return as_text(make(problem, seed))

    def answer_bound(self, case: str, arrays: str, contract: dict[str, Any]) -> str | None:
        problem = self._problem(case)
        types = {name: DTYPES[contract[name]] for name in ("accumulator", "partial") if contract[name]}
        found = problem.operation.bound(problem, from_text(arrays), Accumulation(**{**contract, **types}))
        return None if found is None else as_text(found)

    def _problem(self, case: str) -> SizedProblem:
        problem = parse_case_id(case)
        assert isinstance(problem, SizedProblem)
        return problem


def _place(error: BaseException, path: str) -> str:
    """Return the error with the last line of the user's own code that it came through."""
    own = [frame.lineno for frame in traceback.extract_tb(traceback_of(error)) if frame.filename == path]
    where = f"line {own[-1]}: " if own else ""
    return f"{where}{shown(raised(error))}"
