"""The plugin's parts by themselves: when it wakes, how codes are mapped, what is lent, watched and left."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bitgate.core.suite_paths import names_a_suite
from bitgate.kernel import registry
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.results.blackbox import BlackBox, left_behind
from bitgate.runtime.targets import Target
from bitgate.suite.pytest import leases
from bitgate.suite.pytest.collecting import PARAMETER, one_of_each_instance
from bitgate.suite.pytest.leases import Leases
from bitgate.suite.pytest.outcome import exit_code
from bitgate.suite.pytest.run import RunEnd
from bitgate.suite.pytest.watchdog import Watchdog
from bitgate.verify.planned import PlannedCase


@pytest.mark.parametrize(
    ("arguments", "wakes"),
    [
        (["suites"], True),
        (["suites/toy"], True),
        (["suites/toy/test_toy.py::test_toy[x]", "-q"], True),
        (["."], True),
        ([], False),
        (["tests"], False),
        (["tests", "suites"], True),
        (["-k", "suites_of_mine"], False),
        (["-k", " or ".join(["some_words"] * 100)], False),  # too long for a path
    ],
)
def test_the_plugin_wakes_for_suites_only(suites: Any, arguments: list[str], wakes: bool) -> None:
    (suites.folder / "tests").mkdir()
    assert names_a_suite(arguments, suites.folder) is wakes


def test_standing_in_the_suites_wakes_it(suites: Any) -> None:
    assert names_a_suite([], suites.folder / "suites")
    assert names_a_suite([], suites.folder / "suites" / "toy")


def test_another_project_sees_no_option_hook_or_import_of_ours(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    for name in ('--target', '--tier', '--seed', '--option', '--load', '--select', '--kernel', '--resume'):\n"
        "        parser.addoption(name, type=int)\n"
    )
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n"
        "def test_theirs(pytestconfig):\n"
        "    assert pytestconfig.getoption('--target') == 7\n"
        "    assert not [name for name in sys.modules if name.startswith(('bitgate.suite.pytest', 'numpy'))]\n"
        "def test_red():\n"
        "    raise SystemError\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "bitgate.pytest_plugin", "--target=7", "-p", "no:cacheprovider"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in finished.stdout
    assert finished.returncode == 1
    assert subprocess.run([*command, "-k", "none"], cwd=tmp_path, capture_output=True, check=False).returncode == 5


@pytest.mark.parametrize(
    ("status", "ended", "record", "code"),
    [
        (pytest.ExitCode.OK, RunEnd.WHOLE, 0, 0),
        (pytest.ExitCode.OK, RunEnd.WHOLE, 1, 1),  # a lost case, or a red one of the run that was resumed
        (pytest.ExitCode.OK, RunEnd.WHOLE, 3, 3),
        (pytest.ExitCode.NO_TESTS_COLLECTED, RunEnd.WHOLE, 3, 3),
        (pytest.ExitCode.NO_TESTS_COLLECTED, RunEnd.WHOLE, 0, 0),  # a resumed run that had nothing left to do
        (pytest.ExitCode.NO_TESTS_COLLECTED, RunEnd.WHOLE, None, 3),
        (pytest.ExitCode.TESTS_FAILED, RunEnd.WHOLE, 1, 1),
        (pytest.ExitCode.TESTS_FAILED, RunEnd.WHOLE, 3, 1),
        (pytest.ExitCode.INTERRUPTED, RunEnd.INTERRUPTED, 0, 130),
        (pytest.ExitCode.INTERRUPTED, RunEnd.STOPPED, 1, 1),
        (pytest.ExitCode.INTERRUPTED, RunEnd.UNCOLLECTED, None, 2),
        (pytest.ExitCode.INTERNAL_ERROR, RunEnd.WHOLE, 0, 2),
        (pytest.ExitCode.USAGE_ERROR, RunEnd.WHOLE, None, 2),
        (77, RunEnd.WHOLE, 0, 77),  # another plugin's own
    ],
)
def test_exit_codes(status: int, ended: RunEnd, record: int | None, code: int) -> None:
    summary = None if record is None else SimpleNamespace(exit_code=record)
    run: Any = SimpleNamespace(ended=ended, summary=summary, in_process=False)
    assert exit_code(int(status), run) == code


@pytest.mark.parametrize(("record", "code"), [(0, 3), (1, 1), (3, 3)])
def test_a_run_in_this_process_vouches_for_nothing(record: int, code: int) -> None:
    run: Any = SimpleNamespace(ended=RunEnd.WHOLE, summary=SimpleNamespace(exit_code=record), in_process=True)
    assert exit_code(int(pytest.ExitCode.OK), run) == code


def _gpu(platform: str = "amd") -> Target:
    return Target("gfx942", platform, "hardware", "AMD gfx942")


def test_each_worker_gets_a_gpu_and_a_replacement_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(leases, "_names", lambda platform: ["gfx1100", "gfx942", "gfx942"])
    pool = Leases(_gpu())
    assert [pool.lend("gw0"), pool.lend("gw1")] == [("ROCR_VISIBLE_DEVICES", "1"), ("ROCR_VISIBLE_DEVICES", "2")]
    pool.take_back("gw0")
    assert pool.lend("gw2") == ("ROCR_VISIBLE_DEVICES", "1")


@pytest.mark.parametrize(
    ("outer", "lent"),
    [
        ({"ROCR_VISIBLE_DEVICES": "GPU-ab12,3"}, ("ROCR_VISIBLE_DEVICES", "GPU-ab12")),
        ({"HIP_VISIBLE_DEVICES": "5, 6"}, ("HIP_VISIBLE_DEVICES", "5")),
    ],
)
def test_an_outer_list_is_lent_out_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, outer: dict[str, str], lent: tuple[str, str]
) -> None:
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in outer.items():
        monkeypatch.setenv(name, value)
    assert Leases(_gpu()).lend("gw0") == lent


def test_the_host_lends_nothing() -> None:
    assert Leases(Target("host", "host", "cpu", "CPU")).lend("gw0") == ("", "")


def test_the_watchdog_reports_only_what_takes_too_long() -> None:
    heard: list[str] = []
    barked = threading.Event()

    def bark(name: str) -> None:
        heard.append(name)
        barked.set()

    dog = Watchdog(bark)
    with dog.watching("quick", 100):
        pass
    with dog.watching("slow", 0.01):
        assert barked.wait(timeout=30)
    assert heard == ["slow"]


def test_the_watchdog_rests_between_cases() -> None:
    heard: list[str] = []
    dog = Watchdog(heard.append)
    with dog.watching("over", 0.0):
        pass
    time.sleep(0.6)
    assert heard == []


def test_a_black_box_is_there_while_its_case_is_under_way(tmp_path: Path) -> None:
    box = BlackBox(tmp_path, "gw3")
    both = ("suites/a.py::test[x]", "suites/a.py::test[of a longer name]")
    for names in (both, both[:1]):
        box.write(names)
        assert [(found.worker, found.tests()) for found in left_behind(tmp_path)] == [("gw3", names)]
    box.clear()
    assert box.tests() == ()
    box.remove()
    assert list(left_behind(tmp_path)) == []


def test_a_black_box_cut_short_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "blackbox-main").write_text('{"tests": ["suites/a')
    assert [box.tests() for box in left_behind(tmp_path)] == [()]


def test_of_each_instance_the_smallest_case_runs_on_other_data() -> None:
    """Of exact data, and not one that is judged by laws: those launch what they need."""
    family = registry.families()["naive_conv"]
    kernel = Kernel(family, family.instance("fwd_f32") or family.instances[0])

    def item(name: str, height: int, fill: str = "exact", **more: Any) -> Any:
        problem = parse_case_id(f"fwd_f32_nhwgc_g1n1k4c4_y1_h{height}")
        test = PlannedCase(problem, kernel, fill=fill)
        return SimpleNamespace(nodeid=name, callspec=SimpleNamespace(params={PARAMETER: test}), **more)

    by_laws = SimpleNamespace(by=lambda planned, session: None)
    items = [item("large", 9), item("small", 4), item("decimal", 2, "decimal"), item("laws", 3, function=by_laws)]
    assert one_of_each_instance(items) == {"small"}
    assert one_of_each_instance([items[2]]) == {"decimal"}
