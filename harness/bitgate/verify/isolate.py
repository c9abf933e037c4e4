"""A case in a process of its own: death by a signal becomes CRASHED, running out of time HUNG."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from bitgate.errors import UsageError
from bitgate.problem import human
from bitgate.problem.foreign import ck_profiler_line
from bitgate.record import Outcome, Verdict
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repro import repro_line

TIME_LIMIT = 600.0
"""Seconds that a case may take in its process, build included."""


def verify_isolated(
    planned: PlannedCase,
    load: Sequence[Path] = (),
    overlay: Mapping[str, Path] | None = None,
    time_limit: float = TIME_LIMIT,
) -> Verdict:
    """``verify`` in a fresh process, which ends with the case whatever the kernel did. UsageError as ``verify``."""
    started = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "bitgate.verify.isolate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        answer, _ = process.communicate(pickle.dumps((planned, tuple(load), dict(overlay or {}))), time_limit)
    except subprocess.TimeoutExpired:
        return _dead(planned, load, Outcome.HUNG, f"no verdict after {time_limit:g} s", started)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return _dead(planned, load, Outcome.CRASHED, f"the process died of {name}", started)
    try:
        value = pickle.loads(answer)
    except (pickle.UnpicklingError, EOFError):
        reason = f"the process ended with code {process.returncode} and no verdict"
        return _dead(planned, load, Outcome.CRASHED, reason, started)
    if isinstance(value, UsageError):
        raise value
    assert isinstance(value, Verdict)
    return value


def _dead(planned: PlannedCase, load: Sequence[Path], outcome: Outcome, reason: str, started: float) -> Verdict:
    from bitgate.device.targets import named

    target = named(planned.target)
    return Verdict(
        key=planned.key,
        outcome=outcome,
        reason=reason,
        suite=planned.suite,
        test=planned.test,
        tier=planned.tier,
        platform=target.platform,
        device_kind=target.kind,
        device_name=target.device_name,
        seconds={"total": perf_counter() - started},
        repro=repro_line(planned, load) + " --isolate",
        foreign=ck_profiler_line(planned.problem) or "",
        human=human(planned.problem),
    )


def _child() -> None:
    """Read a case from stdin, write its pickled verdict to what was stdout; whatever is printed goes to stderr."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    from bitgate.verify.session import Session
    from bitgate.verify.spine import verify

    planned, load, overlay = pickle.loads(sys.stdin.buffer.read())
    value: Verdict | UsageError
    try:
        value = verify(planned, Session(planned.target, load=load, overlay=overlay))
    except UsageError as error:
        value = UsageError(str(error))
    answer.write(pickle.dumps(value))
    answer.close()


if __name__ == "__main__":
    _child()
