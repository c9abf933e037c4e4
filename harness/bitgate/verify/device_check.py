"""The device-side check: data are made on the device or copied there, and only a digest and a few counts come back.

It decides only when nothing is wrong, or when the kernel crashed. Any disagreement leads to the host-side check, which
has inputs and a reference in host memory and can say which cells are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import checksum
from bitgate.numerics.certificate import certify_plan
from bitgate.numerics.checksum import WeightPlan
from bitgate.numerics.fill import FillPlan, is_stored, plan_fill
from bitgate.results.record import Certificate
from bitgate.verify.deadline import DATA, LAUNCH, REFERENCE
from bitgate.verify.memory import device_shortage
from bitgate.verify.on_device import DeviceData, DeviceLaunchResult, LaunchExpectation, run_on_device
from bitgate.verify.planned import PlannedCase
from bitgate.verify.running import Launch, LaunchConfig
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
    problem = planned.problem
    if planned.reference not in ("auto", "gpu", "checksum") or not is_stored(problem, planned.fill):
        return None
    accumulation = planned.kernel.instance.accumulation_for(problem)
    plan = plan_fill(problem, accumulation, planned.fill, planned.seed)
    stored = session.digests.find(planned.case, plan)
    fillable = all(session.tools.can_fill(problem.tensors[name], own) for name, own in plan.tensors)
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
    may_use_gpu = by_gpu and not planned.kernel.family.is_reference
    return may_use_gpu and session.reference_kernel(problem) is not None, checksummed


def check_on_device(
    planned: PlannedCase, session: Session, route: Route, launch: Launch, configs: tuple[LaunchConfig, ...]
) -> DeviceCheck:
    """Launch once for each of ``configs``, until something is wrong."""
    session.forget_device_reference(but=(launch.problem, route.plan))
    references = int(route.gpu and not session.has_device_reference)
    if shortage := device_shortage(launch.problem, session.device, launch.workspace, references):
        return DeviceCheck(route, shortage=shortage)
    started = session.clock()
    session.stage(DATA)
    data = DeviceData(route.plan, _made(planned, session, launch) if route.is_made else None)
    session.stage(REFERENCE)
    expected = _expected(session, launch.problem, route, data)
    seconds = session.clock() - started
    tools = session.device_tools if planned.reference in ("gpu", "checksum") else session.tools
    runs: list[DeviceLaunchResult] = []
    for config in configs:
        session.stage(LAUNCH)
        runs.append(run_on_device(session.device, tools, launch, data, config, expected))
        if runs[-1].crash or runs[-1].damage or runs[-1].disagreement:
            break
    return DeviceCheck(route, tuple(runs), seconds)


def _made(planned: PlannedCase, session: Session, launch: Launch) -> Mapping[str, HostTensor]:
    return session.inputs(launch.problem, launch.runner.instance, planned.fill, planned.seed).tensors


def _expected(session: Session, problem: Problem, route: Route, data: DeviceData) -> LaunchExpectation:
    expected = LaunchExpectation() if route.stored is None else LaunchExpectation(digest=route.stored.digest)
    if route.gpu:
        reference = session.device_reference(problem, data)
        pointers = {role: buffer.pointer for role, buffer in reference.buffers.items()}
        expected = replace(expected, digest=expected.digest or reference.digest, references=pointers)
    if route.checksum:
        weights = WeightPlan.of(problem.tensors[problem.result], route.plan.seed)
        values = checksum.planned_values(problem, route.plan)
        expected = replace(expected, weights=weights, checksum=checksum.expected(problem, weights, values))
    return expected
