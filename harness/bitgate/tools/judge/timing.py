"""The time of a submission: of calls on fresh inputs, each of whose results the judge checks.

Of functions it is bounded from outside, by the judge's clock. Their process gets inputs once the clock runs, and the
outputs are copied before it stops: nothing that happens there can make the time shorter than the work. What the
launcher adds makes it longer. Of device code alone on a GPU it is that of events around the launch.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.untrusted import shown
from bitgate.kernel.errors import KernelFailed, KernelRefused
from bitgate.kernel.registry import declared_sources
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import Capability
from bitgate.model import Problem, parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import native
from bitgate.runtime.errors import HipError
from bitgate.tools.judge.floor import floors_on
from bitgate.tools.judge.problems import JudgedCase
from bitgate.verify.launcher import Launch, LauncherDied, LaunchStep, NoReference
from bitgate.verify.launcher_process import LauncherProcess
from bitgate.verify.launcher_worker import launcher_worker
from bitgate.verify.output_limit import OutputLimit, to_stderr
from bitgate.verify.problem_data import reference_kind
from bitgate.verify.running import LaunchConfig
from bitgate.verify.selection import candidates, select_for
from bitgate.verify.session import Session
from bitgate.verify.timed import DEVICE
from bitgate.worker.shared_memory import create_memory

BOUNDED, TRUSTED = "bounded", "trusted"
"""Kinds of time: by the judge's clock around calls; by events of a GPU around device code alone."""
MOST_PROBLEMS = 4


@dataclass(frozen=True)
class ComparedTime:
    """The samples of one case in seconds; ``claimed`` are those that its process measured around the launch."""

    case: str
    samples: tuple[float, ...]
    claimed: tuple[float, ...]
    floor: float
    """Seconds in which the target copies the bytes of all tensors: no kernel is counted as faster."""

    def as_json(self) -> dict[str, Any]:
        counted = max(median(self.samples), self.floor)
        return {
            "case": self.case,
            "ms": _ms(counted),
            "low": _ms(min(self.samples)),
            "high": _ms(max(self.samples)),
            "samples": len(self.samples),
            "floor": _ms(self.floor),
            "claimed": _ms(median(self.claimed)),
        }


@dataclass(frozen=True)
class Time:
    """The times of a submission, or why there is none. Every result was checked."""

    rows: tuple[ComparedTime, ...]
    wrong: str = ""
    kind: str = BOUNDED

    def as_json(self) -> dict[str, Any]:
        rows = [one.as_json() for one in self.rows]
        mean = float(np.exp(np.mean([np.log(one["ms"]) for one in rows]))) if rows and not self.wrong else None
        return {"kind": self.kind, "ms": mean, "wrong": self.wrong or None, "rows": rows}


CLAIMS = (UsageError, RuntimeError, MemoryError, HipError, KernelFailed, KernelRefused, NoReference)
"""What a launcher's answer can be raised as."""


