"""Processes die and hang; the run goes on, and every case has its verdict."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

from bitgate.suite.pytest.workers import ByProblem

KILL = 'check):\n    "g2" in planned.case and os.kill(os.getpid(), signal.SIGKILL)'
HANG = 'check):\n    "g2" in planned.case and time.sleep(1000)'


def test_a_killed_worker_costs_its_case_only(suites: Any) -> None:
    suites.write(module=("check):", KILL))
    finished = suites.run("-n2")
    assert finished.returncode == 1
    assert suites.outcomes == ["CRASHED"] * 2 + ["PASS"] * 4
    crashed = [verdict for verdict in suites.verdicts if verdict.outcome == "CRASHED"]
    assert all("_g2" in verdict.key.case and "was killed by SIGKILL" in verdict.reason for verdict in crashed)
    assert all(verdict.repro.startswith("bitgate verify bwd_data_f") for verdict in crashed)
    assert suites.junit.tests == 6
    assert suites.junit.errors + suites.junit.failures == 2


def test_a_dead_workers_cases_run_without_the_one_to_blame() -> None:
    """Another worker is handed the rest at once, and must not die of the same case in the name of the next one."""
    sent: list[int] = []
    dead, idle = (Mock(shutting_down=False, send_runtest_some=sent.extend) for _ in range(2))
    scheduler = ByProblem.__new__(ByProblem)
    scheduler.log = lambda *words: None
    scheduler.run = cast(Any, SimpleNamespace(tests={}))
    scheduler.workqueue = OrderedDict()
    scheduler.registered_collections = {node: ["s::over", "t::fatal", "u::next", "v::mine"] for node in (dead, idle)}
    scheduler.assigned_work = {
        dead: {"s": {"s::over": True}, "t": {"t::fatal": False}, "u": {"u::next": False}},
        idle: {"v": {"v::mine": True}},
    }
    assert scheduler.remove_node(dead) == "t::fatal"
    assert sent == [2]
    assert not scheduler.workqueue


def test_without_workers_resume_skips_what_killed_it_twice(suites: Any) -> None:
    """Two of the six cases kill their process: each does so twice."""
    suites.write(module=("check):", KILL))
    assert suites.run().returncode == -9
    with (suites.out / "results.jsonl").open("a") as record:
        record.write('{"schema":1,"case":"cut by the cra')
    recorded = []
    for _ in range(3):
        assert suites.run("--resume").returncode == -9
        recorded.append(len(suites.verdicts))
    assert recorded[0] < recorded[1] == recorded[2]
    assert suites.run("--resume").returncode == 1
    assert suites.outcomes == ["CRASHED"] * 2 + ["PASS"] * 4
    reasons = {verdict.reason for verdict in suites.verdicts if not verdict.green}
    assert reasons == {"its process died in two runs before this one"}
    assert not (suites.out / "deaths.json").exists()


def test_a_hung_case_ends_its_worker_and_is_on_the_record(suites: Any) -> None:
    suites.write(module=("check):", HANG))
    finished = suites.run("-n2", "--case-timeout=5")
    assert finished.returncode == 1
    assert len(suites.verdicts) == 6
    hung = [verdict for verdict in suites.verdicts if "_g2" in verdict.key.case]
    assert [verdict.outcome.value for verdict in hung] == ["HUNG"] * 2
    # On a busy machine others may be late, too.
    assert {verdict.reason.split(";")[0] for verdict in suites.verdicts} <= {"", "no verdict within 5 s"}
    assert any("in test_toy" in stacks.read_text() for stacks in suites.out.glob("hung-gw*.txt"))


def test_a_hung_case_without_workers_ends_the_run_with_reports(suites: Any) -> None:
    suites.write(module=("check):", HANG))
    finished = suites.run("--case-timeout=1", "-k", "f32")
    assert finished.returncode == 1
    assert "HUNG" in suites.outcomes
    assert suites.junit.tests == 3


def test_tests_of_one_problem_share_a_worker(suites: Any) -> None:
    both = 'dtypes = "f32"\npass = ["bwd_data", "fwd"]\nfills = ["exact", "decimal"]\nseeds = [0, 1]'
    noting = "    open('workers', 'a').write(planned.case + ' ' + os.environ['PYTEST_XDIST_WORKER'] + chr(10))\n"
    suites.write(('pass = "bwd_data"\ndtypes = ["f32", "f64"]', both), more=noting)
    assert suites.run("-n2").returncode == 0
    lines = (suites.folder / "workers").read_text().split("\n")[:-1]
    assert len(lines) == 24
    assert len(set(lines)) == len({line.split()[0] for line in lines}) == 6
    assert {line.split()[1] for line in lines} == {"gw0", "gw1"}


DEAD_ON_ARRIVAL = "import os, signal, time\nif 'PYTEST_XDIST_WORKER' in os.environ: os._exit(3)"


def test_workers_that_die_before_any_case_end_the_run(suites: Any) -> None:
    suites.write(module=("import os, signal, time", DEAD_ON_ARRIVAL))
    finished = suites.run("-n2")
    assert finished.returncode == 1, finished.stdout + finished.stderr
    assert "workers in a row died before they came to a case: run with -n0 to see why" in finished.stdout
    assert finished.stdout.count("replacing crashed worker") < 10
    assert suites.junit.tests == suites.junit.errors >= 6
