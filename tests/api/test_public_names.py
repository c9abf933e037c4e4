"""``import bitgate`` is cheap and offers what it documents, and what users copy imports nothing else of bitgate."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import bitgate
from bitgate.core import former_names, paths

CHECKOUT = paths.root()
PACKAGE = Path(bitgate.__file__).parent
PUBLIC = {
    module: set(import_module(module).__all__)
    for module in ("bitgate", "bitgate.kernel", "bitgate.operation", "bitgate.testing")
}
SKELETON = sorted((PACKAGE / "kernel" / "skeleton" / "files").glob("*.py.template"))
COPIED = [
    *sorted(path for room in ("kernels", "suites", "examples") for path in (CHECKOUT / room).rglob("*.py")),
    *SKELETON,
]


def imported(text: str) -> list[tuple[str, str]]:
    """Module and name of each import of bitgate's; a template's placeholders count as names."""
    found = []
    for node in ast.walk(ast.parse(re.sub(r"@([A-Z_]+)@", r"\1", text))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and str(node.module).split(".")[0] == "bitgate":
            found += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(one.name, "") for one in node.names if one.name.split(".")[0] == "bitgate"]
    return found


def foreign(text: str) -> list[str]:
    return [f"{module}.{name}" for module, name in imported(text) if name not in {*PUBLIC.get(module, ()), ""}]


def python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=CHECKOUT).stdout


def test_there_are_files_to_look_at() -> None:
    assert len(SKELETON) == 11
    assert sum(bool(imported(path.read_text())) for path in COPIED) > 40


@pytest.mark.parametrize("path", COPIED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_users_copy_imports_public_names_only(path: Path) -> None:
    assert foreign(path.read_text()) == []


def test_documents_import_public_names_only() -> None:
    blocks = {
        path.name: [
            name
            for block in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
            for name in foreign(block.replace("import *", "import __all__").replace("__all__", "UsageError"))
        ]
        for path in sorted((CHECKOUT / "docs").glob("*.md"))
        if path.name != "api.md"
    }
    assert {name: names for name, names in blocks.items() if names} == {}


def test_importing_bitgate_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import bitgate; print(*sorted(set(sys.modules) - before))"
    assert {name for name in python(code).split() if name.split(".")[0] not in sys.stdlib_module_names} == {"bitgate"}


def test_the_public_modules_import_their_names_when_asked_for() -> None:
    code = "import sys, bitgate.kernel, bitgate.operation, bitgate.testing; print(*sorted(sys.modules))"
    assert not {"numpy", "msgspec", "pytest"} & set(python(code).split())


def test_verify_is_a_function_and_a_package() -> None:
    code = "import bitgate.verify.pipeline as p, bitgate; print(callable(bitgate.verify), bitgate.verify.pipeline is p)"
    assert python(code).split() == ["True", "True"]
    assert python("import bitgate; print(callable(bitgate.verify))").split() == ["True"]


def test_the_stub_has_the_names_of_the_package() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    names = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == PUBLIC["bitgate"]


@pytest.mark.parametrize("module", ["kernel/__init__.py", "operation.py", "testing.py"])
def test_type_checkers_see_the_names_of_a_module(module: str) -> None:
    tree = ast.parse((PACKAGE / module).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    names = {(n.module, alias.asname) for n in block.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    sources = next(n.value.args[1] for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call))
    assert names == {(home, name) for home, text in ast.literal_eval(sources).items() for name in text.split()}


@pytest.mark.parametrize(
    ("old", "name", "public"),
    [
        ("bitgate.plugin", "cases", "testing"),
        ("bitgate.plugin", "SOME", "testing"),
        ("bitgate.operation.sized", "Sized", "operation"),
        ("bitgate.operation.form", "Form", "operation"),
        ("bitgate.operations.convolution", "ConvProblem", "operation"),
        ("bitgate.operations.convolution.layout", "INPUT_LAYOUTS", "operation"),
        ("bitgate.diagnose", "Finding", "operation"),
        ("bitgate.errors", "UsageError", "operation"),
        ("bitgate.record", "read", "testing"),
    ],
)
def test_a_former_path_leads_to_the_same_object(old: str, name: str, public: str) -> None:
    for module in [one for one in sys.modules if one == old or one.startswith(f"{old}.")]:
        del sys.modules[module]  # another test has imported it, and heard the warning
    found: dict[str, Any] = {}
    with pytest.warns(DeprecationWarning, match=rf"{old} .*bitgate\.{public} ") as heard:
        exec(f"from {old} import {name}", found)
    assert found[name] is getattr(import_module(f"bitgate.{public}"), name)
    assert {one.filename for one in heard} == {"<string>"}


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("bitgate.kernel.runner", "Conduct", "LibraryState"),
        ("bitgate.operation.sized.exactness", "SizedExactness", "SizedNumerics"),
        ("bitgate.operation.insight", "Insight", "Diagnostics"),
        ("bitgate.outside", "OddInput", "InvalidInput"),
    ],
)
def test_a_former_class_name_leads_to_the_same_class(module: str, old: str, new: str) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = getattr(import_module(module), old)
    assert found.__name__ == new
    assert any(new in str(one.message) for one in heard)


@pytest.mark.parametrize("old", sorted(former_names.MODULES))
def test_every_former_module_is_somewhere_today(old: str) -> None:
    today, public = former_names.MODULES[old]
    assert import_module(f"bitgate.{today}")
    assert f"bitgate.{public}" in PUBLIC


@pytest.mark.parametrize("name", ["bitgate.nonsense", "bitgate.operation.nonsense", "bitgate.plugin.nonsense"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_name_that_never_was_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        import_module(name)
