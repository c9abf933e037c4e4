"""The repository keeps its rules: files stay small, imports point one way, documents are true."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bitgate.core import paths

CHECKOUT = paths.root()
CODE = {".py", ".hpp", ".h", ".cpp", ".hip", ".cu", ".S"}
LONGEST = 500


def _tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return [path for name in done.stdout.split("\0") if name and (path := CHECKOUT / name).is_file()]


TRACKED = _tracked()
DOCUMENTS = [path for path in TRACKED if path.suffix == ".md"]


def _name(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {_name(path): path.read_text().count("\n") for path in TRACKED if path.suffix in CODE}
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_imports_point_one_way() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    done = subprocess.run([*command, "--no-cache"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_nothing_but_the_project_knows_the_data_root() -> None:
    """All else gets a Project passed down, so that an owner's repository is served as ours is."""
    asks = re.compile(r"\bpaths\.(root|room)\(|\bfrom bitgate\.core\.paths import")
    harness = [path for path in TRACKED if path.suffix == ".py" and path.is_relative_to(CHECKOUT / "harness")]
    assert [_name(path) for path in harness if asks.search(path.read_text())] == ["harness/bitgate/core/project.py"]


def test_no_file_names_the_machine_that_it_was_written_on() -> None:
    places = (f"{CHECKOUT}/", f"{Path.home()}/")
    assert [_name(path) for path in TRACKED if any(place.encode() in path.read_bytes() for place in places)] == []


def test_nothing_is_left_for_later() -> None:
    # Spelled in two halves, so that this file does not find itself.
    words = ["TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error", "pytest.mark." + "skip", "no " + "cover"]
    pattern = re.compile("|".join(rf"{re.escape(word)}\b" for word in words))
    found = {
        _name(path): match[0] for path in TRACKED if path.suffix in CODE and (match := pattern.search(path.read_text()))
    }
    assert found == {}


REPOSITORY = re.compile(
    r"https://(?:github\.com/bitgate/bitgate/(?:blob|tree)|raw\.githubusercontent\.com/bitgate/bitgate)/main/"
)
"""README is PyPI's page and docs are a site, where relative links to other files of the repository would break."""


def _anchors(text: str) -> set[str]:
    """Headings as GitHub and mkdocs link to them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", document.read_text()):
        ours = REPOSITORY.match(link)
        if re.match(r"\w+:", link) and not ours:
            continue
        path = CHECKOUT / link[ours.end() :] if ours else document.parent / link if link else document
        assert path.exists(), link
        assert not anchor or anchor in _anchors(path.read_text()), f"{link}#{anchor}"


def test_links_that_leave_docs_or_are_on_pypi_are_absolute() -> None:
    for document in [CHECKOUT / "README.md", *(CHECKOUT / "docs").glob("*.md")]:
        pattern = r"\]\((?!\w+:)([^)]+)\)" if document.name == "README.md" else r"\]\((\.\./[^)]+)\)"
        assert re.findall(pattern, document.read_text()) == [], document.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    for path in re.findall(
        r"`((?:harness|kernels|suites|\.?ci|reports|tests|benchmarks|docs|examples)/[\w./-]*[\w/])`",
        document.read_text(),
    ):
        assert (CHECKOUT / path).exists(), path


def test_every_module_that_a_document_names_by_its_layer_exists() -> None:
    package = CHECKOUT / "harness" / "bitgate"
    layers = "|".join(path.name for path in package.iterdir() if (path / "__init__.py").is_file())
    text = "".join(path.read_text() for path in DOCUMENTS)
    named = {name for name in re.findall(rf"`((?:{layers})/[\w/.]*[\w/])`", text) if not (CHECKOUT / name).exists()}
    assert {"core/paths.py", "suite/table.py"} <= named
    assert {name for name in named if not (package / name).exists()} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_command_that_a_document_names_exists(document: Path) -> None:
    from bitgate.cli.main import COMMANDS

    text = document.read_text()
    code = "\n".join(re.findall(r"```\w*\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text))
    assert set(re.findall(r"^bitgate ([a-z][\w-]*)", code, re.MULTILINE)) <= set(COMMANDS)


def test_the_index_lists_every_document() -> None:
    index = (CHECKOUT / "docs" / "index.md").read_text()
    site = (CHECKOUT / "mkdocs.yml").read_text()
    documents = {path.name for path in TRACKED if path.parent == CHECKOUT / "docs" and path.suffix == ".md"}
    assert documents
    assert {name for name in documents - {"index.md"} if f"({name})" not in index} == set()
    assert {name for name in documents if not re.search(rf"[-:] {name}\n", site)} == set()


@pytest.mark.parametrize("script", sorted((CHECKOUT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_bench_imports_of_bitgate_is_there(script: Path) -> None:
    """Benches run in the night only, and no type checker reads them."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bitgate":
            module = importlib.import_module(str(node.module))
            lacking = [name.name for name in node.names if not hasattr(module, name.name)]
            assert not [name for name in lacking if importlib.util.find_spec(f"{node.module}.{name}") is None]


def test_the_layer_contract_names_every_package() -> None:
    package = CHECKOUT / "harness" / "bitgate"
    names = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    layers = (CHECKOUT / "pyproject.toml").read_text().partition("layers = [")[2].partition("]")[0]
    assert set(re.findall(r'"bitgate\.(\w+)",', layers)) == names - {"__init__", "__main__"}
