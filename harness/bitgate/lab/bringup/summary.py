"""summary.md of a bundle: what a reader sees first."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.lab.bringup.conclusion import Conclusion
from bitgate.lab.bringup.finding import STEPS, StepFinding, StepResult

SHOWN = 20
"""Red cases of a step."""

_FILES = """
## What is here
- `steps.jsonl`: a line a step, with all that it found
- `records/`: the verdicts of probes, small cases and the smoke tier, as `bitgate report` reads them
- `doctor.json`, `compiler.txt`, `fingerprints.json`: what the machine has, what compiled and how
- `disassembly/`, `capsules/`: of what is red; a capsule runs by itself
- `lane_maps.json`: what the probes measured of matrix fragments, where one is red
- `kernel.log`: what the kernel said of GPUs
"""


def summary(target: str, version: str, findings: Sequence[StepFinding], conclusion: Conclusion) -> str:
    lines = [
        f"# First contact: {target}",
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
