"""The start of a run on an emulator: its folder, its daemon, the trial of its device, and the pace of its canary.

What is found goes into the environment, from which all processes of the run take it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.untrusted import printable
from bitgate.kernel.build import artefacts
from bitgate.kernel.build.overlay import QUICK
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict
from bitgate.runtime import trial
from bitgate.runtime.targets import Target
from bitgate.verify.canary import CANARY_CASE
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.worker.child import started
from bitgate.worker.entry import die_with_parent

LARGER_CASE = "fwd_f32_nhwgc_g1n1k32c32_y3x3_h16x16_p1x1"
"""The canary's larger case: 4.7 MFLOP, whose launches take the pace."""
REFERENCE_KERNEL = ("naive_conv", "fwd_f32")
NOMINAL_SECONDS = 0.02
"""Seconds of the two launches of the larger case on the host's kernels of a common machine, for which limits are
made."""
CANARY_SECONDS = 3600.0

READY_SECONDS = 120.0
"""Time for a daemon to serve: until then a trial that fails is tried again."""
RESTARTS = 20
"""How often a daemon that ends is started again in a run."""

Say = Callable[[str], None]


def begin(target: Target, say: Say) -> None:
    """Prepare a run on an emulated target; nothing on any other. UsageError if its device does not open, or its canary
    fails: no case would fare better."""
    if target.kind != emulation.EMULATED or emulation.pace() is not None:
        return
    folder = tempfile.mkdtemp(prefix="bitgate-emulator-")
    os.environ[emulation.FOLDER] = folder
    atexit.register(_leave, folder, os.getpid())
    daemon = Daemon(emulation.daemon(), say) if emulation.daemon() else None
    say(f"{target.name}: {_opened(target, daemon).detail}")
    pace = measured(target)
    os.environ[emulation.PACE] = str(pace)
    say(
        f"{target.name} on {emulation.emulator()}: {pace.base:.3g} s a case and {1 / pace.per_flop / 1e6:.3g} MFLOP/s"
        f" by its canary; limits are {max(1.0, pace.factor):.3g} times longer than for the host"
    )


def measured(target: Target) -> emulation.EmulatorPace:
    """Return the pace of an emulator by two small cases of a naive kernel. UsageError if they do not pass."""
    family = families(target=target.name)[REFERENCE_KERNEL[0]]
    instance = next(one for one in family.instances if one.name == REFERENCE_KERNEL[1])
    found = []
    # One unit of the library is enough; a store has whole libraries only.
    environment = os.environ if os.environ.get(artefacts.VARIABLE) else {**os.environ, QUICK: "1"}
    with CaseProcess(Opening(target.name, environment=environment), output=lambda data: None) as process:
        for case in (CANARY_CASE, LARGER_CASE):
            planned = PlannedCase(parse_case_id(case), Kernel(family, instance), target=target.name)
            for _ in range(2):  # the first one loads what later ones need
                verdict = process.verify(planned, CANARY_SECONDS)
                if verdict.outcome is not Outcome.PASS:
                    raise UsageError(_canary_failed(target, verdict))
            found.append(verdict.seconds)
    small, large = found
    flops = parse_case_id(LARGER_CASE).flops
    per_flop = max(1e-12, (large["total"] - small["total"]) / flops)
    return emulation.EmulatorPace(small["total"], per_flop, large["kernel"] / NOMINAL_SECONDS)


def _canary_failed(target: Target, verdict: Verdict) -> str:
    said = printable(verdict.reason)
    return (
        f"{target.name}: the canary {verdict.key.case} ends in {verdict.outcome} on {emulation.emulator()}: {said}:"
        f" bitgate bringup --target {target.name} says whether kernel, runtime or emulator is to blame"
    )


def _opened(target: Target, daemon: Daemon | None) -> trial.DeviceReport:
    """Open the device once, waiting for the daemon to serve."""
    until = time.monotonic() + (READY_SECONDS if daemon else 0.0)
    while True:
        try:
            return trial.opened(target.name)
        except UsageError as error:
            if daemon is not None and daemon.has_ended:
                raise UsageError(f"{emulation.DAEMON}: {daemon.end()}") from None
            if time.monotonic() >= until:
                raise UsageError(f"{error} (under {emulation.emulator()})") from None
            time.sleep(0.2)


class Daemon:
    """An emulator's process that several launchers attach to; one that ends is started again, and that is reported."""

    def __init__(self, command: tuple[str, ...], say: Say) -> None:
        self._command, self._say = command, say
        self._restarts = 0
        self._is_over = False
        self._log = Path(os.environ[emulation.FOLDER]) / "daemon.log"
        self._process = self._start()
        atexit.register(self._stop, os.getpid())
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> str:
        """Return how it ended, with the last line that it printed."""
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        said = f" ({printable(lines[-1][:200])})" if lines else ""
        return f"the daemon ended with status {self._process.poll()}{said}: run it by hand, and see what it lacks"

    def _start(self) -> Popen[bytes]:
        environment = emulation.environment(os.environ)
        try:
            with self._log.open("ab") as log:
                return started([*self._command], stdout=log, stderr=log, env=environment, preexec_fn=die_with_parent)
        except OSError as error:
            raise UsageError(f"{emulation.DAEMON}: {self._command[0]}: {error.strerror}: name a program") from None

    def _watch(self) -> None:
        while True:
            self._process.wait()
            if self._is_over or self._restarts >= RESTARTS:
                return
            self._restarts += 1
            self._say(f"{self.end()}; started again ({self._restarts} of {RESTARTS})")
            time.sleep(0.2)
            self._process = self._start()

    def _stop(self, owner: int) -> None:
        if os.getpid() == owner:
            self._is_over = True
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)


def _leave(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def say(line: str) -> None:
    print(f"bitgate: {printable(line)}", file=sys.__stderr__, flush=True)
