"""One step of a bisection, as git calls it: the case at the commit that is checked out, with an exit code as result.

A commit counts as bad if its case is red, as good if it was compared and is green. Where the kernel does not build,
does not exist yet, or the machine failed, git tries a neighbour.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core import git
from bitgate.results.record import Outcome

GOOD, BAD, SKIP, ABORT = 0, 1, 125, 255
"""Exit codes that git bisect run knows."""
VARIABLE = "BITGATE_BISECT"
MARK = "step "


@dataclass(frozen=True)
class StepRequest:
    """A step's request. ``words``: arguments of `bitgate verify`; ``place``: where it runs, in the worktree
    ``tree``."""

    words: tuple[str, ...]
    place: str
    tree: str


def judged(code: int, verdicts: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """Return git's exit code with the reason, from the exit code of `bitgate verify --json` and its verdicts."""
    if code in (130, -2, -15):
        return ABORT, "interrupted"
    outcomes = [Outcome(verdict["verdict"]) for verdict in verdicts]
    red = [verdict for verdict in verdicts if not verdict["green"]]
    if any(Outcome(verdict["verdict"]) is Outcome.BUILD_FAILED for verdict in red):
        return SKIP, "the kernel does not build"
    wrong = [verdict for verdict in red if not Outcome(verdict["verdict"]).is_unanswered]
    if wrong:
        message = (wrong[0].get("diagnosis") or {}).get("sentence") or wrong[0]["reason"]
        return BAD, f"{wrong[0]['verdict']}: {message}".rstrip(": ")
    if code == 0 and any(verdict["compared"] for verdict in verdicts):
        return GOOD, ", ".join(dict.fromkeys(map(str, outcomes)))
    reason = next((verdict["reason"] for verdict in red or verdicts if verdict["reason"]), "")
    return SKIP, f"nothing was compared{': ' + reason if reason else ''}"


def main() -> int:
    request = StepRequest(**json.loads(os.environ[VARIABLE]))
    begun = time.monotonic()
    try:
        code, why = _verify(request)
    except KeyboardInterrupt:
        return ABORT
    word = {GOOD: "good", BAD: "bad", SKIP: "skip"}.get(code, "stop")
    (commit,) = git.lines(Path(request.tree), "log", "-1", "--format=%h %s")
    print(f"{MARK}{word:<4} {commit}  {time.monotonic() - begun:.1f} s: {why}", flush=True)
    return code


def _verify(request: StepRequest) -> tuple[int, str]:
    if not Path(request.place).is_dir():
        return SKIP, f"{Path(request.place).name} does not exist yet"
    command = [sys.executable, "-m", "bitgate", "verify", *request.words, "--json"]
    done = subprocess.run(
        command, cwd=request.place, env=_environment(request), capture_output=True, text=True, check=False
    )
    try:
        return judged(done.returncode, json.loads(done.stdout)["verdicts"])
    except (ValueError, KeyError, TypeError):
        message = (done.stderr.strip() or f"bitgate verify ended with {done.returncode}").splitlines()[-1]
        return (ABORT, "interrupted") if done.returncode == 130 else (SKIP, message.removeprefix("bitgate: "))


def _environment(request: StepRequest) -> dict[str, str]:
    """Return the environment: in a checkout of bitgate the harness of that commit runs, since kernels and harness
    belong together."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    own = Path(request.tree) / "harness"
    if (own / "bitgate" / "__init__.py").is_file():
        environment["PYTHONPATH"] = str(own)
    return environment


if __name__ == "__main__":
    sys.exit(main())
