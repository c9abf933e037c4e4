"""Run the checks of every change on a bare Debian 12 machine with Python 3.11: README's commands, style and types, with
nothing in reach but what README promises; then the tests that need a service, which it does not promise.

Aim on two cores: 15 minutes with nothing built before, 12 with the `$BITGATE_CACHE` of an earlier run, which
the caller names. The table at the end says where the time went. `.ci/nightly` holds the long checks, and runs the tests
of tests/slow.txt, for which a change does not wait.

`bash .ci/run --seed 3 smoke py` runs these steps alone, with the examples of another seed.
"""

import argparse
import os
import sys

from promised import PACKAGES, Machine, promised_machine
from steps import TOOLS, Step, Steps, chosen, install, needed, run, tox

# Tests wait for processes that start, hang and die: half as many workers again as there are cores keep the cores busy.
WORKERS = max(3, len(os.sched_getaffinity(0)) * 3 // 2)
PY = ("-m", "not slow", "--ignore=tests/adversarial_kernels", f"-n{WORKERS}")
# A worker for each of two ways to run a suite, the faster with all kernels; the nightly runs all by each of three.
CHOSEN = "not plain and not (exactly_its_verdict and [no)"
ADVERSARIAL = ("tests/adversarial_kernels", "-k", CHOSEN, "-n2", "--dist=loadgroup")
SERVICES = ("chromium", "make", "postgres", "slurm")
# Seeded defects: this draw is of grouped_bwd_data, the founding bug among them. A switch shows each of it, so that none
# is built alone. The nightly plants all.
SAMPLE = ("--tier", "smoke", "--target", "host", "--sample", "60", "--seed", "107")
# These wait longer still: for controllers, nodes and databases.
OF_SERVICES = ("-m", f"not slow and ({' or '.join(f'needs_{name}' for name in SERVICES)})", f"-n{2 * WORKERS}")


def steps(machine: Machine, seed: int) -> Steps:
    """Return the steps. The machine's programs are linked when the first one has installed them."""

    def tests(report: str, *words: str) -> list[str]:
        return tox("-e", "py", "--", *words, f"--hypothesis-seed={seed}", f"--junitxml=out/{report}")

    def in_py(*command: str) -> list[str]:
        """Return a command in the environment of bitgate's own tests."""
        return [str(TOOLS / "bin" / "tox"), "exec", "-e", "py", "--", *command]

    install_packages = install(*PACKAGES, "python3-venv", *needed(*SERVICES))

    def set_up() -> None:
        install_packages()
        machine.link_programs()

    bare = machine.environment
    full = {**bare, "PATH": os.environ["PATH"]}
    cold = not os.environ.get("BITGATE_CACHE")
    return (
        Step("set up", 60, set_up),
        Step("smoke", 360 if cold else 120, tox("-e", "smoke"), "*/junit.xml", bare),
        Step("py", 330 if cold else 270, tests("py.xml", *PY), "py.xml", bare),
        Step("defects", 140, in_py("bitgate", "faults", "run", *SAMPLE), environment=bare),
        # Not beside other tests: its deadlines of 2 s are not to be missed because they take the cores.
        Step("adversarial", 150, tests("bad.xml", *ADVERSARIAL), "bad.xml", bare),
        # Tests that wait for services leave half of the cores' time.
        (
            Step("services", 170, tests("services.xml", *OF_SERVICES), "services.xml", full),
            Step("lint", 60, tox("-e", "lint"), environment=bare),
            Step("type", 150, tox("-e", "type"), environment=bare),
        ),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # The same examples each time, and none of an earlier run: only the nightly looks for new ones.
    parser.add_argument("--seed", type=int, default=0, help="Hypothesis's, default 0")
    parser.add_argument("step", nargs="*", help="these steps alone, after `set up`")
    asked = parser.parse_args()
    with promised_machine() as machine:
        return run(chosen(steps(machine, asked.seed), asked.step))


if __name__ == "__main__":
    sys.exit(main())
