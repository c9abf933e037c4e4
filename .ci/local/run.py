"""Run the steps of a workflow on this machine, in order, as a forge would.

    python .ci/local/run.py github                        # bitgate's own smoke workflow
    python .ci/local/run.py gitlab --event schedule       # its nightly pipeline
    python .ci/local/run.py jenkins Jenkinsfile --repository ../mine

Each job starts with a separate checkout, as the folder is, in WORK; labels, images and time limits are left out. Ends
with 0 if every job was green, 1 if one was red, 2 if the workflow cannot be run here. Needs PyYAML; Jenkins' needs
groovy 2.4 (Debian: groovy, and a Java).
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from github import Workflow
from gitlab import load
from machine import Machine, StepError

HERE = Path(__file__).resolve().parent
BITGATE = HERE.parents[1]
OURS = {
    "github": {"pull_request": ".github/workflows/smoke.yml", "schedule": ".github/workflows/nightly.yml"},
    "gitlab": dict.fromkeys(("pull_request", "schedule"), "ci/gitlab/pipeline.yml"),
    "jenkins": dict.fromkeys(("pull_request", "schedule"), "ci/jenkins/Jenkinsfile"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flavour", choices=OURS)
    parser.add_argument("file", nargs="?", type=Path, help="in the repository; default: bitgate's own for the event")
    parser.add_argument("--repository", type=Path, default=BITGATE, help="what jobs check out; default: bitgate")
    parser.add_argument("--event", choices=("pull_request", "schedule"), default="pull_request")
    parser.add_argument(
        "--only", action="append", default=[], metavar="JOB", help="of GitHub: only this job; repeatable"
    )
    parser.add_argument("--work", type=Path, help="an empty folder, kept; default: a temporary one")
    parser.add_argument("--bare", action="store_true", help="begin with a Python that has nothing installed")
    stated = parser.parse_args()
    repository = stated.repository.resolve()
    file = repository / (stated.file or OURS[stated.flavour][stated.event])
    if not file.is_file():
        parser.error(f"{file}: no such file: name the workflow's")
    if stated.work and stated.work.is_dir() and any(stated.work.iterdir()):
        parser.error(f"{stated.work}: is not empty: name a new folder")
    work = (stated.work or Path(tempfile.mkdtemp(prefix="bitgate-ci-"))).resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        machine = Machine(repository, work, stated.bare)
        return 0 if _run(stated, machine, file) else 1
    except (StepError, ValueError, yaml.YAMLError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 2
    finally:
        if not stated.work:
            shutil.rmtree(work, ignore_errors=True)


def _run(stated: argparse.Namespace, machine: Machine, file: Path) -> bool:
    if stated.flavour == "github":
        return all(Workflow(machine, file, {}, stated.event).run(stated.only).values())
    if stated.flavour == "gitlab":
        return load(machine, file, stated.event).run()
    return _jenkins(machine, file, stated.event)


def _jenkins(machine: Machine, file: Path, event: str) -> bool:
    java = shutil.which("java")
    if java is None or shutil.which("groovy") is None:
        raise StepError("Jenkins' steps need groovy and java: apt-get install groovy default-jre-headless")
    checkout = [sys.executable, str(HERE / "checkout.py"), str(machine.repository)]
    home = os.environ.get("JAVA_HOME") or str(Path(java).resolve().parents[1])
    environment = machine.environment({"CHECKOUT": shlex.join(checkout), "JAVA_HOME": home})
    cause = "timer" if event == "schedule" else "change"
    words = ["groovy", HERE / "jenkins.groovy", file, BITGATE / "ci" / "jenkins", machine.work, cause]
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
