"""Who imports whom; and that what only reports is nothing that a process which judges imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import bitgate
from bitgate.lab.ci.select_imports import ImportGraph, neighbours, states
from bitgate.lab.planning.project_facts import AFTERWARDS, JUDGES


def package(folder: Path, files: Mapping[str, str]) -> ImportGraph:
    for name, text in {"__init__.py": "", **files}.items():
        path = folder / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportGraph(folder / "mine")


def test_imports_are_followed_however_they_are_written(tmp_path: Path) -> None:
    graph = package(
        tmp_path,
        {
            "a.py": "import mine.b\nfrom mine import c\nfrom mine.inner.d import name\n",
            "b.py": "def later():\n    from . import e\n",
            "c.py": "if TYPE_CHECKING:\n    from mine import typed\nelse:\n    import mine.f\n",
            "e.py": "START = 'mine.started:serve'\n",
            "f.py": "",
            "started.py": "",
            "typed.py": "",
            "lonely.py": "import numpy\n",
            "inner/__init__.py": "from .g import name\n",
            "inner/d.py": "",
            "inner/g.py": "",
        },
    )
    reached = {name.removeprefix("mine").lstrip(".") for name in graph.closure(["mine.a"])}
    assert reached == {"", "a", "b", "c", "e", "f", "started", "inner", "inner.d", "inner.g"}
    assert graph.closure(["mine.b"], without=("mine.e",)) == {"mine", "mine.b"}
    assert graph.module(tmp_path / "mine" / "inner" / "g.py") == "mine.inner.g"
    assert graph.module(tmp_path / "other.py") is None


def test_a_declaration_shares_files_with_its_neighbours(tmp_path: Path) -> None:
    for name, text in {
        "one/declaration.py": "from ..shared import ROWS\nfrom .tables import X\nfrom .. import more\n",
        "one/tables.py": "",
        "shared.py": "from .deep import Y\n",
        "deep/__init__.py": "",
        "more.py": "",
        "two/declaration.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = {path.relative_to(tmp_path).as_posix() for path in neighbours(tmp_path / "one" / "declaration.py")}
    assert found == {"one/declaration.py", "one/tables.py", "shared.py", "deep/__init__.py", "more.py"}


def test_a_test_that_names_another_judge_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test_a.py"
    for text, is_named in {
        "def test(check, planned):\n    check(planned)\n": False,
        "def test(check, planned):\n    check(planned, by=judge)\n": True,
        "reference = by = 1\n": False,
        "def cut off(": True,
    }.items():
        path.write_text(text)
        assert states(path, "by", "reference") == is_named, text


def test_reporting_is_no_part_of_the_judging_process() -> None:
    """Of the graph, and of a process that really judges nothing but has imported all that it could."""
    graph = ImportGraph(Path(bitgate.__file__).parent)
    roots = [name for judge in JUDGES for name in graph.below(judge)]
    judging = graph.closure(roots, without=AFTERWARDS)
    apart = ("bitgate.results.report.", "bitgate.cli.", "bitgate.tools.", "bitgate.lab.")
    assert not [name for name in judging if f"{name}.".startswith(apart)]
    for needed in ("verify.pipeline", "verify.compare_outputs", "numerics.digest", "kernel.abi", "kernel.build.unit"):
        assert f"bitgate.{needed}" in judging
    assert "bitgate.suite.planning" in judging

    code = "import sys, bitgate.verify.server; print('\\n'.join(m for m in sys.modules if m.startswith('bitgate')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if not name.startswith("bitgate.ops")}
    assert loaded <= judging | {"bitgate"}, "what really is imported is known to be"
