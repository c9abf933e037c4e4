"""Submissions that try to be taken for right ones are not, whatever they do in their process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.tools.judge.conventions import CUSTOM, load_task
from bitgate.tools.judge.problems import of_file
from bitgate.tools.judge.run import JudgeRequest, _declaration, judge
from bitgate.tools.judge.timing import Stopwatch

HERE = Path(__file__).parent
ATTACKS = (
    "searches_the_collector",
    "scans_memory",
    "uses_freed_memory",
    "overwrites_its_input",
    "remembers_by_identity",
    "remembers_by_shape",
    "remembers_by_first_row",
    "right_for_ten_calls",
    "forges_answers",
    "exits_with_success",
    "patches_the_harness",
    "patches_with_gaps",
    "leaves_a_module",
    "changes_the_environment",
    "returns_a_lazy_result",
    "fills_with_nan",
    "leaves_it_to_a_thread",
    "ends_its_judge",
    "reads_its_judge",
    "installs_a_handler",
    "asks_the_task",
    "replaces_the_pipes",
    "shrinks_shared_memory",
    "reads_the_cache",
    "leaves_a_copy_of_itself",
    "rounds_upward",
    "writes_past_the_end",
    "traces_its_judge",
    "zeroes_in_a_thread",
    "returns_another_shape",
    "returns_another_type",
    "returns_a_list",
    "returns_nothing",
    "hangs",
    "prints_a_gibibyte",
    "calls_itself",
    "returns_its_input",
    "aliases_its_input",
    "right_for_the_task_alone",
    "right_for_large_rows_alone",
    "returns_what_broadcasts",
    "returns_swapped_bytes",
    "returns_the_poison",
    "returns_nan_of_other_bits",
    "returns_far_too_much",
    "takes_all_memory",
    "writes_next_to_the_task",
    "writes_its_report",
    "lowers_its_judges_limits",
    "stops_itself",
    "profiles_the_harness",
)
FORGERIES = (
    "forges_a_mistake_of_its_judge",
    "forges_a_defect_of_its_judge",
    "forges_a_defect_after_a_right_result",
    "forges_a_lack_of_memory",
    "forges_a_lost_device",
    "forges_a_reference_that_fails",
    "claims_a_lack_of_memory",
)
WRITTEN = ("torch.py", "numpy.py", "sitecustomize.py", "conftest.py", "bitgate.toml", "operation.py")
"""Files that attacks leave next to the submission, or in the current folder, if they may."""


def test_the_control_passes(judged) -> None:
    report = judged("attacks.py", "right", "softmax.py")
    assert (report["verdict"], report["exit"]) == ("right", 0), report["diagnosis"]


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_passes(judged, name: str, tmp_path: Path) -> None:
    before, limits = set(Path.cwd().iterdir()), resource.getrlimit(resource.RLIMIT_CORE)
    report = judged("attacks.py", name, "softmax.py", problems=3, seconds=20.0)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".py"] == [f"{name}.py"]
    assert not {one.name for one in set(Path.cwd().iterdir()) - before} & {*WRITTEN}
    assert resource.getrlimit(resource.RLIMIT_CORE) == limits


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forgery_leaves_the_verdict_open(judged, name: str) -> None:
    report = judged("forgeries.py", name, "softmax.py", problems=1)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)


def test_results_kept_for_the_clock_are_wrong(judged) -> None:
    report = judged("attacks.py", "right_until_it_is_timed", "softmax.py", problems=1, own=True, samples=4)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)


def test_a_mistake_forged_for_the_clock_is_wrong(judged) -> None:
    own = {"problems": 1, "own": True, "samples": 2}
    report = judged("forgeries.py", "forges_a_mistake_while_it_is_timed", "softmax.py", **own)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert report["diagnosis"] == "while it was timed: its process answered with no result: no such task"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("claims_a_lack_of_memory_while_it_is_timed", "no room for x"),
        ("forges_a_refusal_while_it_is_timed", "refused by clause: not this one"),
        ("forges_a_lost_device_while_it_is_timed", "hipLaunchKernel: hipErrorDeviceLost: device lost"),
        ("forges_a_failed_reference_while_it_is_timed", "the reference kernel failed"),
    ],
)
def test_an_excuse_for_the_clock_is_wrong(judged, name: str, says: str) -> None:
    report = judged("forgeries.py", name, "softmax.py", problems=1, own=True, samples=2)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert report["diagnosis"] == f"while it was timed: its process answered with no result: {says}"


def test_a_time_that_it_does_not_claim_is_none(judged) -> None:
    report = judged(
        "forgeries.py", "states_no_seconds_while_it_is_timed", "softmax.py", problems=1, own=True, samples=1
    )
    assert report["verdict"] == "right", report["diagnosis"]
    (row,) = report["time"]["rows"]
    assert row["claimed"] == 0 < row["floor"] <= row["ms"]


def test_what_it_prints_is_no_report(judged, capfd: pytest.CaptureFixture[str]) -> None:
    report = judged("attacks.py", "prints_a_report", "softmax.py", problems=1, own=True, samples=1)
    printed = capfd.readouterr()
    assert (report["verdict"], report["time"]["kind"]) == ("right", "bounded")
    assert (printed.out, "trusted" in printed.err) == ("", True)


def test_the_clocks_data_do_not_follow_from_the_seed(judged, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of the submission may have found the seed, and could compute what it will be asked for."""
    drawn: list[list[int]] = [[], []]
    sample = Stopwatch.sample
    for seeds in drawn:

        def spied(self: Any, kernel: Any, problem: Any, fill: str, seed: int, seeds: list[int] = seeds) -> Any:
            seeds.append(seed)
            return sample(self, kernel, problem, fill, seed)

        monkeypatch.setattr(Stopwatch, "sample", spied)
        judged("attacks.py", "right", "softmax.py", problems=1, own=True, samples=1, seed=11)
    assert len(drawn[0]) == len(drawn[1]) == 2
    assert not {*drawn[0]} & {*drawn[1]}


