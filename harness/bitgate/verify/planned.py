"""A planned case: everything that decides a verdict, before anything has run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from bitgate.problem import ConvProblem, case_id
from bitgate.record import Key


@dataclass(frozen=True)
class Expectation:
    """What the plan expects: ``pass``, or ``refused`` with the clause of the predicate that must refuse."""

    kind: str = "pass"
    clause: str = ""


@dataclass(frozen=True)
class PlannedCase:
    """One problem on one kernel instance with one fill on one target.

    ``options`` holds (name, value) pairs, sorted by name; options that are not named keep their production value.
    ``schedule`` empty: the spine's own choice (forward, and reverse in the second run of a cheap case on the host).
    """

    problem: ConvProblem
    family: str
    instance: str
    options: tuple[tuple[str, str], ...] = ()
    fill: str = "exact"
    seed: int = 0
    schedule: str = "forward"
    target: str = "host"
    tier: str = ""
    why: str = ""
    expect: Expectation = field(default=Expectation())
    reference: str = "auto"
    suite: str = ""
    test: str = ""

    def __post_init__(self) -> None:
        if list(self.options) != sorted(self.options):
            object.__setattr__(self, "options", tuple(sorted(self.options)))

    @cached_property
    def case(self) -> str:
        return case_id(self.problem)

    @property
    def kernel(self) -> str:
        """``family.instance``, the name that globs select on."""
        return f"{self.family}.{self.instance}"

    @property
    def id(self) -> str:
        """``<case>__<instance>__<fill>``, characters ``[a-z0-9_]`` only."""
        options = "".join(f"_{name}_{value}" for name, value in self.options)
        return f"{self.case}__{self.family}_{self.instance}{options}__{self.fill}"

    @cached_property
    def key(self) -> Key:
        return Key(
            case=self.case,
            kernel=self.family,
            instance=self.instance,
            options=self.options,
            fill=self.fill,
            seed=self.seed,
            schedule=self.schedule,
            target=self.target,
        )
