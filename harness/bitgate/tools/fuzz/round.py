"""Fuzzed kernels: each a family and an operation, with the planned cases of its rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.declared import harness_refusal
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem, operation_called
from bitgate.model.space import ProblemSpace
from bitgate.model.space.candidates import problems_of
from bitgate.model.space.variations import with_elements_apart
from bitgate.tools.fuzz.draw import SIZES, RoundSize, draw_round
from bitgate.verify.planned import PlannedCase

KERNELS_A_REFERENCE = 4
"""Rounds of a kernel for each round of a reference kernel."""

UNSUPPORTED = 0.1
"""Share of problems that no instance takes: declaration and library must refuse them for the same reason."""


OTHER_FILLS = 0.06
"""Share of cases whose data are not the exact integers."""
OTHER_OPTIONS = 0.2
"""Share of cases whose options are drawn: of a family without any they are production's all the same."""

FITTED = 0.15
"""Share of problems that are made to fit the instance with the fewest cases so far, as one with wide vectors or for
1x1 filters has by chance."""


Choice = tuple[Instance, str]
"""An instance, and the clause by which it must refuse the problem; empty: it must pass."""


@dataclass(frozen=True)
class FuzzSubject:
    """A kernel family and an operation whose problems are drawn."""

    family: KernelFamily
    operation: str
    instances: tuple[Instance, ...]

    @property
    def name(self) -> str:
        return f"{self.family.name}:{self.operation}"

    @property
    def space(self) -> ProblemSpace:
        return operation_called(self.operation).space

    @cached_property
    def dtypes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(dtypes for instance in self.instances for dtypes in instance.dtypes))

    @cached_property
    def layouts(self) -> tuple[str, ...]:
        """Layouts that instances say they take."""
        return tuple(dict.fromkeys(layout for instance in self.instances for layout in instance.layouts))

    def cases(self, seed: int, visit: int, target: str) -> Iterator[PlannedCase]:
        """Yield the cases of its round number ``visit``, the same ones for the same seed."""
        size = SIZES[visit % len(SIZES)]
        key = (seed, visit, *self.name.encode())
        rng = np.random.default_rng([*key, 2])
        refused = UNSUPPORTED * size.problems
        taken = 0
        met: Counter[str] = Counter()
        for problem in self._problems(key, size, rng):
            choices = rng.random(6)
            options = self._options(choices[0])
            if choices[5] < FITTED:
                rare = min(self.instances, key=lambda instance: met[instance.name])
                problem = self._fitted(problem, rare, options)
            supporting, refusing = self._split(problem, options)
            if supporting:
                taken += 1
            elif refused >= 1:
                refused -= 1
            else:
                continue
            supporting.sort(key=lambda choice: met[choice[0].name])
            for instance, clause in self._chosen(supporting, refusing, choices[1]):
                met[instance.name] += not clause
                yield PlannedCase(
                    problem,
                    Kernel(self.family, instance, options),
                    fill=_other(fills_of(problem), choices[2], OTHER_FILLS),
                    seed=int(choices[4] * 1000),
                    schedule=self._schedule(choices[3], target),
                    target=target,
                    refused=clause,
                )
            if taken >= size.problems:
                return

    def _schedule(self, choice: float, target: str) -> str:
        """Now and then an order of threads, where kernels are libraries, whose threads the host runtime orders."""
        is_ordered = target == "host" and self.family.is_built
        return f"random:{int(choice * 1e6)}" if choice < 0.1 and is_ordered else "forward"

    def _problems(self, key: tuple[int, ...], size: RoundSize, rng: np.random.Generator) -> Iterator[Problem]:
        """More than are wanted, since some are refused."""
        sets = [self.space.types(text) for text in self.dtypes]
        drawn = draw_round(self.space, key, replace(size, problems=3 * size.problems), self.layouts)
        for problem in problems_of(drawn):
            yield with_elements_apart(self.space.varied(problem, sets, rng))

    def _fitted(self, problem: Problem, instance: Instance, options: tuple[tuple[str, str], ...]) -> Problem:
        """Return the problem, bent until the instance takes it, or as far as that goes."""
        bent: Problem = self.space.typed(problem, self.space.types(instance.dtypes[0]))
        for bend in self.space.bends(instance.layouts):
            if Kernel(self.family, instance, options).refusal(bent) is None:
                break
            bent = bend(bent)
        return bent

    @cached_property
    def _drawn_options(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        return tuple(tuple(sorted(options)) for options in self.family.drawn_options)

    def _options(self, choice: float) -> tuple[tuple[str, str], ...]:
        known = self._drawn_options
        return known[int(choice / OTHER_OPTIONS * len(known))] if choice < OTHER_OPTIONS else ()

    def _split(self, problem: Problem, options: tuple[tuple[str, str], ...]) -> tuple[list[Choice], list[Choice]]:
        supporting, refusing = [], []
        for instance in self.instances:
            if problem.dtypes.canonical not in instance.dtypes or harness_refusal(self.family, instance, problem):
                continue  # no library is asked about it, so that nothing can be learned
            refusal = Kernel(self.family, instance, options).refusal(problem)
            if refusal is None:
                supporting.append((instance, ""))
            else:
                refusing.append((instance, refusal.clause))
        return supporting, refusing

    def _chosen(
        self,
        supporting: Sequence[Choice],
        refusing: Sequence[Choice],
        choice: float,
    ) -> Iterator[Choice]:
        """Yield the instance with the fewest cases of those that take the problem, sometimes all of them; and one that
        refuses it."""
        yield from supporting if choice < 0.1 else supporting[:1]
        if refusing:
            yield refusing[int(choice * 1e6) % len(refusing)]


def subjects(chosen: Sequence[tuple[KernelFamily, Instance]]) -> tuple[FuzzSubject, ...]:
    """Return the turn of subjects: each kernel several times for each time of a reference kernel."""
    found: dict[tuple[str, str], FuzzSubject] = {}
    for family, instance in chosen:
        for operation in family.operations_of(instance):
            if not operation_called(operation).space.factors:
                continue  # its problems are not to be varied
            known = found.get((family.name, operation))
            instances = (*(known.instances if known else ()), instance)
            found[family.name, operation] = FuzzSubject(family, operation, instances)
    references = [one for one in found.values() if one.family.is_reference]
    kernels = [one for one in found.values() if not one.family.is_reference]
    return tuple(kernels * KERNELS_A_REFERENCE + references) if kernels else tuple(references)


def families_of(turn: Iterable[FuzzSubject]) -> dict[str, KernelFamily]:
    """Return the kernel families that are fuzzed, by name."""
    return {subject.family.name: subject.family for subject in turn}


def subject_of(turn: Sequence[FuzzSubject], number: int) -> tuple[FuzzSubject, int]:
    """Return the subject of a round, and which of the subject's rounds it is."""
    subject = turn[number % len(turn)]
    own = [index for index, other in enumerate(turn) if other is subject]
    return subject, number // len(turn) * len(own) + own.index(number % len(turn))


def fills_of(problem: Problem) -> tuple[str, ...]:
    """Return the fills; ``codes`` is for types whose every code is drawn within a small tensor."""
    narrow = all(problem.tensors[name].dtype.bytes == 1 for name in problem.operation.space.operands(problem))
    names = (fill.name for fill in problem.operation.numerics.fills(problem))
    return tuple(fill for fill in names if fill != "codes" or narrow)


def _other(values: Sequence[str], choice: float, share: float) -> str:
    """Return the first value, but for a share of the choices one of the others."""
    return values[1 + int(choice / share * (len(values) - 1))] if choice < share and len(values) > 1 else values[0]
