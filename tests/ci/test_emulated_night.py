"""A night over the host and two emulated targets: real kernels under a stand-in for an emulator."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml
from tests.ci.dask_fixture import dask_fixture
from tests.ci.slurm_fixture import slurm_fixture
from tests.emulated.stand_in import StandIn, build
from tests.places import lasting_place

from bitgate.lab.executors.executor import TaskState

Make = Callable[..., Any]

TARGETS = """
schema = 2

[target.host]
platform = "host"
gate = "pull_request"
minutes = {{ smoke = 5, regression = 10 }}

[target.gfx942]
platform = "amd"
gate = "pull_request"
emulated = "pull_request"
minutes = {{ smoke = 5, regression = 10 }}

[target.gfx1100]
platform = "amd"
gate = "nightly"
emulated = "pull_request"
minutes = {{ smoke = 5, regression = 10 }}

[target.gfx950]
platform = "amd"
gate = "pull_request"
minutes = {{ smoke = 5, regression = 10 }}

[[pool]]
name = "here"
target = "host"
backend = "local"
state = "up"

[[pool]]
name = "cdna"
target = ["gfx942", "gfx950"]
backend = "local"
kind = "emulated"
launcher = {cdna}
state = "up"

[[pool]]
name = "rdna"
target = "gfx1100"
backend = "local"
kind = "emulated"
launcher = {rdna}
seconds = 60
state = "up"
"""


@pytest.fixture
def rocm(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with lasting_place() as folder:
        made = build(folder / "rocm")
        for name, value in made.environment(os.environ).items():
            monkeypatch.setenv(name, value)
        yield made


def test_a_night_over_two_emulated_targets(lab: Make, rocm: StandIn) -> None:
    mine = lab(2)
    (mine.folder / "ci").mkdir()
    words = {name: json.dumps(rocm.words(gpu)) for name, gpu in (("cdna", "gfx942"), ("rdna", "gfx1100"))}
    (mine.folder / "ci" / "targets.toml").write_text(TARGETS.format(**words))
    done = mine.submit("-n0", "--jobs=2")
    assert done["code"] == 0, done["said"]
    assert {row["target"]: row["verdicts"] for row in done["targets"]} == {
        "host": 2,
        "emulated_gfx942": 2,
        "emulated_gfx1100": 2,
    }
    assert "gfx942: no pool serves it; kept by an emulator alone, pool cdna" in mine.summary
    assert "gfx950: no pool serves it" in mine.summary, "an emulator keeps no promise that does not say so"
    for gpu in ("gfx942", "gfx1100"):
        name = f"emulated_{gpu}"
        suites = JUnitXml.fromfile(str(mine.night / "merged" / name / "junit.xml"))
        stated = {one.name: one.value for one in next(iter(suites)).properties()}
        assert (stated["gpu.target"], stated["device.kind"]) == (name, "emulated")
        assert stated["emulator"].startswith("stand-in-emulator 1.2.3 (sha256 ")
        assert f"{name}: an emulator ran these; no {gpu} has" in mine.summary
        for verdict in mine.results(name):
            assert (verdict.platform, verdict.device_kind) == ("amd", "emulated")
            assert verdict.device_name == f"{gpu} on {stated['emulator']}"
    assert {one.device_kind for one in mine.results()} == {"cpu"}
    assert not (mine.night / "merged" / "gfx942").exists()


ONE_POOL = """
schema = 2

[target.gfx942]
platform = "amd"
gate = "pull_request"
emulated = "pull_request"
minutes = {{ smoke = 5, regression = 10 }}

[[pool]]
name = "cpus"
target = "gfx942"
backend = "{backend}"
constraint = "cpu"
kind = "emulated"
launcher = {launcher}
daemon = {daemon}
state = "up"
"""


def with_one_pool(mine: Any, rocm: StandIn, backend: str, daemon: tuple[str, ...] = (), **says: object) -> None:
    (mine.folder / "ci").mkdir()
    words = {"launcher": json.dumps(rocm.words("gfx942", **says)), "daemon": json.dumps(daemon)}
    (mine.folder / "ci" / "targets.toml").write_text(ONE_POOL.format(backend=backend, **words))


def test_a_daemon_that_dies_in_the_night_costs_one_case(lab: Make, rocm: StandIn) -> None:
    mine = lab(4)
    with_one_pool(mine, rocm, "local", (str(rocm.launcher), "--daemon"), attach="yes", ends="pointwise")
    done = mine.submit("-n0")
    verdicts = [verdict.outcome for verdict in mine.results("emulated_gfx942")]
    assert sorted(verdicts) == ["INFRA", "PASS", "PASS", "PASS"], done["said"]
    assert done["code"] == 1
    assert "the daemon ended with status 9" in log_of(mine)
    (lost,) = [verdict for verdict in mine.results("emulated_gfx942") if not verdict.green]
    assert "the kernel or its emulator is to blame" in lost.reason


def log_of(mine: Any) -> str:
    return "".join(path.read_text(errors="replace") for path in mine.attempt("emulated_gfx942").rglob("*.txt"))


def has_passed_on(node: str, mine: Any, done: Any, log: Path) -> None:
    """All cases passed in jobs of this node, and in processes that the launcher started there."""
    assert (done["code"], done["compared"]) == (0, 2), done["said"]
    (attempt,) = next(iter(mine.state.shards.values())).attempts
    assert (attempt.status.state, attempt.status.node) == (TaskState.ENDED, node)
    found = [(one.outcome, one.device_kind, one.key.target) for one in mine.results("emulated_gfx942")]
    assert found == [("PASS", "emulated", "emulated_gfx942")] * 2
    assert len(log.read_text().split()) >= 3, "the trial, the canary, and a process of the cases"


@pytest.mark.needs("slurm")
def test_a_job_of_slurm_starts_its_kernels_under_the_launcher(lab: Make, rocm: StandIn, tmp_path: Path) -> None:
    mine, log = lab(2), tmp_path / "starts"
    with_one_pool(mine, rocm, "slurm", log=log)
    (tmp_path / "slurm").mkdir()
    with slurm_fixture(tmp_path / "slurm", {"n1": "gfx942", "n2": "cpu"}):
        done = mine.submit("--executor=slurm", "-n0")
    has_passed_on("n2", mine, done, log)


def test_a_worker_of_dask_starts_its_kernels_under_the_launcher(lab: Make, rocm: StandIn, tmp_path: Path) -> None:
    mine, log = lab(2), tmp_path / "starts"
    with_one_pool(mine, rocm, "dask", log=log)
    with dask_fixture(tmp_path / "dask", {"a": "gfx942", "b": "cpu"}) as cluster:
        done = mine.submit("--executor=dask", f"--option=scheduler={cluster.address}", "-n0")
    has_passed_on("b", mine, done, log)
