"""A planned case: everything that decides a verdict, before anything has run; and its message between processes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from msgspec import Struct

from bitgate.core.emulation import LAUNCHER
from bitgate.core.targets import is_emulated
from bitgate.kernel.declaration import Dispatch, KernelFamily, Refusal
from bitgate.kernel.resolved import Kernel, kernel_called
from bitgate.model import Problem, case_id, foreign_line, human, parse_case_id
from bitgate.results.record import Key
from bitgate.results.record.identity import FIELDS
from bitgate.runtime.host import RACE

_UNSAFE = re.compile("[^a-z0-9_]")


@dataclass(frozen=True)
class PlannedCase:
    """One problem on one kernel with one fill on one target.

    With ``schedule`` forward, the default, a cheap case's second run on the host is reverse. With ``race`` each access
    is watched as well. Any other schedule holds for both runs.
    """

    problem: Problem
    kernel: Kernel
    fill: str = "exact"
    seed: int = 0
    schedule: str = "forward"
    target: str = "host"
    tier: str = ""
    why: str = ""
    refused: str = ""
    """The clause by which the kernel must refuse it; empty if it must pass."""
    zero_result: bool = False
    """True if the row states that its result may be zero in every cell; the check is then that it is written."""
    reference: str = "auto"
    repeated: bool | None = None
    """True to launch it once more with other data, where that is cheap; None to do as the session does (repeat.py)."""
    seconds: float = 0.0
    """Estimated."""
    suite: str = ""
    test: str = ""
    """The pytest node id of the test that plans it, if one does."""
    row: str = ""
    """The ``file:line`` of its row in a table, if it has one."""
    table_row: object = field(default=None, repr=False, compare=False)
    """That row (``suite.planning.row_of``)."""
    stated_id: str = ""
    """Its id in a plan, which leaves out what holds for the whole run."""
    no_kernel: str = ""
    """The reason why no kernel takes it; then there is nothing to verify, and the verdict says so."""

    @cached_property
    def predicted(self) -> Dispatch | None:
        """The dispatch that the declaration predicts, if it does."""
        return self.kernel.prediction(self.problem)

    @cached_property
    def declined(self) -> Refusal | None:
        """The refusal that the declaration states, if it does."""
        return self.kernel.refusal(self.problem)

    @cached_property
    def case(self) -> str:
        return case_id(self.problem)

    def for_test(self, test: str, repeated: bool) -> PlannedCase:
        """Return the same case for a test, keeping what is known of its problem and kernel."""
        own = replace(self, test=test, repeated=repeated)
        vars(own).update({name: vars(self)[name] for name in _OF_PROBLEM_AND_KERNEL if name in vars(self)})
        return own

    @property
    def human(self) -> str:
        """The problem in the form that people read."""
        return _human(self.problem)

    @property
    def foreign(self) -> str:
        """The problem as a ckProfiler command line, if there is one."""
        return _foreign(self.problem)

    @property
    def raced(self) -> bool:
        """True if its accesses are watched for races by the kernel's own code; an emulator watches by itself."""
        return self.schedule == RACE and not is_emulated(self.target)

    @property
    def id(self) -> str:
        """The test id ``<case>__<instance>__<fill>``, characters ``[a-z0-9_]`` only."""
        if self.stated_id:
            return self.stated_id
        family, instance, options = self.kernel.names
        kernel = "_".join([family, instance, *(f"{name}_{value}" for name, value in options)])
        return f"{self.case}__{_UNSAFE.sub('_', kernel)}__{self.fill}"

    @cached_property
    def key(self) -> Key:
        return Key(self.case, *self.kernel.names, self.fill, self.seed, self.schedule, self.target)


_OF_PROBLEM_AND_KERNEL = ("predicted", "case", "key")


class PlannedMessage(Struct, frozen=True):
    """A planned case between processes: all that decides the verdict, and whose test it is: a suite takes no PASS that
    shows nothing. The fields are those of ``Key`` and of ``PlannedCase``."""

    case: str
    kernel: str
    """The family."""
    instance: str
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str
    target: str
    tier: str
    suite: str
    test: str
    row: str
    refused: str
    reference: str
    zero_result: bool
    repeated: bool | None

    @classmethod
    def of(cls, planned: PlannedCase) -> PlannedMessage:
        return cls(*planned.key.values, *(getattr(planned, name) for name in _BESIDE_THE_KEY))

    def planned(self, families: Mapping[str, KernelFamily]) -> PlannedCase:
        """Return the case. UsageError for an unknown family, instance or option; ProblemError for an unknown case."""
        return PlannedCase(
            problem=cached_problem(self.case),
            kernel=kernel_called(families, self.kernel, self.instance, self.options),
            fill=self.fill,
            seed=self.seed,
            schedule=self.schedule,
            target=self.target,
            **{name: getattr(self, name) for name in _BESIDE_THE_KEY},
        )


_BESIDE_THE_KEY = tuple(name for name in PlannedMessage.__struct_fields__ if name not in FIELDS)


@lru_cache(maxsize=256)
def cached_problem(case: str) -> Problem:
    """Return one object for the cases of a problem, which follow each other: what it computes of itself is kept."""
    return parse_case_id(case)


@lru_cache(maxsize=1024)
def _human(problem: Problem) -> str:
    return human(problem)


@lru_cache(maxsize=1024)
def _foreign(problem: Problem) -> str:
    return foreign_line(problem) or ""


def repro_line(planned: PlannedCase, added: Sequence[Path] = ()) -> str:
    """Return ``bitgate verify <case> --kernel ...``, without defaults that are unambiguous.

    Declarations that the project's file names are left out: any checkout of it finds them. ``added`` are those that a
    command named.
    """
    words = ["bitgate", "verify", planned.case, "--kernel", planned.kernel.name]
    for path in added:
        words += ["--load", str(path)]
    words += ["--fill", planned.fill, "--seed", str(planned.seed)]
    for name, value in planned.kernel.options:
        words += ["--option", f"{name}={value}"]
    if planned.schedule == RACE:
        words += ["--race"]
    elif planned.schedule != "forward":
        words += ["--schedule", planned.schedule]
    if planned.reference != "auto":
        words += ["--reference", planned.reference]
    words += ["--target", planned.target]
    if is_emulated(planned.target) and (command := os.environ.get(LAUNCHER)):
        words += ["--launcher", command]
    return shlex.join(words)
