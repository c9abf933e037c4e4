"""Tables of many submissions rank right ones by time, and never times of different kinds together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.tools.judge.many import entries_in, judge_many
from bitgate.tools.judge.page import write_table
from bitgate.tools.judge.run import JudgeRequest, judge
from bitgate.tools.judge.table import as_lines, table_of

SUBMISSION = "def custom_kernel(x): return x\n"
TASK = "def ref_kernel(x): return x\ndef generate_input(): return None\n"


def report(name: str, verdict: str, ms: float | None, kind: str = "bounded") -> dict[str, Any]:
    time = None if ms is None else {"kind": kind, "ms": ms}
    why = "a cell is wrong" if verdict == "wrong" else None
    return {"submission": name, "task": "t.py", "verdict": verdict, "time": time, "diagnosis": why}


def test_right_ones_have_places_by_time() -> None:
    every = [report("slow", "right", 3.0), report("fast", "right", 1.0), report("bad", "wrong", 0.1)]
    table = table_of(every, [])
    (task,) = table["tasks"]
    assert [(row["submission"], row["place"]) for row in task["rows"]] == [("fast", 1), ("slow", 2), ("bad", None)]
    assert (table["exit"], table["verdicts"]) == (1, {"right": 2, "wrong": 1})
    assert "  wrong                 bad  a cell is wrong" in as_lines(table)[3]


def test_times_of_two_kinds_are_two_tables() -> None:
    table = table_of([report("a", "right", 3.0), report("b", "right", 1.0, "trusted")], [])
    assert [(one["time"], [row["place"] for row in one["rows"]]) for one in table["tasks"]] == [
        ("bounded", [1]),
        ("trusted", [1]),
    ]


@pytest.mark.parametrize(
    ("reports", "notes", "code"),
    [([], [], 3), (["right"], [], 0), (["right"], ["1 of 2 were not judged"], 3), (["right", "open"], [], 3)],
)
def test_what_was_not_judged_is_no_green(reports: list[str], notes: list[str], code: int) -> None:
    assert table_of([report(f"s{n}", one, 1.0) for n, one in enumerate(reports)], notes)["exit"] == code


def test_each_submission_is_held_to_the_nearest_task(tmp_path: Path) -> None:
    for name, text in {
        "task.py": TASK,
        "one.py": SUBMISSION,
        "below/two.py": SUBMISSION,
        "other/task.py": TASK,
        "other/three.py": SUBMISSION,
        "broken.py": "def custom_kernel(",
        "helper.py": "x = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {one.name: str(Path(one.task).relative_to(tmp_path)) for one in entries_in(tmp_path, "")[0]}
    nearest = {"one": "task.py", "below/two": "task.py", "other/three": "other/task.py", "broken": "task.py"}
    assert found == nearest
    assert {one.task for one in entries_in(tmp_path, "gemm")[0]} == {"gemm"}
    (tmp_path / "second.py").write_text(TASK)
    with pytest.raises(UsageError, match=r"has two tasks, second\.py and task\.py"):
        entries_in(tmp_path, "")


def test_a_kept_report_is_of_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.py").write_text(SUBMISSION)
    request = JudgeRequest(Path(), "no_such_operation", budget=0.0)
    table = judge_many(tmp_path / "in", request, tmp_path / "out", True, lambda line: None)
    assert (table["exit"], table["notes"]) == (3, ["1 of 1 were not judged: the budget is spent: --resume"])
    from bitgate.tools.judge.many import _mark

    ((entry,), _) = entries_in(tmp_path / "in", request.task)
    kept = {"exit": 0, **report("one.py", "right", 2.0)}
    (tmp_path / "out" / "one.json").write_text(json.dumps({"mark": _mark(entry, request), "report": kept}))
    assert judge_many(tmp_path / "in", request, tmp_path / "out", True, lambda line: None)["exit"] == 0
    other = replace(request, task="no_other_operation")
    assert judge_many(tmp_path / "in", other, tmp_path / "out", True, lambda line: None)["exit"] == 3
    (tmp_path / "in" / "one.py").write_text(SUBMISSION + "\n")
    assert judge_many(tmp_path / "in", request, tmp_path / "out", True, lambda line: None)["exit"] == 3


def test_a_changed_file_next_to_a_task_is_another_task(tmp_path: Path) -> None:
    from bitgate.tools.judge.many import _mark

    for name, text in {"one.py": SUBMISSION, "task.py": f"import sizes\n{TASK}", "sizes.py": "n = 1\n"}.items():
        (tmp_path / name).write_text(text)
    ((entry,), _) = entries_in(tmp_path, "")
    before = _mark(entry, JudgeRequest(Path(), ""))
    (tmp_path / "sizes.py").write_text("n = 2\n")
    assert _mark(entry, JudgeRequest(Path(), "")) != before


def test_a_large_file_of_a_declaration_counts(tmp_path: Path) -> None:
    """A library is of 20 MB and more."""
    from bitgate.tools.judge.many import _mark

    (tmp_path / "declaration.py").write_text("FAMILY = 1\n")
    marks = set()
    for last in (b"a", b"b"):
        with (tmp_path / "libk.so").open("wb") as stream:
            stream.seek(20 << 20)
            stream.write(last)
        ((entry,), _) = entries_in(tmp_path, "gemm")
        marks.add(_mark(entry, JudgeRequest(Path(), "gemm")))
    assert len(marks) == 2


def test_a_submission_without_a_task_is_not_left_out(tmp_path: Path) -> None:
    for name, text in {"a/task.py": TASK, "a/one.py": SUBMISSION, "b/two.py": SUBMISSION}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    entries, alone = entries_in(tmp_path, "")
    assert ([one.name for one in entries], alone) == (["a/one"], ["b/two"])
    table = judge_many(tmp_path, JudgeRequest(Path(), "", budget=0.0), tmp_path / "out", False, lambda line: None)
    assert table["exit"] == 3
    assert "1 have no task, and were not judged: b/two" in table["notes"][0]


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import triton\nexcept ImportError:\n    def custom_kernel(data): return data\n",
        "from typing import Any\ncustom_kernel: Any = max\n",
        "if True:\n    class ModelNew: pass\n",
    ],
)
def test_a_submission_is_found_where_python_finds_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.py").write_text(text)
    assert [one.name for one in entries_in(tmp_path, "gemm")[0]] == ["one"]


def test_a_changed_file_next_to_it_is_another_submission(tmp_path: Path) -> None:
    from bitgate.tools.judge.many import _mark

    request = JudgeRequest(Path(), "gemm")
    (tmp_path / "mine").mkdir()
    for name, text in {"one.py": f"from helper import x\n{SUBMISSION}", "helper.py": "x = 1\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "mine" / "declaration.py").write_text("FAMILY = 1\n")
    (tmp_path / "mine" / "k.cu").write_text("// one\n")
    every, _ = entries_in(tmp_path, "gemm")
    before = [_mark(entry, request) for entry in every]
    (tmp_path / "helper.py").write_text("x = 2\n")
    (tmp_path / "mine" / "k.cu").write_text("// two\n")
    (tmp_path / "unrelated.py").write_text("x = 2\n")
    assert len(before) == 2
    assert not {*before} & {_mark(entry, request) for entry in every}


def test_the_page_shows_what_is_wrong(tmp_path: Path) -> None:
    write_table(tmp_path / "x.html", table_of([report("<b>bad</b>", "wrong", None)], []))
    text = (tmp_path / "x.html").read_text()
    assert "&lt;b&gt;bad&lt;/b&gt;" in text
    assert "a cell is wrong" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "a submission defines custom_kernel, ModelNew or FAMILY"),
        ("def custom_kernel(\n", "cannot be read as Python"),
    ],
)
def test_a_file_that_is_no_submission_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(text)
    with pytest.raises(UsageError, match=words):
        judge(JudgeRequest(tmp_path / "s.py", "gemm"), lambda *one: None, lambda line: None)
    (tmp_path / "k.cu").write_text("")
    with pytest.raises(UsageError, match=r"needs a declaration\.py that states its launches"):
        judge(JudgeRequest(tmp_path / "k.cu", "gemm"), lambda *one: None, lambda line: None)