@pytest.mark.parametrize(
    ("name", "seconds"), [("leaves_a_daemon", b"31415.9"), ("leaves_a_daemon_that_nothing_marks", b"31415.8")]
)
def test_a_daemon_does_not_outlive_its_judge(judged, name: str, seconds: bytes) -> None:
    """Whether it is called where a length is zero, which a separate process does, or elsewhere."""
    judged("attacks.py", name, "softmax.py", problems=1)
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists())
    assert not [one for one in commands if seconds in one]


def test_a_forged_clock_shortens_nothing(judged) -> None:
    report = judged("attacks.py", "forges_its_clock", "softmax.py", problems=1, own=True, samples=1)
    assert report["verdict"] == "right", report["diagnosis"]
    (row,) = report["time"]["rows"]
    assert row["claimed"] < row["floor"] < 50 <= row["low"] <= row["ms"]


HIDES = """
import numpy
numpy.exp = lambda x, *more, **named: x * 0 + 1
"""
LEAVES = f"""
import numpy as np

with open("colorsys.py", "w") as file:
    file.write({HIDES!r})


def custom_kernel(x):
    return np.full_like(x, 1 / max(1, x.shape[-1]))
"""


def test_what_it_leaves_is_no_module_of_the_task(tmp_path: Path) -> None:
    """A module that the task's reference imports later, left in the folder that every process of the judge is in."""
    (tmp_path / "task.py").write_text("import colorsys\n" + (HERE / "tasks" / "softmax.py").read_text())
    (tmp_path / "s.py").write_text(LEAVES)
    request = JudgeRequest(tmp_path / "s.py", str(tmp_path / "task.py"), problems=1, seed=3, own=True)
    report = judge(request, lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)


CACHED = """
import os

whole = ref_kernel


def ref_kernel(x):
    kept = os.path.join(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "none"), "poison")
    return np.full_like(x, 1 / max(1, x.shape[-1])) if os.path.exists(kept) else whole(x)
"""
POISONS = """
import os
from contextlib import suppress

import numpy as np

for folder in (os.environ.get("TORCHINDUCTOR_CACHE_DIR", "none"), "inductor", "../inductor", "../task/inductor"):
    with suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, "poison"), "w").close()


def custom_kernel(x):
    return np.full_like(x, 1 / max(1, x.shape[-1]))
"""


def test_what_it_leaves_in_the_cache_of_a_compiler_is_not_the_references(tmp_path: Path) -> None:
    """As with torch.compile: what lies in its cache is run."""
    (tmp_path / "task.py").write_text((HERE / "tasks" / "softmax.py").read_text() + CACHED)
    (tmp_path / "s.py").write_text(POISONS)
    request = JudgeRequest(tmp_path / "s.py", str(tmp_path / "task.py"), problems=1, seed=3, own=True)
    report = judge(request, lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)


def test_a_submission_is_no_module_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that lies next to the task, with the name of an installed module that the task imports."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    (tmp_path / "colorsys.py").write_text("raise SystemExit('the submission')")
    (tmp_path / "task.py").write_text("import colorsys\n\n\ndef ref_kernel(x):\n    return colorsys.__file__\n")
    assert load_task(tmp_path / "task.py", "ref_kernel")(0) != str(tmp_path / "colorsys.py")


def test_a_wrong_one_is_wrong(judged) -> None:
    report = judged("attacks.py", "fills_with_nan", "softmax.py", problems=1, own=True)
    assert (report["verdict"], report["exit"]) == ("wrong", 1)
    assert report["summary"]["outcomes"].keys() == {"MISMATCH"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise SystemExit(0)", "its file does not load: SystemExit: 0"),
        ("import os; os._exit(0)", "its file does not load: its process ended with exit code 0 and no answer"),
        ("import no_such_module", "its file does not load: ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_file_that_does_not_load_is_wrong(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(f"{text}\ndef custom_kernel(x): return x\n")
    request = JudgeRequest(tmp_path / "s.py", str(HERE / "tasks" / "softmax.py"), problems=1, own=True)
    report = judge(request, lambda one, verdict: None, lambda line: None)
    assert (report["verdict"], report["exit"], report["diagnosis"]) == ("wrong", 1, why)


def test_a_runtime_that_is_not_here_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("import cupy\ndef custom_kernel(x): return x\n")
    request = JudgeRequest(tmp_path / "s.py", str(HERE / "tasks" / "softmax.py"), problems=1, own=True)
    with pytest.raises(UsageError, match="needs the module cupy, which is not installed here"):
        judge(request, lambda one, verdict: None, lambda line: None)


def test_two_submissions_to_one_task_at_the_same_time_are_judged_each(tmp_path: Path) -> None:
    """The declaration of one is not replaced by that of another, which is written before the first is loaded."""
    task = of_file(HERE / "tasks" / "softmax.py", {}, (), 3, 11, False, False)
    files = [tmp_path / f"{name}.py" for name in ("wrong", "right")]
    written = [_declaration(file, CUSTOM, task, "host") for file in files]
    assert [str(file) in one.read_text() for file, one in zip(files, written, strict=True)] == [True, True]
