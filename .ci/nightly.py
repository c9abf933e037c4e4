"""The long checks, on a bare Debian 12 machine: the regression tier, all seeded defects, PyTorch as a third party to
our references, and device code for gfx90a built by Debian's hipcc (which needs no GPU)."""

import sys

from steps import Step, install, run, tox

STEPS = (
    Step("set up", 600, install("g++", "git", "python3-venv", "hipcc", "libamdhip64-dev")),
    Step("regression", 1800, tox("-e", "regression"), junit="*/junit.xml"),
    Step("seeded defects", 3600, tox("-e", "bitgate", "--", "faults", "run", "--tier", "smoke", "--target", "host")),
    Step("py with torch", 1800, tox("-e", "py-torch", "--", "--junitxml=out/py.xml"), junit="py.xml"),
    Step("hipcc gfx90a", 900, tox("-e", "bitgate", "--", "compile", "--target", "gfx90a")),
)

if __name__ == "__main__":
    sys.exit(run(STEPS))
