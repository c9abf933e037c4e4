"""What every change must pass, on a bare Debian 12 machine with Python 3.11: README's commands, style and types.

Budget: 15 minutes on two cores, builds included; the table at the end says where the time went. `.ci/nightly` holds
the long checks.
"""

import sys

from steps import Step, install, run, tox

STEPS = (
    Step("set up", 120, install("g++", "git", "python3-venv")),
    Step("smoke", 300, tox("-e", "smoke"), junit="*/junit.xml"),
    Step("py", 420, tox("-e", "py", "--", "--junitxml=out/py.xml", "--ignore=tests/museum"), junit="py.xml"),
    # By itself: its deadlines of 2 s are not to be missed because other tests take the cores.
    Step("museum", 200, tox("-e", "py", "--", "tests/museum", "-n0", "--junitxml=out/museum.xml"), junit="museum.xml"),
    Step("lint", 30, tox("-e", "lint")),
    Step("type", 60, tox("-e", "type")),
)

if __name__ == "__main__":
    sys.exit(run(STEPS))
