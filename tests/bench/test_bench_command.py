"""``bitgate bench`` as its users see it, on real kernels of the host: some are right and fast at first only."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from bitgate.cli.main import run
from bitgate.core.project_file import read
from bitgate.results.record.timing import Timing, timings, write
from bitgate.results.record.timing import TimingStatus as Status
from bitgate.tools.bench.gate_run import sides

CHANGING = str(Path(__file__).parent / "changing" / "declaration.py")
CASE = "fwd_f32_nhwgc_g1n1k8c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"
OTHER = "fwd_f32_nhwgc_g1n2k8c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"
PATIENCE = 300.0

Bench = Callable[..., tuple[int, str, list[Timing]]]


def by_instance(rows: list[Timing]) -> dict[str, Timing]:
    return {row.instance: row for row in rows}


def test_what_is_verified_is_timed(bench: Bench) -> None:
    code, said, rows = bench(CASE)
    assert (code, [row.status for row in rows]) == (0, [Status.TIMED] * 2), said
    assert "fwd f32 NHWGC G=1 N=1 K=8 C=8 3x3 8x8 p1" in said
    assert "best: changing." in said
    assert " TFlops, " in said
    row = rows[0]
    assert (row.verdict, row.flops, row.bytes) == ("PASS", 73_728, 4 * (512 + 576 + 512))
    assert row.digest.startswith("bg1:")
    assert len(row.seconds) == len(row.rounds) > 0
    assert all(0 < seconds < PATIENCE for seconds in row.seconds)
    assert row.settings["clock"] == "steady clock"
    assert row.settings["loop"] == "C"
    assert row.settings["batch"] == rows[1].settings["batch"] >= 1


def test_json_is_one_document_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        [
            "bench",
            CASE,
            "--load",
            CHANGING,
            "--kernel",
            "*.first",
            "--samples",
            "3",
            "--target",
            "host",
            "--out",
            str(tmp_path),
            "--json",
        ]
    )
    document = json.loads(capsys.readouterr().out)
    assert code == document["summary"]["exit"] == 0
    assert [row["status"] for row in document["rows"]] == ["timed"]
    assert document["summary"]["best"][0]["kernel"] == "changing.first"


def test_ours_say_what_else_is_in_the_time(bench: Bench) -> None:
    code, said, (row,) = bench(
        "bwd_data_f16_nhwgc_g1n1k32c32_y3x3_h8x8_s2_p1", "--kernel", "grouped_bwd_data.f16_64x64x64_a8b8c8", load=""
    )
    assert (code, row.includes) == (0, ("zero_fill",)), said
    assert "in this time, next to the kernels that compute: zero_fill" in said


def test_cold_caches_and_sets_that_take_turns(bench: Bench) -> None:
    code, said, (row,) = bench(CASE, "--kernel", "*.first", "--cold", "--rotate", "2", "--fill", "decimal")
    assert code == 0, said
    stated = row.settings
    assert (stated["batch"], stated["rotate"], stated["compared"]) == (1, 2, "reference")
    assert stated["overwritten_bytes"] >= 1 << 26


def test_python_launches_what_has_no_library(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(Path(__file__).parents[1] / "project" / "scaled_rows", project)
    monkeypatch.chdir(project)
    done = bitgate(project, "bench", "scaled_rows_f16_f32_f16_r5c33_rows", "--target", "host", "--samples=3", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert {(row["status"], row["settings"]["loop"]) for row in rows} == {("timed", "Python")}, done.stdout


@pytest.mark.parametrize(("launches", "status"), [(0, "not verified"), (30, "failed")], ids=["at_once", "later"])
def test_python_that_raises_is_a_kernel_that_fails(tmp_path: Path, launches: int, status: str) -> None:
    project = tmp_path / "project"
    shutil.copytree(Path(__file__).parents[1] / "project" / "scaled_rows", project)
    file = project / "kernels" / "rows" / "declaration.py"
    begin = "    def launch(self, problem, buffers, workspace, stream):\n"
    counted = f"        LEFT.pop() if len(LEFT) > {1000 - launches} else {{}}['worn out']\n"
    text = file.read_text().replace(begin, begin + counted)
    file.write_text(text.replace("@dataclass", "LEFT = list(range(1000))\n\n\n@dataclass"))
    done = bitgate(project, "bench", "scaled_rows_f16_f32_f16_r5c33_rows", "--target", "host", "--samples=3", "--json")
    (row,) = json.loads(done.stdout)["rows"]
    assert (done.returncode, row["status"], row["seconds"]) == (1, status, []), done.stderr
    assert re.search(r"it raised declaration.py:\d+: KeyError: 'worn out'", row["reason"])
    assert "Traceback" not in done.stderr


def test_a_slower_option_loses(bench: Bench) -> None:
    slower = ("--compare-option", "turns=1000000")
    code, said, rows = bench(CASE, "--kernel", "*.first", *slower, "--samples", "20", "--json")
    assert code == 0, said
    assert {(row.side, row.options.get("turns", "")) for row in rows} == {("A", ""), ("B", "1000000")}
    assert rows[0].rounds == rows[1].rounds == tuple(range(20))
    assert json.loads(said[: said.rindex("}") + 1])["summary"]["wins"]["A"] == 1


def test_a_comparison_is_a_table(bench: Bench, tmp_path: Path) -> None:
    written = tmp_path / "table.md"
    sides = ("--kernel", "*.first", "--compare", "*.second", "--samples", "20")
    code, said, _ = bench(CASE, *sides, "--markdown", str(written))
    assert code == 0
    assert "changing.second" in said
    assert CASE in written.read_text()
    assert "changing.second" in written.read_text()


def test_sides_of_which_nothing_can_be_said_are_not_green(bench: Bench) -> None:
    code, said, rows = bench(CASE, "--kernel", "*.first", "--compare", "*.second", "--samples", "5")
    assert (code, {row.status for row in rows}) == (3, {Status.TIMED}), said
    assert "too little data: 5 rounds of both" in said


def test_a_wrong_kernel_is_never_timed(bench: Bench) -> None:
    code, said, rows = bench(CASE, "--option", "harm=wrong")
    wrong, right = by_instance(rows)["second"], by_instance(rows)["first"]
    assert (code, right.status) == (1, Status.TIMED), said
    assert (wrong.status, wrong.verdict, wrong.seconds) == (Status.NOT_VERIFIED, "MISMATCH", ())
    assert "again: bitgate verify" in said


@pytest.mark.parametrize(
    ("harm", "begin", "end", "status", "words"),
    [
        pytest.param("wrong", 7, 7, Status.NOT_VERIFIED, "the result's digest is bg1:", id="its_seventh_launch_alone"),
        pytest.param(
            "wrong", 30, 10**9, Status.NOT_VERIFIED, "the result's digest is bg1:", id="from_the_thirtieth_on"
        ),
        pytest.param("stops", 30, 10**9, Status.NOT_VERIFIED, "the result's digest is bg1:", id="writes_no_more"),
        pytest.param(
            "rests",
            30,
            10**9,
            Status.NOT_VERIFIED,
            "the result's digest is bg1:",
            id="leaves_every_second_launch_out",
        ),
        pytest.param(
            "skips",
            30,
            10**9,
            Status.NOT_VERIFIED,
            "the result's digest is bg1:",
            id="sees_its_result_there_already",
        ),
        pytest.param("peeks", 30, 10**9, Status.NOT_VERIFIED, "the result's digest is bg1:", id="looks_at_its_ends"),
        pytest.param(
            "late",
            30,
            10**9,
            Status.NOT_VERIFIED,
            "work was left in flight on a stream",
            id="works_where_no_clock_looks",
        ),
        pytest.param(
            "kept",
            30,
            10**9,
            Status.NOT_VERIFIED,
            "it remembers data or results by their",
            id="remembers_by_address",
        ),
        pytest.param("input", 30, 10**9, Status.NOT_VERIFIED, "input in was changed", id="writes_its_input"),
        pytest.param("past", 30, 10**9, Status.FAILED, "past the end of buffer out", id="out_of_bounds"),
    ],
)
def test_what_goes_wrong_while_it_is_timed_has_no_time(
    bench: Bench, harm: str, begin: int, end: int, status: Status, words: str
) -> None:
    stated = [f"--option={name}={value}" for name, value in {"harm": harm, "from": begin, "until": end}.items()]
    code, said, rows = bench(CASE, *stated)
    wrong, right = by_instance(rows)["second"], by_instance(rows)["first"]
    assert (code, right.status) == (1, Status.TIMED), said
    assert (wrong.status, wrong.verdict, wrong.seconds, wrong.rounds) == (status, "PASS", (), ())
    assert words in wrong.reason
    assert wrong.repro.startswith("bitgate bench ")


def test_a_crash_costs_nobody_else_anything(bench: Bench) -> None:
    code, said, rows = bench(CASE, OTHER, "--option", "harm=abort", "--option", "from=40")
    assert code == 1, said
    found = {(row.case, row.instance): (row.status, bool(row.seconds)) for row in rows}
    assert found == {
        (case, instance): outcome
        for case in (CASE, OTHER)
        for instance, outcome in (("first", (Status.TIMED, True)), ("second", (Status.FAILED, False)))
    }
    assert "its process died of SIGABRT" in said


def test_who_does_not_take_it_says_why(bench: Bench) -> None:
    code, said, rows = bench("fwd_f32_nhwgc_g1n1k8c8_y3x3_h8x8_p1_sk2")
    assert (code, {row.status for row in rows}) == (3, {Status.REFUSED}), said
    assert "split_k" in rows[0].reason


def test_what_no_kernel_computes_is_not_left_out(bench: Bench) -> None:
    """Not in silence: a sweep may have other operations than the kernels."""
    backward = "bwd_data_f32_nhwgc_g1n1k8c8_y3x3_h8x8_s2x2_d1x1_p1x1_q1x1"
    refusal = "operation: no kernel of this side computes bwd_data, only fwd"
    code, said, rows = bench(backward)
    assert (code, [(row.case, row.status, row.reason) for row in rows]) == (
        3,
        [(backward, Status.REFUSED, refusal)],
    )
    code, said, _ = bench(CASE, backward, "--kernel", "*.first", "--compare", "*.second")
    assert code in (0, 3), said  # 3: others keep the machine too busy for a winner
    assert "2 timed, 2 refused" in said
    assert re.search(rf"{backward} .* A and B not timed; A: .*{re.escape(refusal)}", said)


def test_buffers_that_memory_does_not_hold(bench: Bench) -> None:
    code, said, (row,) = bench(CASE, "--kernel", "*.first", "--rotate", "100000000")
    assert (code, row.status, row.seconds) == (3, Status.REFUSED, ()), said
    assert "100000000 sets of buffers need" in row.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no case to time; name a case, or a sweep with --sweep"),
        ([CASE, "--plot", "x.svg"], "say what side B is"),
        (["probe_platform"], "probe_platform: has no result that a time could be held to; bitgate verify runs it"),
        ([CASE, "--min-effect", "300%"], "give a share below 1, as 3% or 0.03"),
        ([CASE, "--dtype", "bf16"], "--dtype is about a sweep's problems"),
        ([CASE, "--fill", "exakt"], "did you mean 'exact'"),
        ([CASE, "--compare-tree", "/nowhere"], "/nowhere: no such folder"),
        ([CASE, "--base", "HEAD"], "--base is what --gate measures against"),
        ([CASE, "--gate", "--compare", "*.second"], "leave --compare... out"),
        ([CASE, "--gate", "--base", "nosuch"], "--base nosuch: "),
        ([CASE, "--gate", "--base", ""], "--base is empty: name a commit or a folder, or leave it out"),
        ([CASE, "--compare-commit", "nosuch"], "knows no such commit"),
        ([CASE, "--compare-option", "turns"], "write NAME=VALUE"),
        ([CASE, "--compare", "*.second", "--markdown", "/proc/x/y.md"], "/proc/x/y.md cannot be written: "),
        ([CASE, "--compare", "*.second", "--markdown", "/tmp"], "/tmp cannot be written: it is a folder"),
        ([CASE, "--out", "/proc/x"], "/proc/x/host/bench.jsonl cannot be written: "),
    ],
)
def test_what_cannot_be_asked_is_one_line(bench: Bench, arguments: list[str], words: str) -> None:
    code, said, rows = bench(*arguments)
    assert (code, rows) == (2, [])
    assert words in said.splitlines()[-1]
    assert "Traceback" not in said


def bitgate(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "BITGATE_OUT"}
    return subprocess.run(
        [sys.executable, "-m", "bitgate", *words],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


LONG = "fwd_f32_nhwgc_g1n4k64c64_y3x3_h28x28_s1x1_d1x1_p1x1_q1x1"
"""Some seconds for all its samples."""


def test_a_record_that_was_cut_goes_on_and_another_is_told(bench: Bench, tmp_path: Path) -> None:
    record, words = tmp_path / "host" / "bench.jsonl", ("--kernel", "*.first", "--samples", "3")
    bench(CASE, OTHER, *words)
    whole = record.read_bytes()
    record.write_bytes(whole[:-100])
    code, said, rows = bench(CASE, OTHER, *words, "--resume")
    assert (code, [row.case for row in rows], said.count("measured before")) == (0, [CASE, OTHER], 1)
    record.write_bytes(b"{}\n" + whole)
    assert run(["bench", CASE, *words, "--resume", "--load", CHANGING, "--target=host", f"--out={tmp_path}"]) == 2
    assert record.read_bytes() == b"{}\n" + whole


def test_a_kernel_that_was_changed_is_measured_again(bench: Bench, tmp_path: Path) -> None:
    """Its record reports another one, whatever the settings."""
    folder = tmp_path / "changing"
    shutil.copytree(Path(CHANGING).parent, folder)
    source, naive = folder / "changing.hip.cpp", Path(CHANGING).parents[3] / "kernels"
    source.write_text(source.read_text().replace("../../../kernels", str(naive)))
    words = (CASE, "--kernel", "*.first")
    code, said, (first,) = bench(*words, load=str(folder / "declaration.py"))
    assert code == 0, said
    _, said, rows = bench(*words, "--resume", load=str(folder / "declaration.py"))
    assert "measured before" in said
    assert rows == [first]
    source.write_text(source.read_text() + "\n// changed\nextern const int changed = 1;\n")
    _, said, (_, second) = bench(*words, "--resume", load=str(folder / "declaration.py"))
    assert "measured before" not in said
    assert first.fingerprint["build"] != second.fingerprint["build"]


def test_sides_of_two_runs_are_measured_again(bench: Bench, tmp_path: Path) -> None:
    """The second of them ended between its rows."""
    words = (CASE, "--kernel", "*.first", "--compare", "*.second")
    _, _, (first, second) = bench(*words)
    record = tmp_path / "host" / "bench.jsonl"
    record.unlink()
    for one in (first, msgspec.structs.replace(second, run={**second.run, "attempt": 2})):
        write(record, one)
    _, said, rows = bench(*words, "--resume")
    assert "measured before" not in said
    assert "A and B were timed in different runs" not in said
    assert rows[2].run == rows[3].run
    _, said, rows = bench(*words, "--resume")
    assert "measured before" in said


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(tmp_path: Path) -> None:
    words = ["bench", CASE, LONG, "--load", CHANGING, "--kernel", "*.first", "--target", "host", "--out", str(tmp_path)]
    record = tmp_path / "host" / "bench.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "bitgate", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    end = time.monotonic() + PATIENCE
    while not record.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert f"1 rows are kept in {record}: --resume goes on" in said
    (kept,) = timings(record)
    assert (kept.case, kept.status) == (CASE, Status.TIMED)

    again = bitgate(tmp_path, *words, "--resume")
    assert again.returncode == 0, again.stderr
    assert "1/2 fwd f32 NHWGC G=1 N=1 K=8 C=8 3x3 8x8 p1: measured before" in again.stderr
    assert [row.case for row in timings(record)] == [CASE, LONG]
    assert next(timings(record)) == kept
    assert "2 timed" in again.stdout


@pytest.mark.nightly
def test_other_settings_are_measured_again(bench: Bench) -> None:
    _, _, (first,) = bench(CASE, "--kernel", "*.first")
    code, said, rows = bench(CASE, "--kernel", "*.first", "--resume", "--rotate", "2")
    assert (code, rows[0], len(rows)) == (0, first, 2), said
    assert rows[1].settings["rotate"] == 2


def test_a_full_disk_is_told_and_what_is_written_stays(tmp_path: Path, bench: Bench) -> None:
    bench(CASE)  # builds what there is to build, which takes more than the limit
    command = f"ulimit -f 4; exec {sys.executable} -m bitgate bench {CASE} {OTHER} --load {CHANGING} --target host"
    done = subprocess.run(
        ["bash", "-c", f"{command} --samples 3 --out {tmp_path / 'full'}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "the disk is full; free space and run again with --resume" in done.stderr
    kept = list(timings(tmp_path / "full" / "host" / "bench.jsonl"))
    assert 1 <= len(kept) < 4


DELAY = "volatile int64_t left = 10000;\n  while (left > 0)\n    left = left - 1;\n  const int64_t cells ="


POINTWISE = "bwd_data_f32_nhwgc_g1n2k32c16_y1x1_h5x7"


@pytest.fixture
def owner(tmp_path: Path) -> Path:
    """A repository whose last commit makes its kernel slower."""
    folder = tmp_path / "owner"
    kernel = folder / "pointwise" / "pointwise.hip.cpp"
    shutil.copytree(Path(__file__).parents[2] / "examples" / "pointwise", kernel.parent)
    (folder / "bitgate.toml").write_text('[bitgate]\nload = ["pointwise"]\n')
    git(folder, "init", "--quiet", "--initial-branch=main")
    committed(folder, "fast")
    kernel.write_text(kernel.read_text().replace("const int64_t cells =", DELAY))
    committed(folder, "slow")
    return folder


def test_two_commits_of_an_owners_kernel(owner: Path) -> None:
    words = ["bench", POINTWISE, "--target", "host", "--samples=20", "--json"]
    done = bitgate(owner, *words, "--compare-commit=HEAD~1")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    base = git(owner, "rev-parse", "HEAD~1").strip()
    assert {(row["side"], row["build"]) for row in document["rows"]} == {("A", ""), ("B", base)}
    assert document["summary"]["wins"]["B"] == 1
    assert git(owner, "status", "--porcelain", "--untracked-files=no") == ""
    assert git(owner, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize("base", ["HEAD", "."])
def test_a_tree_is_no_base_of_itself(owner: Path, base: str) -> None:
    (owner / ".gitignore").write_text("out\n.cache\n")
    committed(owner, "outputs are ignored")
    done = bitgate(owner, "bench", POINTWISE, "--target", "host", "--gate", f"--base={base}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        f"--base {base}: is this very tree, which is no slower than itself: name another"
        f" {'commit' if base == 'HEAD' else 'checkout'}\n"
    )


@pytest.mark.parametrize("base", ["main", "origin/main", "HEAD~1", "fast"])
def test_a_branch_as_a_base_is_where_this_one_left_it(
    owner: Path, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others did there since is not put down to the change. A forge's clone knows the branch as its origin's."""
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path / "cache"))
    git(owner, "tag", "fast", "HEAD~1")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(owner), str(clone)], check=True)
    git(clone, "checkout", "--quiet", "--detach", "fast")
    git(clone, "branch", "--quiet", "-D", "main")
    (clone / "notes.txt").write_text("of the change")
    committed(clone, "a change")
    side, _ = sides(read(clone / "bitgate.toml"), base, None, {}, lambda line: None)
    assert side.build == git(owner, "rev-parse", "fast").strip()


