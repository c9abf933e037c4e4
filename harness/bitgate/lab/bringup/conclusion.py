"""From what the steps found to one line: is it the installation, the platform or a kernel, and who is to hear of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitgate.lab.bringup.finding import FaultDomain, StepFinding, StepResult

MEANING = {
    FaultDomain.INSTALLATION: "this machine cannot run bitgate as it is",
    FaultDomain.PLATFORM: "the platform is not as bitgate takes it to be",
    FaultDomain.KERNEL: "the machine is sound, and a kernel is wrong on it",
}
LONGEST = 400
"""Characters of a step's sentence in the last line."""
CODES = {FaultDomain.INSTALLATION: 2, FaultDomain.PLATFORM: 1, FaultDomain.KERNEL: 1}


@dataclass(frozen=True)
class Conclusion:
    """``kind``: a Class's name, or green, nothing, interrupted. ``code``: the exit code that says so."""

    kind: str
    sentence: str
    send: str
    code: int


def conclude(findings: Sequence[StepFinding], is_whole: bool = True) -> Conclusion:
    """The first red step decides: what comes after it may follow from it. ``is_whole``: it was not interrupted."""
    if not is_whole:
        done = [finding.step for finding in findings if finding.result in (StepResult.GREEN, StepResult.RED)]
        sentence = f"interrupted after {done[-1] if done else 'nothing'}" + _reds(findings)
        return Conclusion("interrupted", sentence, "run it again: what is here tells of the steps before", 130)
    reds = [finding for finding in findings if finding.result is StepResult.RED]
    if not reds:
        compared = sum(finding.compared for finding in findings)
        if compared == 0:
            return Conclusion("nothing", "nothing is red, and nothing was compared", "nothing to send", 3)
        return Conclusion("green", f"all is as it should be: {compared} results compared", "nothing to send", 0)
    first = reds[0]
    blamed = first.blames or FaultDomain.INSTALLATION
    alike = [finding for finding in reds if finding.blames is blamed]
    others = [finding.step for finding in reds if finding.blames is not blamed]
    said = "; ".join(f"{finding.step}: {finding.sentence[:LONGEST]}" for finding in alike)
    more = f"; also red, which may follow from it: {', '.join(others)}" if others else ""
    return Conclusion(str(blamed), f"{MEANING[blamed]}: {said}{more}", _send(blamed, first), CODES[blamed])


def _reds(findings: Sequence[StepFinding]) -> str:
    red = [finding.step for finding in findings if finding.result is StepResult.RED]
    return f"; red so far: {', '.join(red)}" if red else ""


def _send(blamed: FaultDomain, first: StepFinding) -> str:
    if blamed is FaultDomain.INSTALLATION:
        return f"send step '{first.step}' of summary.md to whoever administers this machine, or its ROCm or CUDA"
    if blamed is FaultDomain.PLATFORM:
        return "send the bundle to bitgate's authors, with the name of the GPU"
    families = sorted({red.kernel.partition(".")[0] for red in first.reds})
    owner = f"the owner of {', '.join(families) or 'the kernel'}"
    if any(red.suspects_compiler for red in first.reds):
        return f"send the bundle to {owner}, and its capsules to whoever makes the compiler that compiler.txt names"
    return f"send the bundle to {owner}, who finds code, capsules and records of it there"
