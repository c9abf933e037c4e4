"""What every change must pass, on a bare Debian 12 machine with Python 3.11: README's commands, style and types.

Budget: 12 minutes on two cores, builds included; the table at the end says where the time went. `.ci/nightly` holds
the long checks.
"""

import os
import sys

from steps import POSTGRES, SLURM, Step, install, run, tox

# Tests wait for processes that start, hang and die: half as many workers again as there are cores keep the cores busy.
WORKERS = max(3, len(os.sched_getaffinity(0)) * 3 // 2)
PY = ("--ignore=tests/adversarial_kernels", f"-n{WORKERS}")
# A worker for each way to run a suite: a visit takes a core for two thirds of its time at most.
MUSEUM = ("tests/adversarial_kernels", "-n3", "--dist=loadgroup")

STEPS = (
    Step("set up", 60, install("g++", "git", "python3-venv", *SLURM, *POSTGRES)),
    Step("smoke", 220, tox("-e", "smoke"), junit="*/junit.xml"),
    Step("py", 540, tox("-e", "py", "--", *PY, "--junitxml=out/py.xml"), junit="py.xml"),
    # Not beside other tests: its deadlines of 2 s are not to be missed because they take the cores.
    Step("museum", 80, tox("-e", "py", "--", *MUSEUM, "--junitxml=out/museum.xml"), junit="museum.xml"),
    Step("lint", 15, tox("-e", "lint")),
    Step("type", 40, tox("-e", "type")),
)

if __name__ == "__main__":
    sys.exit(run(STEPS))
