"""The run of a bring-up: each step in its turn, whatever the result of those before, and the bundle at the end."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bitgate import __version__
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.lab.bringup import cases, evidence
from bitgate.lab.bringup.bundle import Bundle
from bitgate.lab.bringup.conclusion import Conclusion, conclude, summary
from bitgate.lab.bringup.finding import STEPS, BringupStep, RedCase, StepFinding, StepResult, obstacle
from bitgate.lab.bringup.server import taken
from bitgate.lab.bringup.smoke import LOG, records_in, smoke
from bitgate.worker.endable import Endable


class Scratch(Endable):
    """A folder for the output of other processes, made when it is needed: a full disk spoils no other step."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def folder(self, name: str) -> Path:
        """Return a place in the folder, not made yet. Raises OSError if the folder cannot be made."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="bitgate-first-contact-", ignore_cleanup_errors=True)
        return self.made / name

    @property
    def made(self) -> Path:
        """The folder, or a path that does not exist if it was not needed."""
        return Path(self._folder.name) if self._folder else Path("/nonexistent")

    def end(self) -> None:
        if self._folder is not None:
            folder, self._folder = self._folder, None
            folder.cleanup()


Report = Callable[[str], None]
_DISASSEMBLY = BringupStep("disassembly", "", STEPS[-1].blames, 180)


@dataclass(frozen=True)
class BringupOptions:
    """The options of a bring-up.

    ``doctor`` is the ``module:function`` of the first step; ``kernel`` a glob over family.instance for the last two.
    ``smoke_arguments`` are those of ``bitgate run``; None leaves the smoke tier out. ``second_launcher`` starts another
    emulator, on which red cases of an emulated target are compared.
    """

    target: str
    project: Project
    doctor: str
    kernel: str = ""
    smoke_arguments: Sequence[str] | None = None
    second_launcher: str = ""
    steps: Sequence[BringupStep] = STEPS


@dataclass
class Bringup:
    """A bring-up in progress. ``report`` receives lines of progress."""

    options: BringupOptions
    bundle: Bundle
    report: Report
    findings: dict[str, StepFinding] = field(default_factory=dict)
    records: dict[str, list[str]] = field(default_factory=dict)
    fingerprints: dict[str, None] = field(default_factory=dict)

    def take(self, step: BringupStep, number: int, scratch: Scratch) -> None:
        """Run one step; its finding is in the journal before the next begins."""
        begun = time.monotonic()
        try:
            self.report(f"[{number}/{len(self.options.steps)}] {step.name}: {step.does}")
            found = self._finding_of(step, scratch)
        except KeyboardInterrupt:
            self._note(StepFinding(step.name, StepResult.INTERRUPTED, "Ctrl-C", time.monotonic() - begun))
            raise
        except (UsageError, OSError) as error:
            found = StepFinding(step.name, StepResult.RED, " ".join(str(error).split()), blames=step.blames)
        except Exception as error:  # a defect of bitgate: the next step may still be useful
            lines = str(error).strip().splitlines() or [type(error).__name__]
            found = StepFinding(
                step.name, StepResult.RED, f"{type(error).__name__}: {lines[-1]}"[:600], blames=step.blames
            )
            self.bundle.text(f"steps/{step.name}_error.txt", str(error))
        self._note(replace(found, seconds=time.monotonic() - begun))

    def skip(self, step: BringupStep, number: int, why: str) -> None:
        self.report(f"[{number}/{len(self.options.steps)}] {step.name}")
        self._note(StepFinding(step.name, StepResult.NOT_TRIED, why))

    def gather(self, scratch: Scratch) -> None:
        """Gather evidence on the red cases."""
        reds = [red for found in self.findings.values() for red in found.reds]
        for found in self.findings.values():
            if found.step == "probes" and found.reds:
                maps = {red.kernel: dict(red.event.get("dispatch") or {}) for red in found.reds}
                self.bundle.json("lane_maps.json", maps)
        self._disassemble(reds)
        self._write_capsules([red for red in reds if "probe" not in str(red.event.get("fill"))], scratch)

    def keep_records(self, scratch: Scratch) -> None:
        """Put the records into the bundle, small files first: if something does not fit, it is the longest."""
        self.bundle.json("fingerprints.json", [json.loads(one) for one in self.fingerprints])
        self.bundle.text("kernel.log", evidence.kernel_log())
        for name, lines in self.records.items():
            self.bundle.text(f"records/{name}.jsonl", "".join(line + "\n" for line in lines))
        found = self.findings.get("smoke")
        if found is not None and found.reds:
            lines = [json.dumps(dict(red.event), default=str) for red in found.reds]
            self.bundle.text("records/smoke_red.jsonl", "\n".join(lines) + "\n")
        for path in records_in(scratch.made):
            self.bundle.file("records/smoke.jsonl", path.read_bytes())
        for path in scratch.made.glob(f"*/{LOG}"):
            self.bundle.text("records/smoke.log", path.read_text(errors="replace"))

    def _finding_of(self, step: BringupStep, scratch: Scratch) -> StepFinding:
        options = self.options
        if step.name == "smoke":
            return smoke(step, options.smoke_arguments or (), scratch.folder("smoke"), self.report)
        if step.name in ("probes", "tiny"):
            keep, output = self._keeper(step.name), _StepOutput()
            try:
                if step.name == "probes":
                    return cases.probes(step, options.target, options.project, self.report, keep, output)
                asked = (step, options.target, options.project, options.kernel)
                return cases.tiny(*asked, self.report, keep, output, options.second_launcher)
            finally:
                if output.data:
                    self.bundle.text(f"steps/{step.name}_output.txt", output.data.decode(errors="replace"))
        do = options.doctor if step.name == "doctor" else _BY_CHILD[step.name]
        found, files = taken(step, do, {"target": options.target, "project": options.project.as_json()}, self.report)
        for name, text in files.items():
            own = name if name.startswith(("doctor", "compiler")) else f"steps/{step.name}_{name}"
            self.bundle.text(own, text)
        return found

    def _keeper(self, name: str) -> Callable[[Mapping[str, Any]], None]:
        lines = self.records.setdefault(name, [])

        def keep(event: Mapping[str, Any]) -> None:
            lines.append(json.dumps(dict(event), default=str))
            self.fingerprints[json.dumps(event.get("fingerprint"), sort_keys=True)] = None

        return keep

    def _note(self, found: StepFinding) -> None:
        self.findings[found.step] = found
        trouble = self.bundle.journal(found.as_json())
        took = f"  {found.seconds:.1f} s" if found.seconds else ""
        self.report(f"      {found.result}{took}  {found.sentence}")
        if trouble:
            self.report(f"      (not written down: {trouble})")

    def _disassemble(self, reds: Sequence[RedCase]) -> None:
        kernels = list(dict.fromkeys(red.kernel for red in evidence.chosen(reds, len(reds))))
        for kernel in kernels[: evidence.MOST_DISASSEMBLIES]:
            self.report(f"disassembly of {kernel}")
            arguments = {"target": self.options.target, "project": self.options.project.as_json(), "kernel": kernel}
            found, files = taken(_DISASSEMBLY, f"{evidence.__name__}:disassembly", arguments, self.report)
            if found.result is StepResult.RED:
                self.bundle.left_out[f"disassembly/{kernel}.s"] = found.sentence
            for name, text in files.items():
                self.bundle.text(f"disassembly/{name}", text)

    def _write_capsules(self, reds: Sequence[RedCase], scratch: Scratch) -> None:
        for number, red in enumerate(evidence.chosen(reds, evidence.MOST_CAPSULES), 1):
            self.report(f"capsule {number}: {red.event.get('case')} on {red.kernel}")
            name, out = f"capsules/{number}_{red.kernel}", scratch.folder(f"capsule{number}")
            if why := evidence.write_capsule(red, self.options.target, self.options.project, out):
                self.bundle.left_out[name] = why
            else:
                self.bundle.folder(name, out)


class _StepOutput(bytearray):
    """The last part of what kernels print."""

    MOST = 1 << 20

    def __call__(self, data: bytes) -> None:
        self.extend(data)
        del self[: -self.MOST]

    @property
    def data(self) -> bytes:
        return bytes(self)


_BY_CHILD = {
    "runtime": "bitgate.lab.bringup.installation:runtime",
    "build": "bitgate.lab.bringup.installation:build",
    "device": "bitgate.lab.bringup.installation:device",
    "tools": "bitgate.lab.bringup.tools:tools",
}


@dataclass(frozen=True)
class BringupResult:
    """The result of a bring-up. ``size``: bytes of the bundle; ``trouble``: why there is no bundle."""

    conclusion: Conclusion
    findings: tuple[StepFinding, ...]
    size: int
    trouble: str = ""


def bring_up(options: BringupOptions, bundle: Bundle, report: Report) -> BringupResult:
    """Run all steps and write the bundle, also after an interrupt.

    Raises OSError or UsageError before the first step if the bundle's place cannot be written to.
    """
    bundle.begin()
    one = Bringup(options, bundle, report)
    with Scratch() as scratch:
        is_whole = _run_steps(one, scratch)
        one.keep_records(scratch)
        findings = tuple(one.findings.values())
        conclusion = conclude(findings, is_whole)
        try:
            size = bundle.write(summary(options.target, __version__, findings, conclusion))
        except OSError as error:
            return BringupResult(conclusion, findings, 0, error.strerror or str(error))
    return BringupResult(conclusion, findings, size)


def _run_steps(one: Bringup, scratch: Scratch) -> bool:
    """Run the steps, and return whether they were not interrupted."""
    steps = one.options.steps
    try:
        for number, step in enumerate(steps, 1):
            if step.name == "smoke" and one.options.smoke_arguments is None:
                one.skip(step, number, "left out as requested")
            elif why := obstacle(step, one.findings):
                one.skip(step, number, why)
            else:
                one.take(step, number, scratch)
        one.gather(scratch)
    except KeyboardInterrupt:
        one.report("interrupted: the bundle holds what is known so far")
        for number, step in enumerate(steps, 1):
            if step.name not in one.findings:
                one.skip(step, number, "interrupted")
        return False
    except Exception as error:  # the findings matter more than evidence
        one.report(f"evidence is missing: {type(error).__name__}: {error}")
        one.bundle.left_out["evidence"] = f"{type(error).__name__}: {error}"
    return True
