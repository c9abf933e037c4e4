"""The device-side check: data are made on the device or copied there, and only a digest and a few counts come back.

It decides only when nothing is wrong, or when the kernel crashed. Any disagreement leads to the host-side check, which
has inputs and a reference in host memory and can say which cells are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import checksum, digest
from bitgate.numerics.certificate import certify_plan
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import FillPlan, is_stored, plan_fill
from bitgate.results.record import Certificate
from bitgate.runtime.tools import can_fill
from bitgate.verify.deadline import DATA, LAUNCH, REFERENCE
from bitgate.verify.launcher import Launch
from bitgate.verify.memory import device_shortage, memory_shortage
from bitgate.verify.on_device import DeviceData, DeviceLaunchResult, DeviceWork
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import LaunchConfig
from bitgate.verify.session import Session
from bitgate.verify.stored import StoredDigest

GPU_REFERENCE_FLOPS = 10**9
"""On a GPU, larger cases are compared with the naive kernel; for smaller ones the CPU's exact reference is as fast."""


@dataclass(frozen=True)
class Route:
    """The references that a result is judged by: the naive kernel on the device, the checksum identity, a stored
    digest. A stored digest suffices alone, and is compared with whatever else is used."""

    plan: FillPlan
    certificate: Certificate
    stored: StoredDigest | None = None
    gpu: bool = False
    checksum: bool = False
    is_made: bool = False
    """True if the data are made in host memory, since the tools of the device cannot make them."""

    @property
    def kind(self) -> str:
        """The name of the reference in the record."""
        names = {"gpu": self.gpu, "checksum": self.checksum}
        return "+".join(name for name, used in names.items() if used) or ("stored" if self.stored else "")


@dataclass(frozen=True, eq=False)
class DeviceCheck:
    """The result of a device-side check; ``shortage`` says why nothing ran."""

    route: Route
    runs: tuple[DeviceLaunchResult, ...] = ()
    reference_seconds: float = 0.0
    shortage: str = ""

    @property
    def last(self) -> DeviceLaunchResult:
        return self.runs[-1]

    @property
    def disagreement(self) -> str:
        """The reason why the case needs the host-side check; empty if everything is right."""
        return next((run.damage or run.disagreement for run in self.runs if run.damage or run.disagreement), "")


def route_of(planned: PlannedCase, session: Session) -> Route | None:
    """Return how the case can be judged without a reference in host memory; None if it cannot, or must not."""
    known: tuple[Session, Route | None] | None = vars(planned).get("_route")
    if known is None or known[0] is not session:  # found ahead, while the case before was judged
        known = vars(planned)["_route"] = session, _find_route(planned, session)
    return known[1]


def _find_route(planned: PlannedCase, session: Session) -> Route | None:
    problem = planned.problem
    if planned.reference not in ("auto", "gpu", "checksum") or not is_stored(problem, planned.fill):
        return None
    accumulation = planned.kernel.instance.accumulation_for(problem)
    plan = plan_fill(problem, accumulation, planned.fill, planned.seed)
    stored = session.digests.find(planned.case, plan)
    fillable = all(can_fill(session.target.platform, problem.tensors[name], own) for name, own in plan.tensors)
    if planned.reference == "auto" and stored is not None:
        route = Route(plan, stored.certificate(accumulation), stored, is_made=not fillable)
    else:
        gpu, checksummed = _references(planned, session)
        if not gpu and not checksummed:
            return None
        if fillable:
            certificate = certify_plan(problem, plan, accumulation)
        else:
            certificate = session.inputs(problem, planned.kernel.instance, planned.fill, planned.seed).certificate
        checksummed = checksummed and not checksum.why_not(problem, certificate.bound)
        route = Route(plan, certificate, stored if gpu or checksummed else None, gpu, checksummed, not fillable)
    return route if route.certificate.holds and bool(route.kind) else None


def _references(planned: PlannedCase, session: Session) -> tuple[bool, bool]:
    """Return (naive kernel, checksum): whether to use each, for a case whose digest is not stored."""
    problem = planned.problem
    is_large, checksummed = session.is_large(problem), planned.reference == "checksum"
    by_gpu = planned.reference == "gpu"
    if planned.reference == "auto":
        on_gpu = session.target.platform != "host" and problem.flops >= GPU_REFERENCE_FLOPS
        by_gpu, checksummed = on_gpu or is_large, is_large
    # A naive kernel is not compared with itself. The search over all of them runs only where one is needed.
    may_use_gpu = by_gpu and not planned.kernel.family.verifies
    return may_use_gpu and session.reference_kernel(problem) is not None, checksummed


