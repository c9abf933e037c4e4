"""The list of tests that a change does not wait for names tests that there are."""

import ast
from pathlib import Path

from tests.conftest import SLOW

ROOT = Path(__file__).resolve().parents[2]


def test_each_slow_test_is_there() -> None:
    names = {tuple(line.split("::")) for line in SLOW}
    assert names
    for file, function in names:
        module = ast.parse((ROOT / file).read_text())
        defined = {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}
        assert function in defined, f"{file}::{function}: write the list anew with .ci/slow.py"
