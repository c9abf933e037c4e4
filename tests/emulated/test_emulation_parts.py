"""Emulated targets by their parts: names, records, pools and cells, estimates, logs of races, and whom to blame."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.targets import runs_on, target_id
from bitgate.lab.bringup.blame import blame
from bitgate.lab.ci.matrix import cells, document, expected_of
from bitgate.lab.planning.night import budgets_of
from bitgate.results.record import Key, Outcome, RecordError, Verdict, from_event, to_event
from bitgate.results.targets_file import CiTargets, read_targets
from bitgate.runtime.errors import HipError
from bitgate.runtime.race_log import EmulatorLedger, located, parse
from bitgate.suite import durations

LOG = """\
noise before
RACE kernel=void tile<float>(float*) symbol=_Z4tile dispatch=12 type=LDS access=read reg=508 wave=1 lane=3 wg=2,0,0
   s_waitcnt 0
   ==> ds_write_b32 v1, v2
   ==> ds_read_b32 v3, v1
END_RACE
RACE kernel=second symbol=_Z6second dispatch=13 type=VGPR wave=0
"""


def test_an_emulated_target_has_code_and_name_apart() -> None:
    target = target_id("emulated_gfx942:xnack-")
    assert (target.name, target.spelled) == ("emulated_gfx942_xnack-", "gfx942:xnack-")
    assert target.of_code == target_id("gfx942:xnack-")
    assert runs_on("emulated_gfx942", "gfx942"), "its code is gfx942's"
    for name in ("emulated_host", "emulated_sm_90", "emulated_emulated_gfx942", "emulated_host_for_gfx942"):
        with pytest.raises(UsageError, match="emulators are of AMD GPUs"):
            target_id(name)


def verdict(target: str = "gfx942", kind: str = "hardware", outcome: Outcome = Outcome.PASS, **more: Any) -> Verdict:
    key = Key("softmax_f32_r4c16_full", "softmax", "f32_wave", (), "exact", 0, "forward", target)
    return Verdict(key, outcome, device_kind=kind, device_name="a GPU", suite="softmax", **more)


def test_no_record_of_an_emulator_has_a_gpus_target() -> None:
    written = json.loads(json.dumps(to_event(verdict(kind="emulated"))))
    assert from_event(written).key.target == "emulated_gfx942"
    assert from_event(to_event(verdict())).key.target == "gfx942"
    with pytest.raises(RecordError, match="its target is emulated_gfx942, its device hardware"):
        from_event(to_event(verdict("emulated_gfx942")))


TARGETS = """
schema = 2
[target.gfx942]
platform = "amd"
gate = "nightly"
emulated = "nightly"
minutes = { smoke = 5, regression = 10 }
[target.gfx1100]
platform = "amd"
gate = "nightly"
minutes = { smoke = 5, regression = 10 }
[[pool]]
name = "mi300"
target = "gfx942"
backend = "slurm"
state = "drained: fans"
[[pool]]
name = "cpus"
target = ["gfx942", "gfx1100"]
kind = "emulated"
launcher = ["rocjitsu", "--config", "a file.json", "--"]
daemon = ["rocjitsu", "--daemon"]
seconds = 90
backend = "slurm"
state = "up"
"""


def config(folder: Path, text: str = TARGETS) -> CiTargets:
    (folder / "targets.toml").write_text(text)
    return read_targets(folder / "targets.toml")


def test_a_promise_is_kept_by_an_emulator_only_if_it_says_so(tmp_path: Path) -> None:
    found = config(tmp_path)
    runs = {cell.target: (cell.runs, cell.why and cell.why.value) for cell in cells(found, "regression")}
    assert runs == {"gfx942": (False, "emulated"), "emulated_gfx942": (True, None), "gfx1100": (False, "no pool")}
    (tmp_path / "matrix.json").write_text(json.dumps(document(found, cells(found, "regression"))))
    expected = expected_of(tmp_path / "matrix.json")
    assert expected.targets == ("emulated_gfx942",)
    assert [one.target for one in expected.absent] == ["gfx1100"]
    assert "kept by an emulator alone, pool cpus" in " ".join(expected.notes)
    assert not any(cell.runs for cell in cells(found, "smoke")), "its gate opens the nights"


PROMISE = 'schema = 2\n[target.{}]\nplatform = "{}"\ngate = "nightly"\nminutes = {{ smoke = 1, regression = 2 }}\n{}'


@pytest.mark.parametrize(
    ("name", "platform", "more", "words"),
    [
        ("emulated_gfx942", "amd", "", r"no machine has it: write emulated = 'nightly' in \[target\.gfx942\]"),
        ("host", "host", 'emulated = "nightly"', "emulated: emulators are of AMD GPUs, and host is none"),
    ],
)
def test_only_a_gpu_is_promised_and_emulated(name: str, platform: str, more: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        config(tmp_path, PROMISE.format(name, platform, more))


def test_a_gpu_keeps_its_promise_beside_an_emulator(tmp_path: Path) -> None:
    found = config(tmp_path, TARGETS.replace("drained: fans", "up"))
    assert {cell.target: cell.runs for cell in cells(found, "regression")} == {
        "gfx942": True,
        "emulated_gfx942": True,
        "gfx1100": False,
    }


def test_a_pool_of_emulators_names_commands_and_budget(tmp_path: Path) -> None:
    found = config(tmp_path)
    pool = found.pools[1]
    assert pool.environment == {
        "BITGATE_LAUNCHER": "rocjitsu --config 'a file.json' --",
        "BITGATE_LAUNCHER_DAEMON": "rocjitsu --daemon",
    }
    assert budgets_of(found, ["host", "gfx942", "emulated_gfx942"]) == {"emulated_gfx942": 90}
    whole = config(tmp_path, TARGETS.replace("seconds = 90", 'tier = "whole"'))
    assert budgets_of(whole, ["emulated_gfx942"]) == {}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('launcher = ["rocjitsu", "--config", "a file.json", "--"]', "", "launcher: is missing"),
        ('kind = "emulated"', 'kind = "hardware"', 'launcher: is for pools of kind = "emulated"'),
        ('kind = "emulated"', 'kind = "imagined"', "kind"),
        ('["gfx942", "gfx1100"]', '"sm_90"', "emulators are of AMD GPUs"),
    ],
)
def test_a_pool_that_cannot_be_says_why(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        config(tmp_path, TARGETS.replace(old, new))


def test_estimates_follow_the_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = durations.load("emulated_gfx90a")
    assert plain.estimate("a", "family", "b", "exact", 10**9) == pytest.approx(0.6 + 5)
    monkeypatch.setenv(emulation.PACE, "2 1e-8 40")
    monkeypatch.setenv(emulation.LAUNCHER, "rocjitsu --")
    assert durations.load("emulated_gfx90a").estimate("a", "family", "b", "exact", 10**9) == pytest.approx(12)
    assert durations.load("host").unheard_of == durations.UNHEARD_OF
    assert emulation.slowness() == 40
    monkeypatch.setenv(emulation.PACE, "2 1e-8 0.1")
    assert emulation.slowness() == 1


def test_the_log_of_races_is_read_block_by_block(tmp_path: Path) -> None:
    (first,), end = parse(LOG)
    assert LOG[end:].startswith("RACE kernel=second"), "a block without an end is still being written"
    assert (first.kernel, first.symbol, first.dispatch) == ("void tile<float>(float*)", "_Z4tile", 12)
    assert first.instructions == ("ds_write_b32 v1, v2", "ds_read_b32 v3, v1")
    assert (first.fault.kind, first.fault.block, first.fault.thread) == ("race", (2, 0, 0), (3, 0, 0))
    assert "wg 2,0,0 wave 1 lane 3" in first.sentence
    assert parse("RACE what is this\nEND_RACE\n")[0][0].kernel == "RACE what is this"


class NoHip:
    """HIP without an error."""

    hipError_t = type("Codes", (), {"hipSuccess": 0})
    hipGetLastError = hipPeekAtLastError = staticmethod(lambda: (0,))


def test_a_race_is_of_the_launch_in_which_it_was_logged(tmp_path: Path) -> None:
    log = tmp_path / "race.log"
    log.write_text(LOG)
    ledger = EmulatorLedger(NoHip, log)
    ledger._read = len(LOG)
    assert ledger.since(ledger.mark()) == []
    with log.open("a") as file:
        file.write("END_RACE\n")
    ledger._read = LOG.index("RACE kernel=second")
    with pytest.raises(HipError, match="reported late, of an earlier launch"):
        ledger.mark()
    mark = ledger.mark()
    with log.open("a") as file:
        file.write(LOG)
    (incident,) = ledger.since(mark)
    assert incident.fault is not None
    assert incident.text == incident.fault.text


def test_a_dispatch_names_the_launch_where_it_leaves_no_choice() -> None:
    (race,), _ = parse(LOG)
    again = replace(race, dispatch=15)
    assert located([race], ["fill", "tile"]) == "; launch 2 of 2: tile"
    assert located([again, race], ["tile", "fill", "tile"]) == "; launch 3 of 3: tile"
    assert located([race], ["tile", "fill", "tile"]) == "; one of launches 1 to 3 of 3"
    assert located([race], []) == ""


RED, LOST = verdict(outcome=Outcome.MISMATCH), verdict(outcome=Outcome.INFRA, reason="its process died")
HIP = verdict(outcome=Outcome.INFRA, reason="hipMalloc: hipErrorUnknown: what")


@pytest.mark.parametrize(
    ("emulated", "host", "second", "part", "why"),
    [
        (RED, RED, None, "kernel", "the host, which has the same source"),
        (RED, verdict(), verdict(), "emulator", "a second emulator passes"),
        (RED, verdict(), RED, "kernel", "device code"),
        (RED, verdict(), verdict(outcome=Outcome.CRASHED), "emulator", "they differ"),
        (RED, verdict(), None, "kernel", "device code or the emulator"),
        (LOST, verdict(), None, "emulator", "without a fault of the kernel"),
        (LOST, LOST, verdict(), "emulator", "a second emulator passes"),
        (HIP, verdict(), None, "installation", "a call of the HIP runtime failed"),
    ],
)
def test_who_is_to_blame(emulated: Verdict, host: Verdict | None, second: Verdict | None, part: str, why: str) -> None:
    found = blame(emulated, host, second)
    assert str(found.part) == part
    assert why in found.why
