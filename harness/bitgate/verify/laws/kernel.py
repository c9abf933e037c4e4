"""A case's kernel as a function of data, which laws call as often as they need: each call is a guarded launch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bitgate.kernel.declared import is_own
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import Runner
from bitgate.model import Problem
from bitgate.model.law import Cells, Data
from bitgate.verify.evidence import EvidenceBuilder, OnRun
from bitgate.verify.laws.data import stored, values
from bitgate.verify.poison import poisoned
from bitgate.verify.running import Launch, LaunchConfig, LaunchResult, run_once


class KernelBrokeDown(Exception):
    """A launch that crashed, or that wrote outside its buffers: no law can be tried."""

    def __init__(self, problem: Problem, run: LaunchResult) -> None:
        super().__init__(run.crash or run.damage)
        self.problem = problem
        self.is_damage = not run.crash


@dataclass
class CaseKernel:
    """A case's own instance, or with ``partner`` another one. Its launches are evidence of the case; the first stands
    for all of them."""

    gathering: EvidenceBuilder
    kernel: Kernel
    runner: Runner
    how: LaunchConfig
    on_run: OnRun | None = None
    has_summed: bool = False
    """True once any cell of any result was not zero; otherwise laws hold for a kernel that only clears its result."""

    @classmethod
    def of(
        cls, gathering: EvidenceBuilder, launch: Launch, how: LaunchConfig, on_run: OnRun | None = None
    ) -> CaseKernel:
        return cls(gathering, gathering.evidence.planned.kernel, launch.runner, how, on_run)

    @property
    def name(self) -> str:
        return self.kernel.name

    def takes(self, problem: Problem) -> bool:
        return self.kernel.computes(problem) and self.kernel.refusal(problem) is None

    def __call__(self, problem: Problem, data: Data, output: str = "") -> Cells:
        """Return an output in logical order. Raises KernelBrokeDown, KernelRefused, KernelFailed or HipError."""
        launch = Launch(self.runner, problem, self.runner.workspace(problem))
        blank = {role: poisoned(problem.tensors[role]) for role in problem.outputs}
        run = run_once(self.gathering.evidence.session.device, launch, stored(problem, data), blank, self.how)
        if self.on_run is not None:
            self.on_run(run)
        known, kept = self.gathering.evidence, replace(run, results={})
        self.gathering.evidence = known.spent(run.seconds) if known.runs else known.launched(kept)
        if run.crash or run.damage:
            raise KernelBrokeDown(problem, run)
        result = values({**blank, **run.results}[output or problem.result].logical)
        self.has_summed = self.has_summed or bool(result.any())
        return result

    def partner(self, problem: Problem) -> CaseKernel | None:
        """Return a kernel for the same tensors in another operation, preferably one that is no reference.

        It is of the same family or bitgate's own, since another's defects would pass for this one's.
        """
        session = self.gathering.evidence.session
        for family in sorted(session.families.values(), key=lambda family: family.is_reference):
            trusted = is_own(family) or family.name == self.kernel.family.name
            if not trusted or session.target.platform not in family.platforms:
                continue
            for instance in family.instances:
                kernel = Kernel(family, instance)
                if kernel.computes(problem) and kernel.refusal(problem) is None:
                    return replace(self, kernel=kernel, runner=session.runner(kernel), on_run=None)
        return None
