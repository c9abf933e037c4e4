"""Verification of a case by laws instead of a reference: they find what is wrong without knowing what is right.

Data are small integers, such that no result of a law is rounded: both sides of it must then be the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.kernel.declared import is_own
from bitgate.kernel.errors import KernelRefused
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem, human
from bitgate.model.host_tensor import HostTensor
from bitgate.model.law import Cells, Data, KernelFunction, Law
from bitgate.numerics.certificate import measure_bound
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.verify.compare_outputs import Comparison, compare
from bitgate.verify.evidence import Evidence, EvidenceBuilder, OnRun, verdict_of
from bitgate.verify.launcher import Launch, LaunchStep
from bitgate.verify.pipeline import first_launch, run_case
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import LaunchConfig, LaunchResult
from bitgate.verify.session import Session


@dataclass(frozen=True, eq=False)
class BrokenLaw:
    """A law that does not hold, and both sides of it."""

    law: Law
    what: str
    sides: Comparison

    @property
    def first(self) -> tuple[int, ...]:
        """Coordinates of the first difference; () if each side is one number."""
        return self.sides.first(1)[0]

    @property
    def sentence(self) -> str:
        at = f"first at {list(self.first)}: " if self.first else ""
        return (
            f"law {self.law.name} is broken ({self.law.words}): {self.what} differ in {self.sides.count} of"
            f" {self.sides.total} cells, {at}{self.sides.result[self.first]:g} is not"
            f" {self.sides.reference[self.first]:g}"
        )


def judge_by_laws(planned: PlannedCase, session: Session, on_run: OnRun | None = None) -> Verdict:
    """Return the verdict of one planned case by laws alone.

    The reason of a PASS lists the laws that held. Raises UsageError as ``verify`` does, for problems whose sums are too
    large for any data to be exact, and for those that do more than to sum.
    """
    return run_case(planned, session, lambda builder, launch: _judge(builder, launch, on_run), by="laws")


def _judge(builder: EvidenceBuilder, launch: Launch, on_run: OnRun | None) -> Verdict:
    planned = builder.evidence.planned
    kernel = CaseKernel.of(builder, launch, first_launch(builder.evidence), on_run)
    try:
        held, broken = _try_laws(planned.problem, kernel, _data(planned))
    except KernelRefused as error:
        reason = f"a part of the problem was refused by {error.refusal.clause}: {error.refusal.text}"
        return verdict_of(builder.evidence, Outcome.REFUSED, reason)
    except KernelBrokeDown as error:
        outcome = Outcome.CORRUPTED if error.is_damage else Outcome.CRASHED
        return verdict_of(builder.evidence, outcome, f"{human(error.problem)}: {error}")
    if broken is None and not held:
        return verdict_of(builder.evidence, Outcome.NOT_RUN, "nothing was compared: no law applies to the problem")
    if broken is None:
        return _unbroken(builder.evidence, kernel, f"held: {', '.join(held)}")
    shown = {"law": broken.law.name, "held": list(held), "what": broken.what, "first": list(broken.first)}
    return verdict_of(
        builder.evidence, Outcome.MISMATCH, broken.sentence, Diagnosis(("other",), broken.sentence, shown)
    )


def _unbroken(evidence: Evidence, kernel: CaseKernel, held: str) -> Verdict:
    """Return PASS, if a kernel that does nothing but clear its result would have broken a law."""
    if kernel.has_summed or evidence.planned.zero_result:
        return verdict_of(evidence, Outcome.PASS, held)
    why = f"every result was zero in every cell, of which any law is true ({held})"
    if evidence.planned.suite:
        return verdict_of(evidence, Outcome.NOT_RUN, f"nothing was compared: {why}")
    return replace(verdict_of(evidence, Outcome.PASS, why), shows=False)


def _try_laws(problem: Problem, kernel: KernelFunction, data: Data) -> tuple[tuple[str, ...], BrokenLaw | None]:
    held: list[str] = []
    for law in problem.operation.diagnostics.laws:
        if not law.applies(problem, kernel):
            continue
        broken = break_of(law, problem, kernel, data)
        if broken is not None:
            return tuple(held), broken
        held.append(law.name)
    return tuple(held), None


def break_of(law: Law, problem: Problem, kernel: KernelFunction, data: Data) -> BrokenLaw | None:
    """Return where the law is broken, or None; NaN equals nothing, and -0 equals 0."""
    for what, left, right in law.sides(problem, kernel, data):
        sides = compare(left, right, np.asarray(left != right))
        if not sides.equal:
            return BrokenLaw(law, what, sides)
    return None


def _data(planned: PlannedCase) -> Data:
    problem = planned.problem
    _check_sums_alone(problem)
    accumulation = planned.kernel.instance.accumulation_for(problem)
    exact_to = min(accumulation.exact_range, *(tensor.dtype.exact_integer for tensor in problem.tensors.values()))
    # A sum of two operands has sums twice as large.
    return small_data(problem, planned.seed, exact_to // 2, problem.operation.diagnostics.companions(problem))


def _check_sums_alone(problem: Problem) -> None:
    """Raise UsageError for a problem that reads D, or clips: it is not linear, and no law is stated of it."""
    numerics = problem.operation.numerics
    operands = [numerics.operation_of(problem, name) for name in numerics.operands(problem)]
    for op in (numerics.epilogue(problem), *operands):
        if op.num_d or op.name == "relu":
            raise UsageError(f"{human(problem)}: laws hold for sums alone, and '{op.name}' does more ({op.formula})")


class KernelBrokeDown(Exception):
    """A launch that crashed, or that wrote outside its buffers: no law can be tried."""

    def __init__(self, problem: Problem, run: LaunchResult) -> None:
        super().__init__(run.crash or run.damage)
        self.problem = problem
        self.is_damage = not run.crash


@dataclass
class CaseKernel:
    """A case's kernel as a function of data, which laws call as often as they need: each call is a guarded launch.

    It is the case's own instance, or with ``partner`` another one. Its launches are evidence of the case; the first
    stands for all of them.
    """

    builder: EvidenceBuilder
    kernel: Kernel
    race: bool
    config: LaunchConfig
    on_run: OnRun | None = None
    has_summed: bool = False
    """True once any cell of any result was not zero; otherwise laws hold for a kernel that only clears its result."""

    @classmethod
    def of(
        cls, builder: EvidenceBuilder, launch: Launch, config: LaunchConfig, on_run: OnRun | None = None
    ) -> CaseKernel:
        return cls(builder, launch.kernel, launch.race, config, on_run)

    @property
    def name(self) -> str:
        return self.kernel.name

    def takes(self, problem: Problem) -> bool:
        return self.kernel.computes(problem) and self.kernel.refusal(problem) is None

    def __call__(self, problem: Problem, data: Data, output: str = "") -> Cells:
        """Return an output in logical order. Raises KernelBrokeDown, KernelRefused, KernelFailed or HipError."""
        launcher = self.builder.evidence.session.launcher
        launch = Launch(self.kernel, problem, -1, self.race)
        (run,) = launcher.launch(launch, [LaunchStep(self.config, stored(problem, data))])
        if self.on_run is not None:
            self.on_run(run)
        known, kept = self.builder.evidence, replace(run, outputs={})
        self.builder.evidence = known.spent(run.seconds) if known.runs else known.launched(kept)
        if run.crash or run.damage:
            raise KernelBrokeDown(problem, run)
        result = values(run.outputs[output or problem.result].logical)
        self.has_summed = self.has_summed or bool(result.any())
        return result

    def partner(self, problem: Problem) -> CaseKernel | None:
        """Return a kernel for the same tensors in another operation, preferably one that is no reference.

        It is of the same family or bitgate's own, since another's defects would pass for this one's.
        """
        session = self.builder.evidence.session
        for family in sorted(session.families.values(), key=lambda family: family.is_reference):
            trusted = is_own(family) or family.name == self.kernel.family.name
            if not trusted or session.target.platform not in family.platforms:
                continue
            for instance in family.instances:
                kernel = Kernel(family, instance)
                if kernel.computes(problem) and kernel.refusal(problem) is None:
                    session.load(kernel)
                    return replace(self, kernel=kernel, race=False, on_run=None)
        return None


_DATA_RANGES = ((3, 1.0), (2, 1.0), (1, 1.0), (1, 0.5), (1, 0.25), (1, 0.1), (1, 0.03), (1, 0.01))
"""Largest value and share of cells that are not zero, tried one after the other."""


def small_data(problem: Problem, seed: int, exact_to: int, problems: Iterable[Problem]) -> Data:
    """Return integers for all tensors of the problem, such that no sum in any of these problems exceeds ``exact_to``.

    All problems have the same tensors. Raises UsageError if no data are small enough.
    """
    for largest, density in _DATA_RANGES:
        data = {name: _cells(problem, name, seed, largest, density) for name in problem.tensors}
        if all(measure_bound(one, stored(one, data)).value <= exact_to for one in problems):
            return data
    terms = problem.operation.numerics.terms(problem)
    raise UsageError(f"sums of {terms} products do not stay below {exact_to}: take a smaller problem")


def stored(problem: Problem, data: Data) -> dict[str, HostTensor]:
    """Return the operands of the problem in their memory layout."""
    tensors = {}
    for name in problem.operation.numerics.operands(problem):
        tensors[name] = HostTensor.empty(problem.tensors[name])
        tensors[name].logical[...] = data[name].astype(problem.tensors[name].dtype.numpy)
    return tensors


def values(cells: NDArray[Any]) -> Cells:
    return np.asarray(cells.astype(np.float64))


def _cells(problem: Problem, name: str, seed: int, largest: int, density: float) -> Cells:
    rng = np.random.default_rng([seed, crc32(name.encode())])
    lengths = problem.tensors[name].lengths
    integers = rng.integers(1, largest + 1, lengths) * rng.choice([-1, 1], lengths)
    return np.where(rng.random(lengths) < density, integers, 0).astype(np.float64)