def test_the_gate_is_red_for_what_is_slower_twice(owner: Path) -> None:
    words = ["bench", POINTWISE, "--target", "host", "--samples=20", "--gate"]
    done = bitgate(owner, *words, "--base=HEAD~1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "red: 1 slower" in done.stdout
    assert "1 shapes have a winner, or seem slower: they are measured again" in done.stderr
    assert "<failure" in (owner / "out" / "host" / "bench.junit.xml").read_text()


@pytest.mark.nightly
def test_the_gate_is_green_for_what_is_faster(owner: Path) -> None:
    words = ["bench", POINTWISE, "--target", "host", "--samples=20", "--gate"]
    kernel = owner / "pointwise" / "pointwise.hip.cpp"
    kernel.write_text(kernel.read_text().replace("left = 10000", "left = 1"))  # not committed, on the main branch
    done = bitgate(owner, *words, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["gate"]["counts"]["faster"] == 1


def committed(folder: Path, words: str) -> None:
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=o", "-c", "user.email=o@example.org", "commit", "--quiet", "-m", words)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout


def test_some_shapes_of_a_list(bench: Bench) -> None:
    _, _, rows = bench(CASE, OTHER, "--only", "*_g1n2k*", "--kernel", "*.first")
    assert [row.case for row in rows] == [OTHER]
    code, said, _ = bench(CASE, OTHER, "--only", "conv1*")
    assert code == 2
    assert f"--only 'conv1*' matches none of 2 shapes, such as {CASE}, {OTHER}" in said


def test_the_host_queues_nothing(bench: Bench) -> None:
    code, said, rows = bench(CASE, "--queued")
    assert (code, rows) == (2, [])
    assert "--queued is about devices: the host's launches run on the threads that make them" in said


def test_a_case_that_a_sweep_has_too_goes_by_its_name_there(bench: Bench, tmp_path: Path) -> None:
    sweep = tmp_path / "mine.toml"
    sweep.write_text(f'title = "t"\n[[case]]\nname = "conv1"\nwhy = "w"\ncase = "{CASE}"\n')
    _, _, rows = bench(CASE, OTHER, "--sweep", str(sweep), "--only", "conv*", "--kernel", "*.first")
    assert [(row.case, row.name) for row in rows] == [(CASE, "conv1")]


def test_an_empty_plot_is_left_out_and_the_exit_code_stays(bench: Bench, tmp_path: Path) -> None:
    picture = tmp_path / "sides.svg"
    code, said, _ = bench(CASE, "--compare", "*.second", "--samples", "2", "--plot", str(picture))
    assert (code, picture.exists()) == (3, False), said
    assert f"{picture} is not written: nothing was compared" in said
