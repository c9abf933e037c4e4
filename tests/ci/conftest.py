"""A small repository of an owner, whose nights take seconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.ci.tasks import until
from tests.places import lasting_place

from bitgate.core import paths
from bitgate.lab.ci.journal import Event, NightState, read, replay
from bitgate.results.record import Verdict
from bitgate.results.record import read as read_results

TABLE = """
[[case]]
name = "sums over k"
why = "every cell of dx is the sum over k"
pass = "bwd_data"
dtypes = "f32"
layouts = ["nhwgc"]
shape = [{shapes}]
tier = "smoke"
"""
# A second case waits for as long as the file "hold" is there, and names its target or none. A case that "fatal" names
# takes its job along, one that "hungry" names takes 2 GiB: each by its target and a part of its id.
MODULE = """
import os
import signal
import time
from pathlib import Path

from bitgate.testing import cases

HOLD, FATAL, HUNGRY = (Path(__file__).parents[2] / name for name in ("hold", "fatal", "hungry"))
seen = []


def names(file, planned):
    target, _, part = file.read_text().partition(" ") if file.exists() else ("none", "", "")
    return target in planned.key.target and part in planned.id


@cases("mine")
def test_bits(planned, check, expect_dispatch):
    if names(FATAL, planned):
        os.kill(os.getpid(), signal.SIGKILL)
    eaten = bytearray((2 << 30) * names(HUNGRY, planned))
    expect_dispatch(check(planned), path="pointwise")
    seen.append(planned)
    while len(seen) > 1 and names(HOLD, planned):
        time.sleep(0.05)
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


@dataclass(frozen=True)
class Lab:
    """Someone's repository with a kernel, a suite, and a night in ``out/night``."""

    folder: Path

    @property
    def night(self) -> Path:
        return self.folder / "out" / "night"

    @property
    def events(self) -> list[Event]:
        return read(self.night / "night.jsonl")

    @property
    def state(self) -> NightState:
        return replay(self.events)

    @property
    def summary(self) -> str:
        return (self.night / "merged" / "summary.md").read_text().replace("\\", "")

    def attempt(self, target: str = "host", shard: str = "s1of1", number: int = 1) -> Path:
        return self.night / "shards" / target / shard / f"a{number}"

    def results(self, target: str = "host", shard: str = "s1of1", number: int = 1) -> list[Verdict]:
        path = self.attempt(target, shard, number) / target / shard / "results.jsonl"
        return list(read_results(path)) if path.exists() else []

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """``bitgate ARGUMENTS``, typed in the folder and not waited for."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BITGATE_T"))}
        kept.pop("BITGATE_OUT", None)
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [sys.executable, "-m", "bitgate", *arguments],
            cwd=self.folder,
            env=kept | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def bitgate(self, *arguments: str, **more: Any) -> Done:
        with self.start(*arguments, **more) as process:
            out, err = process.communicate(timeout=300)
        return Done(process.returncode, out, err)

    def submit(self, *arguments: str) -> Any:
        """The summary of ``bitgate submit ... --json``, and its exit code among it."""
        done = self.bitgate("submit", *arguments, "--json")
        assert done.out, done.said
        return {**json.loads(done.out)["summary"], "code": done.code, "said": done.err}

    def held(self, *arguments: str) -> subprocess.Popen[str]:
        """A night that has come to its first shard's second case, and stays there until ``release``.

        Of several targets the dearest begins, by the durations that other tests have recorded.
        """
        (self.folder / "hold").touch()
        controller = self.start("submit", "-n0", *arguments)
        targets = [value for name, value in pairwise(arguments) if name == "--target"] or ["host"]
        until(lambda: any(map(self.results, targets)) or controller.poll() is not None)
        assert controller.poll() is None, controller.communicate()
        return controller

    def release(self) -> None:
        (self.folder / "hold").unlink()


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Lab]]:
    """Makes one with ``cases`` cases, k counting from 1, and edits in the kernel's source. Only the kernel lies where
    others lay before it: what a lab's nights leave running writes into its own folder."""
    monkeypatch.setenv("BITGATE_OUT", "")  # a plan that is made in this process leaves its own there
    places = ExitStack()

    def make(cases: int = 3, *edits: tuple[str, str]) -> Lab:
        kernel = places.enter_context(lasting_place()) / "mine"
        shutil.copytree(paths.root() / "examples" / "pointwise", kernel)
        (tmp_path / "kernels").mkdir()
        (tmp_path / "kernels" / "mine").symlink_to(kernel)
        source = kernel / "pointwise.hip.cpp"
        for old, new in edits:
            assert old in source.read_text()
            source.write_text(source.read_text().replace(old, new))
        suite = tmp_path / "suites" / "mine"
        suite.mkdir(parents=True)
        shapes = ", ".join(f'"g1n2k{k}c3_y1x1_h5x7"' for k in range(1, cases + 1))
        (suite / "cases.toml").write_text(TABLE.format(shapes=shapes))
        (suite / "test_mine.py").write_text(MODULE)
        (tmp_path / "bitgate.toml").write_text('[bitgate]\nload = ["kernels/mine"]\n')
        return Lab(tmp_path)

    with places:
        yield make
