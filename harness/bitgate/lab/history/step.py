"""One step of a bisection, as git calls it: the case at the commit that is checked out, told by an exit code.

A commit counts as bad if its case is red, as good if it was compared and is green; where the kernel does not build, is
not there yet, or the machine failed, git is told to try a neighbour.
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
class StepVerdict:
    """``words``: the arguments of `bitgate verify`; ``place``: where it runs, in the worktree ``tree``."""

    words: tuple[str, ...]
    place: str
    tree: str


def judged(code: int, verdicts: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """git's exit code, and why, from the end of `bitgate verify --json` and its verdicts."""
    if code in (130, -2, -15):
        return ABORT, "interrupted"
    outcomes = [Outcome(verdict["verdict"]) for verdict in verdicts]
    red = [verdict for verdict in verdicts if not verdict["green"]]
    if any(Outcome(verdict["verdict"]) is Outcome.BUILD_FAILED for verdict in red):
        return SKIP, "the kernel does not build"
    wrong = [verdict for verdict in red if not Outcome(verdict["verdict"]).is_unanswered]
    if wrong:
        said = (wrong[0].get("diagnosis") or {}).get("sentence") or wrong[0]["reason"]
        return BAD, f"{wrong[0]['verdict']}: {said}".rstrip(": ")
    if code == 0 and any(verdict["compared"] for verdict in verdicts):
        return GOOD, ", ".join(dict.fromkeys(map(str, outcomes)))
    reason = next((verdict["reason"] for verdict in red or verdicts if verdict["reason"]), "")
    return SKIP, f"nothing was compared{': ' + reason if reason else ''}"


def main() -> int:
    told = StepVerdict(**json.loads(os.environ[VARIABLE]))
    begun = time.monotonic()
    try:
        code, why = _verify(told)
    except KeyboardInterrupt:
        return ABORT
    word = {GOOD: "good", BAD: "bad", SKIP: "skip"}.get(code, "stop")
    (commit,) = git.lines(Path(told.tree), "log", "-1", "--format=%h %s")
    print(f"{MARK}{word:<4} {commit}  {time.monotonic() - begun:.1f} s: {why}", flush=True)
    return code


def _verify(told: StepVerdict) -> tuple[int, str]:
    if not Path(told.place).is_dir():
        return SKIP, f"{Path(told.place).name} is not there yet"
    command = [sys.executable, "-m", "bitgate", "verify", *told.words, "--json"]
    done = subprocess.run(command, cwd=told.place, env=_environment(told), capture_output=True, text=True, check=False)
    try:
        return judged(done.returncode, json.loads(done.stdout)["verdicts"])
    except (ValueError, KeyError, TypeError):
        said = (done.stderr.strip() or f"bitgate verify ended with {done.returncode}").splitlines()[-1]
        return (ABORT, "interrupted") if done.returncode == 130 else (SKIP, said.removeprefix("bitgate: "))


def _environment(told: StepVerdict) -> dict[str, str]:
    """Of bitgate's own checkout the harness of that commit is run: kernels and harness belong together."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    own = Path(told.tree) / "harness"
    if (own / "bitgate" / "__init__.py").is_file():
        environment["PYTHONPATH"] = str(own)
    return environment


if __name__ == "__main__":
    sys.exit(main())
