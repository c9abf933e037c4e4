"""A case held to all laws that apply to it: one verdict, like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bitgate.build.errors import BuildError
from bitgate.device.errors import HipError
from bitgate.kernel.arguments import check_options, find_instance
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError
from bitgate.metamorphic.data import Data, small_data
from bitgate.metamorphic.kernel import PASSES, Kernel, KernelBrokeDown
from bitgate.metamorphic.laws import LAWS, Law
from bitgate.operation import foreign_line, human
from bitgate.operations.convolution import ConvProblem
from bitgate.record import Diagnosis, Outcome, Verdict
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repro import repro_line
from bitgate.verify.session import Session
from bitgate.verify.spine import verify


@dataclass(frozen=True)
class Broken:
    """A law that does not hold: where the two sides first differ, and in how many cells."""

    law: Law
    what: str
    cells: int
    of: int
    first: tuple[int, ...]
    left: float
    right: float

    @property
    def sentence(self) -> str:
        at = f"first at {list(self.first)}: " if self.first else ""
        return (
            f"law {self.law.name} is broken ({self.law.words}): {self.what} differ in {self.cells} of {self.of} cells,"
            f" {at}{self.left:g} is not {self.right:g}"
        )


def hold(planned: PlannedCase, session: Session) -> Verdict:
    """The verdict of one planned case by laws alone; a problem that the kernel refuses goes the way of ``verify``.

    PASS says in its reason which laws held. UsageError as ``verify``, and for problems whose sums are too large for
    any data to be exact.
    """
    family = session.family(planned.family)
    instance = find_instance(family, planned.instance)
    options = dict(planned.options)
    check_options(family, options)
    schedule = planned.schedule if session.target.platform == "host" else ""
    kernel = Kernel(session, family, instance, options, schedule)
    if not kernel.takes(planned.problem) or planned.expect.kind != "pass":
        return verify(planned, session)
    started = session.clock()
    try:
        told = session.library(family.name).is_supported(planned.problem, instance.name, options)
        if told is not None:
            return verify(planned, session)
        held, broken = _try_laws(planned.problem, kernel, _data(planned, kernel))
    except (BuildError, LibraryError) as error:
        return _verdict(planned, kernel, Outcome.BUILD_FAILED, str(error), started)
    except HipError as error:
        return _verdict(planned, kernel, Outcome.INFRA, str(error), started)
    except KernelRefused as error:
        reason = f"a part of the problem was refused by {error.refusal.clause}: {error.refusal.text}"
        return _verdict(planned, kernel, Outcome.REFUSED, reason, started)
    except KernelFailed as error:
        return _verdict(planned, kernel, Outcome.CRASHED, str(error), started)
    except KernelBrokeDown as error:
        outcome = Outcome.CORRUPTED if error.is_damage else Outcome.CRASHED
        return _verdict(planned, kernel, outcome, f"{human(error.problem)}: {error}", started)
    if broken is None:
        return _unbroken(planned, kernel, f"held: {', '.join(held)}", started)
    evidence = {"law": broken.law.name, "held": list(held), "what": broken.what, "first": list(broken.first)}
    diagnosis = Diagnosis(("other",), broken.sentence, evidence)
    return _verdict(planned, kernel, Outcome.MISMATCH, broken.sentence, started, diagnosis)


def _unbroken(planned: PlannedCase, kernel: Kernel, held: str, started: float) -> Verdict:
    """PASS, if a kernel that does nothing but clear its result would have broken a law."""
    if kernel.has_summed or planned.zero_result:
        return _verdict(planned, kernel, Outcome.PASS, held, started)
    why = f"every result was zero in every cell, of which any law is true ({held})"
    if planned.suite:
        return _verdict(planned, kernel, Outcome.NOT_RUN, f"nothing was compared: {why}", started)
    return replace(_verdict(planned, kernel, Outcome.PASS, why, started), shows=False)


def _try_laws(problem: ConvProblem, kernel: Kernel, data: Data) -> tuple[tuple[str, ...], Broken | None]:
    held: list[str] = []
    for law in LAWS:
        if not law.applies(problem, kernel):
            continue
        broken = break_of(law, problem, kernel, data)
        if broken is not None:
            return tuple(held), broken
        held.append(law.name)
    return tuple(held), None


def break_of(law: Law, problem: ConvProblem, kernel: Kernel, data: Data) -> Broken | None:
    """Where the law is broken, if it is. NaN equals nothing."""
    for what, left, right in law.sides(problem, kernel, data):
        differ = np.asarray(left != right)
        if differ.any():
            first = tuple(int(index) for index in np.argwhere(differ)[0])
            return Broken(law, what, int(differ.sum()), differ.size, first, float(left[first]), float(right[first]))
    return None


def _data(planned: PlannedCase, kernel: Kernel) -> Data:
    problem = planned.problem
    accumulation = kernel.instance.accumulation_for(problem)
    exact_to = min(accumulation.exact_range, *(tensor.dtype.exact_integer for tensor in problem.tensors.values()))
    directions = PASSES if problem.ndim else (problem.direction,)
    # A sum of two operands has sums twice as large.
    return small_data(problem, planned.seed, exact_to // 2, directions)


def _verdict(
    planned: PlannedCase,
    kernel: Kernel,
    outcome: Outcome,
    reason: str,
    started: float,
    diagnosis: Diagnosis | None = None,
) -> Verdict:
    session = kernel.session
    return Verdict(
        key=planned.key,
        outcome=outcome,
        reason=reason,
        suite=planned.suite,
        test=planned.test,
        tier=planned.tier,
        platform=session.target.platform,
        device_kind=session.target.kind,
        device_name=session.target.device_name,
        reference="laws",
        dispatch=kernel.records[0].summary() if kernel.records else {},
        seconds={"total": round(session.clock() - started, 6)},
        diagnosis=diagnosis,
        repro=f"{repro_line(planned, session.project.added)} --laws",
        foreign=foreign_line(planned.problem) or "",
        human=human(planned.problem),
        fingerprint=session.fingerprint(planned.family),
    )
