"""The survey of a task finds its sizes, what may change together, and data by which its results can be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.core.errors import UsageError
from bitgate.model import DTYPES, Accumulation
from bitgate.model.registry import add, operations
from bitgate.tools.judge.conventions import TaskFile
from bitgate.tools.judge.operation import TaskOperation
from bitgate.tools.judge.survey import TaskSurvey

TASKS = Path(__file__).parent / "tasks"
F32 = Accumulation(DTYPES["f32"])


def surveyed(task: str, **arguments: Any) -> dict[str, Any]:
    return TaskSurvey(TaskFile(TASKS / task, arguments)).document((), 8, 5, own=False)


def test_each_length_that_may_change_has_a_name() -> None:
    facts = surveyed("softmax.py", rows=6, columns=10)
    assert [one["axes"] for one in facts["inputs"]] == [["a", "b"]]
    sizes = [tuple(one["sizes"].values()) for one in facts["problems"]]
    assert sizes[:3] == [(6, 10), (6, 10), (7, 11)]
    assert (1, 1) in sizes
    assert [one["group"] for one in facts["problems"]][:3] == ["own", "not contiguous", "drawn"]


def test_tails_have_no_padding_which_a_declaration_may_refuse() -> None:
    """Those of shrunk sizes, too: the task's own columns are 512, and others are drawn around 32."""
    facts = TaskSurvey(TaskFile(TASKS / "matmul_f16.py", {"m": 32, "n": 512, "k": 64})).document((), 6, 5, own=False)
    tails = [one for one in facts["problems"] if {65, 513, 33} & {*one["sizes"].values()}]
    assert [one["gap"] for one in tails] == [False] * 3
    assert any(one["gap"] for one in facts["problems"])


def test_lengths_that_must_agree_share_a_name() -> None:
    facts = surveyed("matmul_f16.py", m=6, n=10, k=16)
    sizes = {tuple(one["sizes"].values()) for one in facts["problems"]}
    assert {tuple(one["outputs"][0]) for one in facts["problems"]} >= {(1, 1), (7, 11)}
    assert {(6, 10, 16), (7, 11, 17), (1, 1, 1)} <= sizes
    (m, k), (again, n) = (one["axes"] for one in facts["inputs"][:2])
    assert (k, len({m, n, k})) == (again, 3)
    assert facts["inputs"][2] == {"buffer": 0}
    assert all("exact" in one["fills"] for one in facts["problems"])
    queries, keys, values = (one["axes"] for one in surveyed("causal.py")["inputs"])
    assert (queries[2], keys[:2]) == (keys[2], values[:2])


def test_data_fit_the_reference() -> None:
    fills = {task: set(surveyed(task)["problems"][0]["fills"]) for task in ("softmax.py", "sums.py", "layer_norm.py")}
    assert fills["softmax.py"] == {"decimal", "small", "large", "sparse"}
    assert fills["sums.py"] == {"exact", "decimal", "signed", "small", "large"}
    assert "exact" not in fills["layer_norm.py"]


def test_results_of_zero_length_are_kept_apart() -> None:
    zero = {one["name"]: one for one in surveyed("sums.py", rows=4, columns=9)["zero"]}
    assert (zero["b"]["outputs"], zero["b"]["cells"]) == ([[3]], [[0.0, 0.0, 0.0]])
    assert (zero["a"]["outputs"], zero["a"]["cells"]) == ([[0]], [[]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "def ref_kernel(x): return x\ndef generate_input(n): return x",
            "generate_input needs n: give --input n=VALUE",
        ),
        ("def ref_kernel(x): return x", "defines no generate_input"),
        ("def ref_kernel(x): return x\ndef generate_input(): return 5", "its inputs are a int: give tensors"),
        ("import nothere\ndef ref_kernel(x): return x", "needs the module nothere, which is not installed"),
        ("def ref_kernel(x): return 5\ndef generate_input(): return numpy.ones(3)", "tensors alone can be judged"),
        (
            "def ref_kernel(x): return numpy.random.random(3)\ndef generate_input(): return numpy.ones(3)",
            "its reference gives another result at each call",
        ),
        (
            "def ref_kernel(x): return x\ndef generate_input(): return numpy.ones(3, complex)",
            "complex128 are not judged",
        ),
        (
            "def ref_kernel(x): return x[0]\ndef generate_input(): return numpy.ones(3), numpy.ones((0, 3))",
            "its input 1 has no cells: draw a longer one",
        ),
        (
            "def ref_kernel(x): return 3 * x\ndef generate_input(): return numpy.full(3, 1 << 40)",
            "are beyond the range of their type, or of 32 bits",
        ),
    ],
)
def test_a_task_that_cannot_judge_says_why(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(f"import numpy\n{text}\n")
    with pytest.raises(UsageError, match=words):
        TaskSurvey(TaskFile(tmp_path / "task.py", {})).document((), 2, 5, own=False)


@pytest.fixture
def softmax() -> Any:
    facts = surveyed("softmax.py", rows=6, columns=40)
    operation = TaskOperation("task_tried", str(TASKS / "softmax.py"), {"rows": 6, "columns": 40}, facts)
    if "task_tried" not in operations():
        add(operation, "")
    return operation.problem_of_sizes if hasattr(operation, "problem_of_sizes") else operation


@pytest.mark.parametrize("fill", ["decimal", "small", "large", "sparse"])
def test_a_bound_takes_right_results_alone(softmax: Any, fill: str) -> None:
    from bitgate.model import parse_case_id

    problem = parse_case_id("task_tried_f32_a6b40")
    make = next(one for one in softmax.fills if one.name == fill).make
    inputs = {role: cells.astype(np.float32) for role, cells in make(problem, 3).items()}
    wide = {role: cells.astype(np.float64) for role, cells in inputs.items()}
    right = softmax.reference(problem, wide)["y0"]
    slack = softmax.bound(problem, wide, F32)["y0"]
    x = inputs["x0"]
    above = np.exp2((x - x.max(-1, keepdims=True)) * np.float32(1.4426950408889634))
    result = above / above.sum(-1, keepdims=True)
    assert (np.abs(result - right) <= slack + 2**-24 * right).all()
    for wrong in (np.zeros_like(right), right * (1 + 1e-4), np.roll(right, 1, -1)):
        assert (np.abs(wrong - right) > slack + 2**-24 * right).any()