class Stopwatch:
    """A launcher whose every launch this process times, and judges."""

    def __init__(self, project: Project, target: str, is_trusted: bool, seconds: float) -> None:
        arenas = create_memory(), create_memory()
        document = project.as_json()
        # What a submission prints must not stand in the report.
        worker = launcher_worker(arenas, lambda *note: None, OutputLimit(to_stderr))
        self._launcher = LauncherProcess(target, document, {}, lambda *note: None, (worker, arenas))
        # No declaration of device code runs where its kernels do.
        self._launcher.open_as(document, declared_sources(project))
        self._session = Session(target, project=project, launcher=self._launcher, here=False)
        self._target, self._is_trusted, self._seconds = target, is_trusted, seconds

    def end(self) -> None:
        self._launcher.end()

    def sample(self, kernel: Kernel, problem: Problem, fill: str, seed: int) -> tuple[float, float, str]:
        """Return the seconds of a call, those that its process claims, and what is wrong with it.

        They are those from outside, or where the process can be trusted those of the device.
        """
        session, launcher = self._session, self._launcher
        session.load(kernel)
        inputs = session.inputs(problem, kernel.instance, fill, seed)
        launcher.begin_case(self._seconds)
        step = LaunchStep(LaunchConfig("right", self._schedule(kernel)), inputs.tensors, timed=self._is_trusted)
        begun = perf_counter()
        (run,) = launcher.launch(Launch(kernel, problem, -1), [step])
        run.outputs = {role: HostTensor(one.tensor, one.storage.copy()) for role, one in run.outputs.items()}
        seconds = perf_counter() - begun
        kind = reference_kind(problem, inputs.certificate.holds, False)
        reference = session.reference(problem, kernel.instance, fill, seed, kind)
        reference.hold(run)
        reference.settle(run)
        wrong = run.crash or run.damage or ("wrong results while it was timed" if run.results else "")
        return run.seconds.get(DEVICE, 0.0) if self._is_trusted else seconds, run.seconds.get("kernel", 0.0), wrong

    def _schedule(self, kernel: Kernel) -> str:
        if self._target != "host":
            return ""
        loaded = self._session.loaded(kernel, False)
        return "forward" if loaded is not None and Capability.SCHEDULES in loaded.capabilities else ""


def timed(
    right: Sequence[JudgedCase],
    project: Project,
    target: str,
    is_trusted: bool,
    samples: int,
    seconds: float,
    until: float,
) -> Time:
    """Time a submission on the task's own problems, between calls on others that it is right on, in an order drawn by
    lot.

    Neither the order nor the data follow from the judge's seed, which processes of the submission may have found. One
    that ``is_trusted`` has no host code in the process that launches it.
    """
    rng = np.random.default_rng(secrets.randbits(128))
    own, others = _chosen(right)
    kernels = candidates(None, {}, target, project)
    floors = floors_on(target, [parse_case_id(one.case) for one in own])
    found: dict[str, tuple[list[float], list[float]]] = {one.case: ([], []) for one in own}
    with _stopwatch(project, target, is_trusted, seconds) as watch:
        try:
            for number in range(samples + 1):
                for place in rng.permutation(len(own) + min(1, len(others))).tolist():
                    one = own[place] if place < len(own) else others[int(rng.integers(len(others)))]
                    problem = parse_case_id(one.case)
                    kernel = select_for(problem, kernels).supporting[0]
                    outside, inside, wrong = watch.sample(kernel, problem, one.fill, int(rng.integers(1 << 31)))
                    if wrong:
                        return Time((), f"{one.case}: {wrong}")
                    if number and one.case in found:  # the first call is no sample
                        found[one.case][0].append(outside)
                        found[one.case][1].append(inside)
                if monotonic() > until and number:
                    break
        except LauncherDied as ended:
            return Time((), ended.reason)
        except CLAIMS as error:  # it was right before: what its process says is forged, or its own fault
            return Time((), f"its process answered with no result: {shown(error)}")
    rows = [
        ComparedTime(case, tuple(a), tuple(b), floor)
        for (case, (a, b)), floor in zip(found.items(), floors, strict=True)
        if a
    ]
    return Time(tuple(rows), kind=TRUSTED if is_trusted else BOUNDED)


def _chosen(right: Sequence[JudgedCase]) -> tuple[list[JudgedCase], list[JudgedCase]]:
    """Return a case for each of the task's own problems, exact data before others, and the cases of all others."""
    own: dict[str, JudgedCase] = {}
    stated = [one for one in right if one.group == "own"] or right
    for one in sorted(stated, key=lambda one: one.fill != "exact"):
        if len(own) < MOST_PROBLEMS:
            own.setdefault(one.case, one)
    return list(own.values()), [one for one in right if one.case not in own]


@contextmanager
def _stopwatch(project: Project, target: str, is_trusted: bool, seconds: float) -> Iterator[Stopwatch]:
    native.library()
    watch = Stopwatch(project, target, is_trusted, seconds)
    try:
        yield watch
    finally:
        watch.end()


def _ms(seconds: float) -> float:
    return float(f"{1e3 * seconds:.4g}")
