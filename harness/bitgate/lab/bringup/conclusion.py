"""The conclusion from the steps' findings: installation, platform or kernel is broken, and who should hear of it.

It is one line for the terminal, and summary.md of the bundle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitgate.lab.bringup.finding import STEPS, FaultDomain, StepFinding, StepResult

MEANING = {
    FaultDomain.INSTALLATION: "this machine cannot run bitgate as it is",
    FaultDomain.PLATFORM: "the platform is not as bitgate takes it to be",
    FaultDomain.KERNEL: "the machine is sound, and a kernel is wrong on it",
    FaultDomain.EMULATOR: "the emulator is wrong, or lacks what a kernel needs",
}
LONGEST = 400
"""Most characters of a step's sentence in the last line."""
CODES = {FaultDomain.INSTALLATION: 2, FaultDomain.PLATFORM: 1, FaultDomain.KERNEL: 1, FaultDomain.EMULATOR: 1}


@dataclass(frozen=True)
class Conclusion:
    """The conclusion of a bring-up. ``kind``: a FaultDomain's name, or green, nothing, interrupted. ``code``: the exit
    code."""

    kind: str
    sentence: str
    send: str
    code: int


def conclude(findings: Sequence[StepFinding], is_whole: bool = True) -> Conclusion:
    """Conclude from the first red step: those after it may follow from it. ``is_whole``: it was not interrupted."""
    if not is_whole:
        done = [finding.step for finding in findings if finding.result in (StepResult.GREEN, StepResult.RED)]
        sentence = f"interrupted after {done[-1] if done else 'nothing'}" + _reds(findings)
        return Conclusion("interrupted", sentence, "run it again: the findings here are of the steps before", 130)
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
    sentences = "; ".join(f"{finding.step}: {finding.sentence[:LONGEST]}" for finding in alike)
    more = f"; also red, which may follow from it: {', '.join(others)}" if others else ""
    return Conclusion(str(blamed), f"{MEANING[blamed]}: {sentences}{more}", _send(blamed, first), CODES[blamed])


def _reds(findings: Sequence[StepFinding]) -> str:
    red = [finding.step for finding in findings if finding.result is StepResult.RED]
    return f"; red so far: {', '.join(red)}" if red else ""


def _send(blamed: FaultDomain, first: StepFinding) -> str:
    if blamed is FaultDomain.INSTALLATION:
        return f"send step '{first.step}' of summary.md to the administrator of this machine, or of its ROCm or CUDA"
    if blamed is FaultDomain.PLATFORM:
        return "send the bundle to bitgate's authors, with the name of the GPU"
    if blamed is FaultDomain.EMULATOR:
        return "send the bundle to the emulator's authors: its capsules run without bitgate (bitgate capsule export)"
    families = sorted({red.kernel.partition(".")[0] for red in first.reds})
    authors = f"the authors of {', '.join(families) or 'the kernel'}"
    if any(red.suspects_compiler for red in first.reds):
        return f"send the bundle to {authors}, and its capsules to the makers of the compiler in compiler.txt"
    return f"send the bundle to {authors}: it holds code, capsules and records"


SHOWN = 20
"""Most red cases listed of a step."""

_FILES = """
## Files
- `steps.jsonl`: a line a step, with all its findings
- `records/`: the verdicts of probes, small cases and the smoke tier, as `bitgate report` reads them
- `doctor.json`, `compiler.txt`, `fingerprints.json`: the machine's tools, the compiler and its flags
- `disassembly/`, `capsules/`: evidence on red cases; a capsule runs by itself
- `lane_maps.json`: matrix fragments as the probes measured them, where one is red
- `kernel.log`: lines of the operating system's log about GPUs
"""


def summary(target: str, version: str, findings: Sequence[StepFinding], conclusion: Conclusion) -> str:
    """Format summary.md, which a reader of the bundle sees first."""
    lines = [
        f"# Bring-up: {target}",
        "",
        f"**{conclusion.kind}**: {_cell(conclusion.sentence)}",
        "",
        f"What next: {conclusion.send}",
        "",
        f"bitgate {version}",
        "",
        "| | step | | seconds | |",
        "|---|---|---|---|---|",
    ]
    numbers = {step.name: number for number, step in enumerate(STEPS, 1)}
    for found in findings:
        number = numbers[found.step]
        lines.append(f"| {number} | {found.step} | {found.result} | {found.seconds:.1f} | {_cell(found.sentence)} |")
    for found in findings:
        if found.result is StepResult.RED and found.reds:
            lines += ["", f"## Red in {found.step}"]
            lines += [
                f"- `{red.kernel}` `{red.event.get('case')}`: {_cell(red.sentence)}" for red in found.reds[:SHOWN]
            ]
            lines += [f"- and {len(found.reds) - SHOWN} more"] if len(found.reds) > SHOWN else []
    return "\n".join(lines) + "\n" + _FILES


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
