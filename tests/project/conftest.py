"""A small repository of an owner: a kernel of theirs (a copy of examples/pointwise), a suite, faults, CI targets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.places import lasting_place

from bitgate.core import paths
from bitgate.results.record import read

PROJECT = """
[bitgate]
load = ["kernels/mine"]
"""
TABLE = """
[[case]]
name = "two layouts"
why = "every cell of dx is the sum over K"
pass = "bwd_data"
dtypes = "f32"
layouts = ["nhwgc", "gnhwc"]
shape = "g2n2k5c3_y1x1_h5x7"
tier = "smoke"

[[case]]
name = "one dimension"
why = "a row alone"
case = "bwd_data_f32_nwgc_g1n1k2c2_y1_h3"
"""
MODULE = """
from bitgate.testing import cases


@cases("mine")
def test_bits(planned, check, expect_dispatch):
    expect_dispatch(check(planned), path="pointwise")
"""
ROWS_MODULE = """
from bitgate.testing import verified

test_bits = verified("rows")
"""
FAULTS = """
[[fault]]
name = "drops_the_last_k"
imitates = "a loop that ends one early"
file = "kernels/mine/pointwise.hip.cpp"
find = "at_y.column < shape.k"
replace = "at_y.column < shape.k - 1"
"""
TARGETS = """
schema = 2

[target.host]
platform = "host"
gate = "pull_request"
minutes = { smoke = 5, regression = 10 }

[[pool]]
name = "hosted"
target = "host"
backend = "github"
labels = ["ubuntu-24.04"]
state = "up"
"""
LEDGER = """
[[known_bug]]
where = {where}
kernel = "{kernel}"
target = "*"
verdict = "MISMATCH"
kind = "k_tail"
owner = "me@here"
ticket = "HERE-1"
expires = 2100-01-01
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Repository:
    """A folder in which an owner works. Results go to its ``out``; builds come from the cache that all tests share."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def ledger(self, name: str, kernel: str, where: str) -> Path:
        """Excuses that a kernel of theirs leaves out the tail of a sum."""
        return self.write(name, LEDGER.format(kernel=kernel, where=where))

    @property
    def kernels(self) -> set[str]:
        """What the last run on the host compared."""
        return {verdict.key.kernel for verdict in read(self.folder / "out" / "host" / "results.jsonl")}

    def bitgate(self, *arguments: str, below: str = ".") -> Done:
        """``bitgate ARGUMENTS`` as typed in the folder, or in one below."""
        return self._run("bitgate", *arguments, below=below)

    def fuzz(self, *arguments: str) -> Done:
        """``bitgate fuzz`` until it has compared something: a busy machine may need longer than an idle one."""
        for seconds in (4, 40, 250):
            done = self.bitgate("fuzz", f"--seconds={seconds}", *arguments)
            if done.code != 3:
                break
        return done

    def pytest(self, *arguments: str) -> Done:
        return self._run("pytest", *arguments, "-p", "bitgate.pytest_plugin", "-p", "no:cacheprovider")

    def _run(self, module: str, *arguments: str, below: str = ".") -> Done:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "BITGATE_T"))}
        kept.pop("BITGATE_OUT", None)
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder / below,
            env=kept | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Where kernels of owners lie: each is compiled once for all of these tests."""
    with lasting_place() as folder:
        yield folder


@pytest.fixture
def empty(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def owners(tmp_path: Path) -> Repository:
    """One that a test may change."""
    return _owners(tmp_path)


@pytest.fixture(scope="module")
def served() -> Iterator[Repository]:
    """One for all tests that look only, in which smoke was run."""
    with lasting_place() as folder:
        repository = _owners(folder)
        done = repository.bitgate("run", "--target=host", "-n0")
        assert done.code == 0, done.said
        yield repository


@pytest.fixture(scope="module")
def example() -> Iterator[Callable[[str], Repository]]:
    """A copy, far from the checkout, of an example that is a repository: a new one each time."""
    with ExitStack() as places:

        def copied(name: str) -> Repository:
            folder = places.enter_context(lasting_place())
            shutil.copytree(paths.root() / "examples" / name, folder, dirs_exist_ok=True)
            return Repository(folder)

        yield copied


@pytest.fixture(scope="module")
def scaled_rows() -> Iterator[Repository]:
    """The repository of that name beside this file, with a suite."""
    with lasting_place() as folder:
        shutil.copytree(Path(__file__).with_name("scaled_rows"), folder, dirs_exist_ok=True)
        repository = Repository(folder)
        repository.write("suites/rows/test_rows.py", ROWS_MODULE)
        yield repository


def _owners(folder: Path) -> Repository:
    repository = Repository(folder)
    shutil.copytree(paths.root() / "examples" / "pointwise", folder / "kernels" / "mine")
    repository.write("bitgate.toml", PROJECT)
    repository.write("suites/mine/cases.toml", TABLE)
    repository.write("suites/mine/test_mine.py", MODULE)
    repository.write("suites/faults/mine.toml", FAULTS)
    repository.write("ci/targets.toml", TARGETS)
    return repository
