"""A night over the host and two emulated targets: real kernels under a stand-in for an emulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from junitparser import JUnitXml
from tests.emulated.stand_in import StandIn, build
from tests.places import lasting_place

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
        monkeypatch.setenv("ROCM_PATH", str(made.root))
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


DAEMON = """
schema = 2

[target.gfx942]
platform = "amd"
gate = "pull_request"
emulated = "pull_request"
minutes = {{ smoke = 5, regression = 10 }}

[[pool]]
name = "served"
target = "gfx942"
backend = "local"
kind = "emulated"
launcher = {launcher}
daemon = {daemon}
state = "up"
"""


def test_a_daemon_that_dies_in_the_night_costs_one_case(lab: Make, rocm: StandIn) -> None:
    mine = lab(4)
    (mine.folder / "ci").mkdir()
    launcher = rocm.words("gfx942", attach="yes", ends="pointwise")
    words = {"launcher": json.dumps(launcher), "daemon": json.dumps([str(rocm.launcher), "--daemon"])}
    (mine.folder / "ci" / "targets.toml").write_text(DAEMON.format(**words))
    done = mine.submit("-n0")
    verdicts = [verdict.outcome for verdict in mine.results("emulated_gfx942")]
    assert sorted(verdicts) == ["INFRA", "PASS", "PASS", "PASS"], done["said"]
    assert done["code"] == 1
    assert "the daemon ended with status 9" in log_of(mine)
    (lost,) = [verdict for verdict in mine.results("emulated_gfx942") if not verdict.green]
    assert "the kernel or its emulator is to blame" in lost.reason


def log_of(mine: Any) -> str:
    return "".join(path.read_text(errors="replace") for path in mine.attempt("emulated_gfx942").rglob("*.txt"))
