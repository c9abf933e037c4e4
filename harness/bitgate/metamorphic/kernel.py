"""A kernel instance as a function of data, for laws to call as often as they like."""

from __future__ import annotations

from dataclasses import dataclass, field

from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.declared import is_own, refusal_of
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.metamorphic.data import Cells, Data, stored, values
from bitgate.operations.convolution import ConvProblem, Pass
from bitgate.verify.poison import poisoned
from bitgate.verify.running import How, Launch, Run, run_once
from bitgate.verify.session import Session


class KernelBrokeDown(Exception):
    """The launch crashed, or damaged what is not its own: no law can be tried."""

    def __init__(self, problem: ConvProblem, run: Run) -> None:
        super().__init__(run.crash or run.damage)
        self.problem = problem
        self.is_damage = not run.crash


@dataclass
class Kernel:
    """Calls launch the instance on the session's device. ``records``: what each launch did."""

    session: Session
    family: KernelFamily
    instance: Instance
    options: dict[str, str] = field(default_factory=dict)
    schedule: str = ""
    records: list[DispatchRecord] = field(default_factory=list)
    has_summed: bool = False
    """Was any cell of any result other than zero? If not, laws hold for a kernel that only clears its result."""

    def takes(self, problem: ConvProblem) -> bool:
        """Is the problem one that the instance supports?"""
        if problem.operation.name not in self.family.operations_of(self.instance):
            return False
        return refusal_of(self.family, self.instance, problem, self.options) is None

    def __call__(self, problem: ConvProblem, data: Data) -> Cells:
        """The result in logical order. KernelBrokeDown, KernelRefused, KernelFailed, HipError."""
        library = self.session.library(self.family.name, self.instance.name)
        workspace = library.workspace_size(problem, self.instance.name, self.options)
        launch = Launch(library, problem, self.instance.name, self.options, workspace)
        blank = poisoned(problem.tensors[problem.result])
        run = run_once(self.session.device, launch, stored(problem, data), blank, How("right", self.schedule))
        if run.crash or run.damage:
            raise KernelBrokeDown(problem, run)
        if run.record is not None:
            self.records.append(run.record)
        result = values((run.result or blank).logical)
        self.has_summed = self.has_summed or bool(result.any())
        return result

    def partner(self, problem: ConvProblem) -> Kernel | None:
        """A kernel for the same layer in another pass, one that is no reference if there is one: of the same family or
        bitgate's, since another's defects would pass for this one's."""
        families = sorted(self.session.families.values(), key=lambda family: family.is_reference)
        for family in families:
            trusted = is_own(family) or family.name == self.family.name
            if not trusted or self.session.target.platform not in family.platforms:
                continue
            for instance in family.instances:
                other = Kernel(self.session, family, instance, schedule=self.schedule)
                if other.takes(problem):
                    return other
        return None


PASSES = (Pass.FWD, Pass.BWD_DATA, Pass.BWD_WEIGHT)
