"""docs/api.md lists every public name, and each of its examples holds."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import paths

DOCUMENT = (paths.root() / "docs" / "api.md").read_text()
MODULES = ("bitgate", "bitgate.kernel", "bitgate.operation", "bitgate.testing")


def section(module: str) -> str:
    return DOCUMENT.partition(f"\n## {module}\n")[2].partition("\n## ")[0]


def rows(module: str) -> Iterator[tuple[list[str], str]]:
    """The names and the example of each row of a module's table."""
    for names, example in re.findall(r"^\| (`\w.*?`) \| .* \| `([^|`]+)` \|$", section(module), re.MULTILINE):
        yield re.findall(r"`(\w+)`", names), example


@lru_cache
def namespace(module: str) -> dict[str, Any]:
    """What the section's first block of code defines, with the module's public names."""
    block = re.findall(r"```python\n(.*?)```", section(module), re.DOTALL)[0]
    found: dict[str, Any] = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
    exec(block, found)
    return found


EXAMPLES = [(module, names[0], example) for module in MODULES for names, example in rows(module)]


@pytest.mark.parametrize("module", MODULES)
def test_the_document_lists_every_public_name(module: str) -> None:
    listed = [name for names, _ in rows(module) for name in names]
    assert sorted(listed) == sorted(import_module(module).__all__) == sorted(dir(import_module(module)))


@pytest.mark.parametrize(("module", "name", "example"), EXAMPLES, ids=[f"{m}.{n}" for m, n, _ in EXAMPLES])
def test_each_example_holds(module: str, name: str, example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(paths.root())
    assert eval(example, namespace(module)), example


def test_a_python_function_is_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import bitgate

    text = re.findall(r"```python\n(# my_kernels\.py\n.*?)```", DOCUMENT, re.DOTALL)[0]
    (tmp_path / "my_kernels.py").write_text(text + WRONG)
    monkeypatch.syspath_prepend(str(tmp_path))
    kernels = import_module("my_kernels")
    try:
        right = bitgate.verify("gemm_bf16_m6n5k64", kernel=kernels.matmul, target="host")
        assert right.green, right.reason
        wrong = bitgate.verify("gemm_bf16_m6n5k64", kernel=kernels.forgets_a_column, target="host")
        assert wrong.outcome is bitgate.Outcome.MISMATCH
        assert "last channel of N" in wrong.reason
        spoiled = bitgate.verify("gemm_bf16_m6n5k64", kernel=kernels.changes_its_input, target="host")
        assert spoiled.outcome is bitgate.Outcome.CORRUPTED
        with pytest.raises(bitgate.UsageError, match="define a function of a module"):
            bitgate.verify("gemm_bf16_m6n5k64", kernel=lambda problem, tensors: None, target="host")
    finally:
        del sys.modules["my_kernels"]


WRONG = """

def forgets_a_column(problem, tensors):
    matmul(problem, tensors)
    tensors["out"][..., -1] = 0


def changes_its_input(problem, tensors):
    matmul(problem, tensors)
    tensors["in"][0, 0, 0] += 1
"""
