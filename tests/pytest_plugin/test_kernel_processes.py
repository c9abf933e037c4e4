"""Kernels in several processes and their tests in one: the verdicts are those of a plain run."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from bitgate.results.blackbox import BlackBox
from bitgate.runtime.targets import Target
from bitgate.suite.pytest.case_pool import environments
from bitgate.suite.pytest.leases import Leases, count

UNHEALTHY = Path(__file__).parents[1] / "verify" / "unhealthy" / "declaration.py"
TWO = "--processes=2"

NO_CASE = """
def test_of_no_case():
    open("order", "a").write("no case" + chr(10))
"""
LAWS = ("check(planned)", "from bitgate.verify.laws import judge_by_laws; check(planned, by=judge_by_laws)")
NOTING = ("    check(planned)", "    open('order', 'a').write(planned.case + chr(10))\n    check(planned)")


def add_sick(suites: Any) -> None:
    table = suites.folder / "suites" / "toy" / "cases.toml"
    unhealthy = '\n[[case]]\nname = "unhealthy"\npass = "fwd"\n'
    unhealthy += 'kernels = "unhealthy*"\ndtypes = "f32"\nshape = "n1k8c4_y3_h6_p1"\n'
    table.write_text(table.read_text() + unhealthy + 'layouts = "nwgc"\nwhy = "dies"\n')


def comparable(suites: Any) -> list[tuple[Any, ...]]:
    return sorted((v.test, v.key, v.outcome, v.reason, v.digest) for v in suites.verdicts)


@pytest.mark.parametrize("processes", ["1", "2", "7"])
def test_the_verdicts_are_those_of_a_plain_run(suites: Any, processes: str) -> None:
    assert suites.run().returncode == 0
    plain = comparable(suites)
    done = suites.run(f"--processes={processes}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert comparable(suites) == plain
    assert suites.junit.tests == len(plain) == 6


def test_tests_of_one_problem_follow_each_other(suites: Any) -> None:
    both = 'dtypes = "f32"\npass = ["bwd_data", "fwd"]\nfills = ["exact", "decimal"]\nseeds = [0, 1]'
    suites.write(('pass = "bwd_data"\ndtypes = ["f32", "f64"]', both), module=NOTING)
    assert suites.run("--processes=1").returncode == 0
    cases = (suites.folder / "order").read_text().split()
    assert len(cases) == 24
    assert sum(case != before for case, before in zip(cases[1:], cases, strict=False)) == len(set(cases)) - 1


def test_a_test_of_no_case_has_its_turn(suites: Any) -> None:
    suites.write(more=NO_CASE)
    done = suites.run(TWO)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (suites.folder / "order").read_text() == "no case\n"
    assert len(suites.verdicts) == 6


PLAIN = '@cases("toy")\ndef test_toy(planned, check):\n    check(planned)\n'
CHECKED = "assert request.node.location == type(request.node).location.func(request.node)"
PLACED = PLAIN.replace("check)", "check, request)").replace("    check(", f"    {CHECKED}\n    check(")
CLASSED = "class TestToy:\n" + "".join(
    f"    {line}\n" for line in PLACED.replace("(planned, check", "(self, planned, check").splitlines()
)


@pytest.mark.parametrize("module", [PLACED, CLASSED], ids=["plain", "in_a_class"])
def test_a_test_is_where_pytest_finds_it(suites: Any, module: str) -> None:
    """The place of a function is looked for once for all of its cases."""
    suites.write(module=(PLAIN, module))
    done = suites.run("--processes=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(suites.verdicts) == 6


def test_a_judge_that_nobody_expected_is_asked(suites: Any) -> None:
    suites.write(module=LAWS)
    assert suites.run(TWO).returncode == 0
    assert {verdict.reference for verdict in suites.verdicts} == {"laws"}


def test_a_kernel_that_kills_its_process_costs_its_case_only(suites: Any) -> None:
    """Those that were given to the process after it are given to the next one."""
    add_sick(suites)
    for illness, outcome in (("abort", "CRASHED"), ("wrong", "MISMATCH")):
        done = suites.run(TWO, f"--load={UNHEALTHY}", "--kernel=*", "--option", f"illness={illness}")
        said = done.stdout + done.stderr
        assert done.returncode == 1, said
        assert suites.outcomes == [outcome] + ["PASS"] * 6, said


def test_it_stops_at_the_first_red_test(suites: Any) -> None:
    suites.write(module=("check(planned)", "check(planned), 1 / 0"))
    assert suites.run(TWO, "-x").returncode == 1
    assert len(suites.verdicts) == 1


def test_what_ran_is_not_run_again(suites: Any) -> None:
    suites.write(module=("check(planned)", "check(planned), 'f64' in planned.case and 1 / 0"))
    assert suites.run(TWO).returncode == 1
    suites.write()
    done = suites.run(TWO, "--resume")
    assert done.returncode == 0
    assert re.search(r"3 passed, 3 deselected", done.stdout), done.stdout


def hangs(processes: str) -> list[str]:
    return [f"--processes={processes}", f"--load={UNHEALTHY}", "--kernel=*", "--option", "illness=hang"]


def test_resume_skips_a_kernel_that_killed_its_parent_twice(suites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The black box reports what each process was at, not whose test ran here. One death may have come from outside."""
    monkeypatch.setenv("BITGATE_SPIN_SECONDS", "500")
    add_sick(suites)
    box, under_way = BlackBox(suites.out, "main"), []
    for more in ((), ("--resume",)):
        begun = box.path.stat().st_mtime_ns if more else 0

        def is_sick(begun: int = begun) -> bool:
            with suppress(FileNotFoundError):  # the resumed run has just removed that of the first
                return box.path.stat().st_mtime_ns > begun and any("unhealthy" in name for name in box.tests())
            return False

        status, said = suites.interrupt(signal.SIGKILL, is_sick, *hangs("2"), *more)
        assert status == -signal.SIGKILL, said
        under_way.append(set(box.tests()))
        assert len(under_way[-1]) <= 3
    done = suites.run(*hangs("2"), "--resume")
    assert done.returncode == 1, done.stdout + done.stderr
    last = {verdict.test: verdict.outcome.value for verdict in suites.verdicts}
    assert {test for test, outcome in last.items() if outcome == "CRASHED"} == under_way[0] & under_way[1]
    assert sorted({*last.values()}) == ["CRASHED", "PASS"]
    assert len(last) == 7
    assert list(suites.out.glob("blackbox-*")) == []