def check_on_device(
    planned: PlannedCase, session: Session, route: Route, launch: Launch, configs: tuple[LaunchConfig, ...]
) -> DeviceCheck:
    """Launch once for each of ``configs``, until something is wrong."""
    shortage = device_shortage(launch.problem, session, launch.workspace)
    if route.is_made:
        shortage = shortage or memory_shortage(
            launch.problem, session.target.platform == "host", planned.fill, results=False
        )
    if shortage:
        return DeviceCheck(route, shortage=shortage)
    started = session.clock()
    session.stage(DATA)
    data = device_data(planned, session, route)
    session.stage(REFERENCE)
    expected = _expected(session, launch.problem, route, data)
    seconds = session.clock() - started
    session.stage(LAUNCH)
    work = _work(planned, session, data, expected.weights)
    runs: list[DeviceLaunchResult] = []
    for run in session.launcher.launch_filled(launch, work, configs):
        _hold(run, launch.problem, expected)
        runs.append(run)
        if run.crash or run.damage or run.disagreement:
            break
    return DeviceCheck(route, tuple(runs), seconds)


def check_ahead(planned: PlannedCase, session: Session, workspace: int, configs: tuple[LaunchConfig, ...]) -> None:
    """Let the launcher begin with the check of the next case, if a stored digest decides it."""
    route = route_of(planned, session)
    if route is None or route.gpu or route.checksum or session.is_large(planned.problem):
        return
    launch = Launch(planned.kernel, planned.problem, workspace, planned.raced)
    work = _work(planned, session, device_data(planned, session, route), None)
    session.launcher.launch_filled_ahead(launch, work, configs)


def _work(planned: PlannedCase, session: Session, data: DeviceData, weights: WeightPlan | None) -> DeviceWork:
    as_kernels = planned.reference in ("gpu", "checksum")
    # In the host's memory the outputs themselves can be had: then the launcher's word is needed for nothing.
    in_reach = session.target.platform == "host" and not session.is_large(planned.problem)
    return DeviceWork(data, weights, as_kernels, in_reach and not as_kernels)


def device_data(planned: PlannedCase, session: Session, route: Route) -> DeviceData:
    if not route.is_made:
        return DeviceData(route.plan)
    instance = planned.kernel.instance
    return DeviceData(route.plan, session.operands(planned.problem, instance, planned.fill, planned.seed).tensors)


@dataclass(frozen=True)
class _Expected:
    """The references that a launch is held to: digests of the outputs, a checksum. Any of them may be absent."""

    stored: str = ""
    gpu: str = ""
    weights: WeightPlan | None = None
    checksum: int = 0


def _expected(session: Session, problem: Problem, route: Route, data: DeviceData) -> _Expected:
    expected = _Expected("" if route.stored is None else route.stored.digest)
    if route.gpu:
        expected = replace(expected, gpu=session.device_digest(problem, data))
    if route.checksum:
        weights = WeightPlan.of(problem.tensors[problem.result], route.plan.seed)
        values = checksum.planned_values(problem, route.plan)
        expected = replace(expected, weights=weights, checksum=checksum.expected(problem, weights, values))
    return expected


def _hold(run: DeviceLaunchResult, problem: Problem, expected: _Expected) -> None:
    """Note in what a run differs from what was expected."""
    if run.crash or run.damage:
        return
    if run.outputs:
        run.digest = digest.digest_of(problem, {role: run.outputs[role] for role in problem.outputs})
    run.disagreement = _disagreement(run, expected)
    # Their memory is used again by the next launch; those of a wrong one are needed if no other launch is wrong.
    kept = run.outputs.items() if run.disagreement else ()
    run.outputs = {role: HostTensor(one.tensor, one.storage.copy()) for role, one in kept}


def _disagreement(run: DeviceLaunchResult, expected: _Expected) -> str:
    if expected.gpu and run.digest != expected.gpu:
        return f"the result's digest is {run.digest}, that of the GPU reference {expected.gpu}"
    if expected.weights is not None and run.weighed != (expected.checksum, 0):
        total, parts = run.weighed or (0, 0)
        fractions = f", {parts} cells are no integers" if parts else ""
        return (
            f"the checksum identity does not hold: the result sums to {total} under the weights, its operands to"
            f" {expected.checksum}{fractions}"
        )
    if expected.stored and run.digest != expected.stored:
        return f"the result's digest is {run.digest}, not {expected.stored}"
    return ""
