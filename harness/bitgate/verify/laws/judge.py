"""Verification of a case by all laws that apply to it: a judge of the pipeline with one verdict, like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.kernel.errors import KernelRefused
from bitgate.model import Problem, human
from bitgate.model.law import Data, KernelFunction, Law
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.verify.compare import Comparison, compare
from bitgate.verify.evidence import Evidence, EvidenceBuilder, OnRun
from bitgate.verify.laws.data import small_data
from bitgate.verify.laws.kernel import CaseKernel, KernelBrokeDown
from bitgate.verify.pipeline import first_how, through
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import Launch
from bitgate.verify.session import Session
from bitgate.verify.verdict import verdict_of


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
    return through(planned, session, lambda gathering, launch: _judge(gathering, launch, on_run), by="laws")


def _judge(gathering: EvidenceBuilder, launch: Launch, on_run: OnRun | None) -> Verdict:
    planned = gathering.evidence.planned
    kernel = CaseKernel.of(gathering, launch, first_how(gathering.evidence), on_run)
    try:
        held, broken = _try_laws(planned.problem, kernel, _data(planned))
    except KernelRefused as error:
        reason = f"a part of the problem was refused by {error.refusal.clause}: {error.refusal.text}"
        return verdict_of(gathering.evidence, Outcome.REFUSED, reason)
    except KernelBrokeDown as error:
        outcome = Outcome.CORRUPTED if error.is_damage else Outcome.CRASHED
        return verdict_of(gathering.evidence, outcome, f"{human(error.problem)}: {error}")
    if broken is None and not held:
        return verdict_of(gathering.evidence, Outcome.NOT_RUN, "nothing was compared: no law applies to the problem")
    if broken is None:
        return _unbroken(gathering.evidence, kernel, f"held: {', '.join(held)}")
    shown = {"law": broken.law.name, "held": list(held), "what": broken.what, "first": list(broken.first)}
    return verdict_of(
        gathering.evidence, Outcome.MISMATCH, broken.sentence, Diagnosis(("other",), broken.sentence, shown)
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
