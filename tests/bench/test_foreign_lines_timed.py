"""``bitgate bench`` on the command lines, lists and logs of other programs, on real kernels of the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.results.record.timing import Timing, timings

KERNEL = "grouped_bwd_data.f16_32x32x32_a1b1c1*"
PROFILED = "ckProfiler grouped_conv_bwd_data 1 1 {} 2 1 1 8 8 3 3 6 6 2 2 1 1 1 1 1 1 1"
DRIVEN = "MIOpenDriver convfp16 -n 1 -c 8 -H 6 -W 6 -k 8 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -I NHWC -O NHWC -f NHWC -F 2"

Bench = Callable[..., tuple[int, str, str, list[Timing]]]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Bench:
    """Exit code, both streams, and the record."""

    def call(*arguments: str, kernel: str = KERNEL) -> tuple[int, str, str, list[Timing]]:
        code = run(["bench", "--target", "host", "--out", str(tmp_path), "--kernel", kernel, *arguments])
        captured = capsys.readouterr()
        record = tmp_path / "host" / "bench.jsonl"
        return code, captured.out, captured.err, list(timings(record)) if record.exists() else []

    return call


def test_a_line_of_ck_profiler_prints_its_perf_lines(bench: Bench) -> None:
    code, said, _, rows = bench(PROFILED.format("2 2 0 1"), "--samples", "5")
    assert code == 0, said
    assert {(row.fill, row.settings["reference"]) for row in rows} == {("decimal", "auto")}
    perf = [line for line in said.splitlines() if line.startswith("Perf: ")]
    assert [line.rpartition(", ")[2] for line in perf] == [row.key.name for row in rows]


def test_a_line_is_verified_in_the_way_that_it_names(bench: Bench) -> None:
    code, said, _, rows = bench(PROFILED.format("2 1 0 1"), "--samples", "3")
    assert code == 0, said
    assert {row.settings["reference"] for row in rows} == {"gpu"}


def test_a_line_that_asks_for_no_timing_is_refused(bench: Bench) -> None:
    code, said, error, rows = bench(PROFILED.format("1 1 0 0"))
    assert (code, said, rows) == (2, "", [])
    assert error == (
        f"bitgate: {PROFILED.format('1 1 0 0')}: the time switch (arg7) is 0: the line asks for no timing,"
        " bitgate verify runs it\n"
    )


def test_a_log_of_miopen_is_timed_once_a_problem(bench: Bench, tmp_path: Path) -> None:
    log = tmp_path / "miopen.log"
    command = f"MIOpen(HIP): Command [LogCmdConvolution] ./bin/{DRIVEN} -t 1 -i 4 -V 0"
    log.write_text(f"2026-01-02 03:04:05 {command}\nPRNG seed: 12345678\n2026-01-02 03:04:06 {command}\n")
    code, said, error, rows = bench("--cases", str(log), kernel="grouped_bwd_data.f16_32x32x32_a1b1c1")
    assert code == 0, said
    ((samples, batch),) = {(row.settings["samples"], row.settings["batch"]) for row in rows}
    assert (samples, batch, [len(row.seconds) for row in rows]) == (4, 1, [4])
    assert "the line asks for no verification: only what is verified is timed" in error
    lines = said.splitlines()
    assert not [line for line in lines if line.startswith("Perf: ")]
    assert f"2 x ./bin/{DRIVEN} -t 1 -i 4 -V 0" in lines
    assert "refused: 1 of 3, not looked at" in lines


def test_a_shape_file_of_benchdnn(bench: Bench, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes_small"
    shapes.write_text(
        '--mode=P --fix-times-per-prb=3 --conv --dir=BWD_D --dt=f16\nmb1ic8ih6oc8oh3kh3sh2ph1n"small"\n'
        "--perf-template=csv\nmb2ic8ih6oc8oh3kh3sh2ph1\n"
    )
    code, said, _, rows = bench("--cases", str(shapes))
    assert code == 0, said
    assert {row.settings["samples"] for row in rows} == {3}
    lines = said.splitlines()
    assert "  1 x --perf-template=csv is not understood: times are printed as bitgate's own (first: line 4)" in lines


def test_json_says_what_asked_for_a_problem_and_how_often(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "miopen.log"
    log.write_text(f"{DRIVEN} -t 1 -i 2 -V 0\n" * 3)
    code = run(["bench", "--target", "host", "--out", str(tmp_path), "--kernel", KERNEL, "--cases", str(log), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    (line,) = document["summary"]["lines"]
    assert (line["line"], line["count"]) == (f"{DRIVEN} -t 1 -i 2 -V 0", 3)
    assert line["case"] == document["rows"][0]["case"]
    assert line["notes"] == ["the line asks for no verification: only what is verified is timed, so it is verified"]


def test_the_command_line_overrides_a_foreign_line(bench: Bench) -> None:
    code, said, _, rows = bench(f"{DRIVEN} -t 1 -i 4", "--samples", "6", "--fill", "decimal", "--cold")
    assert code == 0, said
    assert {(row.settings["samples"], row.fill, row.settings["cold"]) for row in rows} == {(6, "decimal", True)}