def test_ctrl_c_keeps_the_verdict_that_is_there(suites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_SPIN_SECONDS", "500")
    add_sick(suites)

    def is_at_last() -> bool:
        if len(suites.verdicts) < 5:
            return False
        time.sleep(1)  # for the sixth, which may not have been fetched yet
        return True

    status, said = suites.interrupt(signal.SIGINT, is_at_last, *hangs("1"))
    assert status == 130, said
    assert suites.outcomes == ["PASS"] * 6


def test_ctrl_c_does_not_wait_for_a_test_that_takes_its_time(suites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_SPIN_SECONDS", "500")
    slow = 'check):\n    len(open("out/host/results.jsonl").readlines()) >= 5 and time.sleep(1000)'
    suites.write(module=("check):", slow))
    add_sick(suites)
    status, said = suites.interrupt(signal.SIGINT, lambda: len(suites.verdicts) >= 5, *hangs("1"))
    assert status == 130, said
    assert suites.outcomes == ["PASS"] * 5


THREADS = """    import threading
    outcomes = []
    ask = lambda: outcomes.append(check(planned).outcome.value)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["PASS"] * 3"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_threads_of_a_test_ask_one_after_another(suites: Any, processes: str) -> None:
    suites.write(module=("    check(planned)", THREADS))
    done = suites.run(f"--processes={processes}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert suites.outcomes == ["PASS"] * 18
    assert suites.junit.tests == 6


BEGUN = """
from bitgate.verify.process import CaseProcess
ahead = CaseProcess.ahead
def noted(self, planned, *more, **named):
    open("begun", "a").write(planned.test + chr(10))
    return ahead(self, planned, *more, **named)
CaseProcess.ahead = noted
"""


@pytest.mark.parametrize("mark", ["skip", "skipif(True, reason='not here')", "xfail(run=False)"])
def test_no_kernel_begins_for_a_test_that_may_not_run(suites: Any, mark: str) -> None:
    suites.write(module=('@cases("toy")', f'import pytest\n@pytest.mark.{mark}\n@cases("toy")'))
    (suites.folder / "suites" / "conftest.py").write_text(BEGUN)
    suites.run(TWO)
    assert not (suites.folder / "begun").exists()
    suites.write()
    assert suites.run(TWO).returncode == 0
    assert len((suites.folder / "begun").read_text().splitlines()) == 6


LIMITED = 'ulimit -Sn 50 && exec "$@"'


def test_many_processes_need_more_open_files_than_is_usual(suites: Any) -> None:
    """Two descriptors of them lie beyond what select() takes."""
    (suites.folder / "suites" / "conftest.py").write_text(MANY_FILES)
    done = subprocess.run(
        ["bash", "-c", LIMITED, "bash", *suites.command("--processes=7")],
        cwd=suites.folder,
        env=suites.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(suites.verdicts) == 6


MANY_FILES = """
import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
assert soft == 50
resource.setrlimit(resource.RLIMIT_NOFILE, (1100, hard))
held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1030)]
resource.setrlimit(resource.RLIMIT_NOFILE, (1060, hard))
"""


def test_more_processes_than_any_machine_can_use_end_with_2(run_here: Any) -> None:
    code, output = run_here("--processes=1000000")
    assert code == 2
    assert "are the most on this machine" in output


@pytest.mark.parametrize("stated", ["some", "-1", "1.5"])
def test_a_number_that_is_none_ends_with_2(run_here: Any, stated: str) -> None:
    code, output = run_here(f"--processes={stated}")
    assert code == 2
    assert f"--processes {stated}: write a number, or auto" in output


def test_each_process_has_one_device_and_a_share_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_THREADS", "7")
    gpu = Target("gfx90a", "amd", "hardware", "a GPU")
    monkeypatch.setattr("bitgate.runtime.targets.amd_names", lambda: ["gfx90a"] * 3)
    for variable in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        monkeypatch.delenv(variable, raising=False)
    own = environments(Leases(gpu), 3)
    assert [one["ROCR_VISIBLE_DEVICES"] for one in own] == ["0", "1", "2"]
    assert {one["BITGATE_THREADS"] for one in own} == {"2"}
    assert count(gpu) == 3
    host = Target("host", "host", "cpu", "CPU")
    assert count(host) == 7
    assert "ROCR_VISIBLE_DEVICES" not in environments(Leases(host), 1)[0]


SPAWNED = """
from bitgate.verify.process import CaseProcess
spawn = CaseProcess.spawn
def noted(self):
    open("begun", "a").write("begun" + chr(10))
    spawn(self)
CaseProcess.spawn = noted
"""


@pytest.mark.parametrize(
    ("arguments", "begun", "code"),
    [(["--collect-only"], 0, 0), (["-k", "no_such_case"], 2, 3), (["--kernel=no_such_kernel"], 2, 2)],
)
def test_a_run_of_nothing_leaves_no_process(suites: Any, arguments: list[str], begun: int, code: int) -> None:
    """They open the target while tests are collected, whatever will be found."""
    (suites.folder / "suites" / "conftest.py").write_text(SPAWNED)
    done = suites.run(TWO, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    noted = suites.folder / "begun"
    assert (len(noted.read_text().split()) if noted.exists() else 0) == begun
    mark = f"BITGATE_OUT={suites.folder / 'out'}".encode()
    assert [pid for pid in psutil.pids() if mark in environment_of(pid)] == []


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
