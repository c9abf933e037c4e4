"""One run of a tier in a separate process, as a user would start it: a fault may crash or hang it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from bitgate.core.errors import UsageError
from bitgate.kernel.build import overlay as overlays
from bitgate.results.record import RecordError, Verdict, read

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class TierRun:
    """The results of a run. ``code`` is its exit code, negative if a signal ended it, None if its time was up."""

    code: int | None
    verdicts: tuple[Verdict, ...]
    output: str
    seconds: float

    @property
    def reds(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.green)


def run_tier(
    tier: str,
    target: str,
    folder: Path,
    *,
    root: Path,
    overlay: Path | None,
    limit_seconds: float,
    most_reds: int,
    threads: int,
    stop: Event,
    pytest_arguments: Sequence[str],
    is_enough: Callable[[Verdict], bool] | None = None,
) -> TierRun:
    """Run ``tier`` of the tests that ``pytest_arguments`` name, in the folder ``root`` of a project.

    Sources of ``overlay`` replace the project's. The run ends after ``most_reds`` red verdicts (0: never), and is
    killed once ``stop`` is set, or a verdict ``is_enough``. Node ids of the verdicts are relative to ``folder``.
    """
    started = time.monotonic()
    # A run that was killed may leave a process that still writes.
    with tempfile.TemporaryDirectory(prefix="bitgate-faults-", ignore_cleanup_errors=True) as scratch:
        out = Path(scratch)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "bitgate.pytest_plugin",
            "-p",
            "no:cacheprovider",
            f"--rootdir={folder}",
        ]
        command += [f"--tier={tier}", f"--target={target}", *pytest_arguments]
        command += [f"--maxfail={most_reds}"]
        environment = {**os.environ, "BITGATE_OUT": str(out), "BITGATE_THREADS": str(threads)}
        for variable in (overlays.VARIABLE, overlays.ROOT, overlays.QUICK):
            environment.pop(variable, None)
        if overlay is not None:
            environment |= {overlays.VARIABLE: str(overlay), overlays.ROOT: str(root), overlays.QUICK: "1"}
        output = out / "output.txt"

        def is_over() -> bool:
            return stop.is_set() or (is_enough is not None and any(map(is_enough, _verdicts(out))))

        code = _run(command, root, environment, output, limit_seconds, is_over)
        return TierRun(
            code=code,
            verdicts=_verdicts(out),
            output=output.read_text(errors="replace"),
            seconds=time.monotonic() - started,
        )


def _run(
    command: Sequence[str],
    folder: Path,
    environment: dict[str, str],
    log: Path,
    limit_seconds: float,
    is_over: Callable[[], bool],
) -> int | None:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        end = time.monotonic() + limit_seconds
        try:
            while not is_over() and time.monotonic() < end:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(POLL_SECONDS)
            return None
        finally:
            # Workers of a run that crashed, hangs or was interrupted are killed with it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _verdicts(out: Path) -> tuple[Verdict, ...]:
    try:
        return tuple(verdict for file in sorted(out.rglob("results.jsonl")) for verdict in read(file))
    except RecordError as error:
        raise UsageError(f"the run left a results file that cannot be read: {error}") from None
