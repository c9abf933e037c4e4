"""The long checks, on a bare Debian 12 machine: the regression tier, all seeded defects, PyTorch as a third party to
our references, libraries for gfx90a by Debian's hipcc, device code for the other gfx targets by zig's clang, and a
capsule of every family for each. None of it needs a GPU."""

import sys

from steps import Step, install, run, tox

STEPS = (
    Step("set up", 600, install("g++", "git", "python3-venv", "hipcc", "libamdhip64-dev")),
    Step("regression", 1800, tox("-e", "regression"), junit="*/junit.xml"),
    Step("stored digests", 1200, tox("-e", "bitgate", "--", "cases", "--check-digests")),
    Step("seeded defects", 3600, tox("-e", "bitgate", "--", "faults", "run", "--tier", "smoke", "--target", "host")),
    Step("py with torch", 1800, tox("-e", "py-torch", "--", "--junitxml=out/py.xml"), junit="py.xml"),
    Step("hipcc gfx90a", 900, tox("-e", "bitgate", "--", "compile", "--target", "gfx90a")),
    *(
        Step(f"device code {target}", 300, tox("-e", "bitgate", "--", "compile", "--target", target))
        for target in ("gfx942", "gfx950", "gfx1100", "gfx1201")
    ),
    Step("capsules", 600, tox("-e", "capsules")),
)

if __name__ == "__main__":
    sys.exit(run(STEPS))
