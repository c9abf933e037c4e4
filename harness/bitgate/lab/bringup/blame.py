"""The part to blame for a case that is red on an emulator: by the same case on the host, and on a second emulator.

The host runs the same source, a second emulator the same code object. Neither has a GPU's word: two emulators may share
a mistake, and the host says nothing about device code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.lab.bringup.finding import FaultDomain
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.worker.child import Output

MOST = 8
"""Red cases that are compared: the first ones decide."""


@dataclass(frozen=True)
class Blame:
    """The part to blame, and why in one sentence."""

    part: FaultDomain
    why: str

    @property
    def text(self) -> str:
        return f"to blame: {self.part}: {self.why}"


_HIP_CALL = re.compile(r"(?:\w+: )?hipError\w+|the HIP runtime")


def blame(emulated: Verdict, host: Verdict | None, second: Verdict | None) -> Blame:
    """Return the part to blame for a red verdict; ``host`` and ``second`` are None where they could not be asked."""
    if host is not None and not host.green and not host.outcome.is_unanswered:
        return Blame(FaultDomain.KERNEL, f"the host, which has the same source, ends in {host.outcome} too")
    if emulated.outcome.is_unanswered and _HIP_CALL.match(emulated.reason):
        return Blame(FaultDomain.INSTALLATION, "a call of the HIP runtime failed; no result was compared")
    on_host = "" if host is None else f"; the host passes it ({host.outcome})"
    if second is not None and second.green:
        return Blame(FaultDomain.EMULATOR, f"a second emulator passes the same code object{on_host}")
    if second is not None and not second.outcome.is_unanswered and second.outcome is emulated.outcome:
        return Blame(FaultDomain.KERNEL, f"a second emulator ends in {second.outcome} too: device code{on_host}")
    if second is not None:
        return Blame(FaultDomain.EMULATOR, f"a second emulator ends in {second.outcome}: they differ{on_host}")
    if emulated.outcome.is_unanswered:
        return Blame(FaultDomain.EMULATOR, f"its process ended without a fault of the kernel{on_host}")
    undecided = "device code or the emulator: --second-launcher compares the same code object on another one"
    return Blame(FaultDomain.KERNEL, f"{undecided}{on_host}")


def blamed_cases(
    reds: Sequence[tuple[PlannedCase, Verdict]],
    project: Project,
    seconds: float,
    second_launcher: str,
    output: Output,
) -> dict[str, Blame]:
    """Return what to blame for the first red cases, by their ids, by running each on the host and elsewhere."""
    if not reds:
        return {}
    cases = [case for case, _ in reds[:MOST]]
    bare = {name: value for name, value in os.environ.items() if name not in _OF_EMULATORS}
    known = families(project, "host")
    on_host = [_on_host(case, known) for case in cases]
    host = _verdicts(on_host, Opening("host", project, environment=bare), seconds, output)
    second: Mapping[int, Verdict] = {}
    if second_launcher:
        other = {**os.environ, emulation.LAUNCHER: second_launcher, emulation.DAEMON: ""}
        second = _verdicts(cases, Opening(cases[0].target, project, environment=other), seconds, output)
    return {
        case.id: blame(verdict, host.get(at), second.get(at)) for at, (case, verdict) in enumerate(reds[: len(cases)])
    }


_OF_EMULATORS = (emulation.LAUNCHER, emulation.DAEMON, emulation.PACE, emulation.RACE)
"""Variables that a process of the host is not to have."""


def _on_host(case: PlannedCase, known: Mapping[str, KernelFamily]) -> PlannedCase | None:
    """Return a case on the host, on the instance of the same name; None where the host has none."""
    try:
        kernel = kernel_called(known, *case.kernel.names)
    except UsageError:
        return None
    return replace(case, kernel=kernel, target="host", schedule="forward")


def _verdicts(
    cases: Sequence[PlannedCase | None], opening: Opening, seconds: float, output: Output
) -> dict[int, Verdict]:
    """Return the verdicts of those cases that can be asked about, by their places."""
    found: dict[int, Verdict] = {}
    with CaseProcess(opening, progress=lambda line: None, output=output) as process:
        for at, case in enumerate(cases):
            if case is None:
                continue
            try:
                found[at] = process.verify(case, seconds)
            except (UsageError, RuntimeError):
                continue
            if found[at].outcome is not Outcome.PASS:
                process.end()
    return found
