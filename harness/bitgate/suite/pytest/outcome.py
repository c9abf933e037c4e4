"""Exit codes, as everywhere in bitgate: 0 green, 1 red, 2 usage, 3 nothing was compared, 130 interrupted."""

from __future__ import annotations

import sys

import pytest

from bitgate.suite.pytest.run import RunEnd, TestRun

GREEN, RED, USAGE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130

# pytest's own codes. A session that ended by INTERRUPTED may have been stopped by itself: ``Run.ended`` decides.
_OF_PYTEST = {
    pytest.ExitCode.OK: GREEN,
    pytest.ExitCode.TESTS_FAILED: RED,
    pytest.ExitCode.INTERRUPTED: INTERRUPTED,
    pytest.ExitCode.INTERNAL_ERROR: USAGE,
    pytest.ExitCode.USAGE_ERROR: USAGE,
    pytest.ExitCode.NO_TESTS_COLLECTED: NOTHING,
}
_OF_END = {RunEnd.STOPPED: RED, RunEnd.UNCOLLECTED: USAGE, RunEnd.INTERRUPTED: INTERRUPTED}


def exit_code(status: int, run: TestRun | None) -> int:
    """Return the exit code of a session that ended with pytest's ``status``.

    The record has the last word on green: a lost case, or a run in which nothing was compared, is not.
    """
    if run is not None and status == pytest.ExitCode.INTERRUPTED:
        return _OF_END.get(run.ended, INTERRUPTED)
    code = _OF_PYTEST.get(pytest.ExitCode(status), status) if status in list(pytest.ExitCode) else status
    if run is None or run.summary is None or code not in (GREEN, NOTHING):
        return code
    code = run.summary.exit_code
    # A kernel that shares pytest's process could have made it green.
    return NOTHING if run.in_process and code == GREEN else code


def complain(error: pytest.UsageError) -> None:
    for line in error.args:
        print(f"ERROR: {line}", file=sys.stderr)
