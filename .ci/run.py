"""What every change must pass, on a bare Debian 12 machine with Python 3.11: README's commands, style and types.

Budget: 25 minutes on two cores; the table at the end says where the time went. `.ci/nightly` holds the long checks.
"""

import sys

from steps import Step, install, run, tox

STEPS = (
    Step("set up", 120, install("g++", "git", "python3-venv")),
    Step("smoke", 300, tox("-e", "smoke"), junit="*/junit.xml"),
    Step("py", 600, tox("-e", "py", "--", "--junitxml=out/py.xml"), junit="py.xml"),
    Step("lint", 90, tox("-e", "lint")),
    Step("type", 180, tox("-e", "type")),
)

if __name__ == "__main__":
    sys.exit(run(STEPS))
