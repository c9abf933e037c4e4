"""The canary: a small case that cannot fail on a sound device.

It runs before a device is reused after a case that broke it.
"""

from __future__ import annotations

import numpy as np

from bitgate.kernel.build.errors import BuildError
from bitgate.model import Problem, parse_case_id
from bitgate.numerics.fill import FillPlan, plan_fill
from bitgate.results.record import Outcome
from bitgate.runtime.errors import HipError
from bitgate.runtime.host_tools import HostTools
from bitgate.runtime.tools import sums_at
from bitgate.verify.launcher import LauncherDied
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

CANARY_CASE = "fwd_f32_nhwgc_g1n1k8c8_y1x1_h3x3"

WRONG = (Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED)
"""What a naive kernel that is wrong itself ends in, on whatever device."""


def distress(session: Session) -> str:
    """Return a sentence on what is wrong with the device; empty if a small case still computes there.

    A naive kernel that is wrong while the device fills and sums memory rightly is no device's fault: it may be the
    library under test.
    """
    problem = parse_case_id(CANARY_CASE)
    kernel = session.reference_kernel(problem)
    if kernel is None:
        return f"no naive kernel for {session.target.name} could try it"
    planned = PlannedCase(problem, kernel, target=session.target.name)
    verdict = verify(planned, session)
    if verdict.outcome is Outcome.PASS or (verdict.outcome in WRONG and _sums_rightly(planned, session)):
        return ""
    return f"the naive kernel ends in {verdict.outcome} on {CANARY_CASE}: {verdict.reason}"


def _sums_rightly(planned: PlannedCase, session: Session) -> bool:
    """Return whether the device's own fills and sums of the operands are the host's."""
    problem: Problem = planned.problem
    plan = plan_fill(problem, planned.kernel.instance.accumulation_for(problem), planned.fill, planned.seed)
    try:
        return session.launcher.sums(problem, plan) == _sums_on_host(problem, plan)
    except (HipError, BuildError, LauncherDied):
        return False


def _sums_on_host(problem: Problem, plan: FillPlan) -> dict[str, tuple[int, int]]:
    tools, found = HostTools(), {}
    for role, own in plan.tensors:
        tensor = problem.tensors[role]
        memory = np.empty(tensor.bytes, np.uint8)
        tools.clear()
        tools.fill(memory.ctypes.data, tensor, own, plan.seed)
        ticket = tools.digest(memory.ctypes.data, tensor)
        found[role] = sums_at(tools.read(), ticket)
    return found
