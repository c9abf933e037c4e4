"""This machine in place of runners: checkouts, a Python that pip may fill, shell lines, and files kept from jobs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LEFT_OUT = ("BITGATE_OUT", "BITGATE_RUN", "CI", "GITHUB_", "GITLAB_", "JENKINS_", "PYTEST_", "PYTHONPATH", "TOX_")
"""What a runner's environment does not have, and a shell in which somebody works may."""


class StepError(Exception):
    """A step that ended with another code than 0, or that this machine cannot do."""


@dataclass
class Machine:
    """Jobs get folders below ``work``; ``repository`` is what they check out, as it lies there."""

    repository: Path
    work: Path
    bare: bool = False
    """Start with a Python that has nothing installed; else with what this one has."""
    ended: dict[str, bool] = field(default_factory=dict)
    """Jobs in the order in which they ended, and whether they were green."""

    def python(self) -> Path:
        """The folder of a virtual environment, made by the first that asks."""
        folder = self.work / "python"
        if not folder.is_dir():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            if not self.bare:
                own = next(folder.glob("lib/python*/site-packages"))
                (own / "installed_here.pth").write_text("".join(_importable()))
                script = folder / "bin" / "bitgate"
                script.write_text(f"#!{folder}/bin/python\nimport bitgate.cli.main\nbitgate.cli.main.main()\n")
                script.chmod(0o755)
        return folder

    def checkout(self, folder: Path) -> None:
        """The last commit with what was changed and added since; all files of a repository that git does not know."""
        folder.mkdir(parents=True, exist_ok=True)
        asked = ["git", "-C", str(self.repository)]
        if subprocess.run([*asked, "rev-parse", "--verify", "-q", "HEAD"], capture_output=True).returncode:
            shutil.copytree(self.repository, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("out", ".git"))
            return
        subprocess.run(["git", "clone", "-q", str(self.repository), str(folder)], check=True)
        listed = [*asked, "ls-files", "-z", "--modified", "--others", "--exclude-standard"]
        for name in filter(None, subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")):
            source, copy = self.repository / name, folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_file():
                shutil.copy2(source, copy)
            else:
                copy.unlink(missing_ok=True)

    def change(self, event: str) -> dict[str, object]:
        """What an event says of a pull request: its base is the parent of the last commit, if there is one."""
        asked = ["git", "-C", str(self.repository), "rev-parse", "--verify", "-q", "HEAD~1"]
        found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
        return {"pull_request": {"base": {"sha": found}}} if event == "pull_request" and found else {}

    def environment(self, stated: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        python = self.python()
        kept |= {"VIRTUAL_ENV": str(python), "PATH": os.pathsep.join([str(python / "bin"), kept.get("PATH", "")])}
        return {**kept, "CI": "true", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1", **stated}

    def shell(self, script: str, folder: Path, stated: Mapping[str, str]) -> None:
        """Run lines in one shell that the first failing one ends. StepError if there was one."""
        for line in script.strip().splitlines():
            print(f"    $ {line}", flush=True)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        code = subprocess.run(command, cwd=folder, env=self.environment(stated), stdin=subprocess.DEVNULL).returncode
        if code:
            raise StepError(f"ended with {code}: {script.strip().splitlines()[-1]}")

    def say(self, job: str, error: str = "") -> None:
        """That a job ended."""
        self.ended[job] = not error
        print(f"=== {job}: {error or 'green'}", flush=True)


def _importable() -> list[str]:
    """Lines of a .pth file: what PYTHONPATH names, then what is installed, with the .pth files there."""
    stated = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    installed = [path for path in sys.path if path.endswith("-packages")]
    return [*(f"{path}\n" for path in stated), *(f"import site; site.addsitedir({path!r})\n" for path in installed)]


def copy_into(source: Path, target: Path) -> None:
    """A file, or what a folder holds."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.is_file():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def in_order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names, each after those that it needs."""
    done: list[str] = []
    while len(done) < len(needs):
        ready = [name for name, needed in needs.items() if name not in done and set(needed) <= set(done)]
        if not ready:
            raise StepError(f"jobs need each other, or one that is not there: {', '.join(set(needs) - set(done))}")
        done += ready
    return done
