"""The import graph of a package, read from the sources without importing anything.

Imports within functions count, and so does a text that names a module (``"bitgate.verify.server:serve"``), since
children are started by such a text. Code under ``if TYPE_CHECKING`` is never run. A name that a public module
offers by ``bitgate.core.exports`` is an import of the module that defines it, and of no other in the table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

_NAMES_A_MODULE = re.compile(r"[a-zA-Z_]\w*(?:\.\w+)+(?::\w+)?")
EXPORTS = "exports"
"""The function of ``bitgate.core.exports`` by which a public module offers names of others."""


class ImportGraph:
    """The modules of the package in ``folder``, which has the name of the package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.package = self.folder.name

    @cached_property
    def files(self) -> dict[str, Path]:
        """The files of the modules by name; that of a package is its ``__init__.py``."""
        paths = (path for path in self.folder.rglob("*.py") if "__pycache__" not in path.parts)
        return {self._name(path): path for path in paths}

    def module(self, path: Path) -> str | None:
        """Return the module name of a file; None if it is not a module of the package."""
        name = self._name(path) if path.suffix == ".py" and path.is_relative_to(self.folder) else ""
        return name if name in self.files else None

    def below(self, package: str) -> frozenset[str]:
        """Return the package's modules, itself included."""
        return frozenset(name for name in self.files if f"{name}.".startswith(f"{package}."))

    def closure(self, modules: Iterable[str], *, without: tuple[str, ...] = ()) -> frozenset[str]:
        """Return these modules and all that they import, transitively; packages in ``without`` are left out."""
        left_out = frozenset(name for package in without for name in self.below(package))
        found: set[str] = set()
        waiting = [name for name in modules if name in self.files]
        while waiting:
            name = waiting.pop()
            if name not in found and name not in left_out:
                found.add(name)
                waiting += self._imports(name)
        return frozenset(found)

    def named(self, path: Path) -> frozenset[str]:
        """Return the package's modules that a file outside of it imports directly."""
        return frozenset(known for name in _imported(path, "") for known in self._known(name))

    def _imports(self, name: str) -> frozenset[str]:
        if name not in self._edges:
            path = self.files[name]
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            names = {known for one in _imported(path, package) for known in self._known(one)}
            self._edges[name] = frozenset({*names, *self._known(package)})
        return self._edges[name]

    @cached_property
    def _edges(self) -> dict[str, frozenset[str]]:
        return {}

    def _known(self, name: str) -> Iterator[str]:
        """Yield what an import of ``a.b.c`` runs: a, a.b and, unless it is a name within b, a.b.c."""
        module, _, last = name.rpartition(".")
        if home := self._exported(module).get(last):
            yield from self._known(f"{home}.{last}")
        while name:
            if name in self.files:
                yield name
            name = name.rpartition(".")[0]

    def _exported(self, module: str) -> dict[str, str]:
        """Return the names that a module offers by ``exports``, each with the module that defines it."""
        if module not in self._tables:
            path = self.files.get(module)
            tables = [call.args[1] for call in _export_calls(path)] if path else []
            named = [item for table in tables for item in ast.literal_eval(table).items()]
            self._tables[module] = {name: home for home, names in named for name in names.split()}
        return self._tables[module]

    @cached_property
    def _tables(self) -> dict[str, dict[str, str]]:
        return {}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.folder.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def neighbours(path: Path) -> frozenset[Path]:
    """Return the files that a Python file reaches by relative imports (``from ..limits import N``), transitively and
    itself."""
    found: set[Path] = set()
    waiting = [path.resolve()]
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        for node in ast.walk(_parsed(file)):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                waiting += (
                    place for stem in (base, *(base / name.name for name in node.names)) for place in _files(stem)
                )
    return frozenset(found)


def states(path: Path, *keywords: str) -> bool:
    """Say whether a Python file passes one of these keyword arguments in a call; if it cannot be read, it may."""
    module = _parsed(path)
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    return not module.body or any(keyword.arg in keywords for call in calls for keyword in call.keywords)


def _export_calls(path: Path) -> list[ast.Call]:
    if EXPORTS.encode() not in path.read_bytes():
        return []
    return [node for node in ast.walk(_parsed(path)) if _is_export(node) and isinstance(node, ast.Call)]


def _is_export(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == EXPORTS


def _files(stem: Path) -> tuple[Path, Path]:
    return stem.with_name(f"{stem.name}.py"), stem / "__init__.py"


def _parsed(path: Path) -> ast.Module:
    """Parse a file; an empty module if it is not Python."""
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _imported(path: Path, package: str) -> Iterator[str]:
    """Yield dotted names. ``from a import b`` is ``a.b``, which may be a module or a name within a."""
    waiting: list[ast.AST] = [_parsed(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and any(
            getattr(part, "id", getattr(part, "attr", "")) == "TYPE_CHECKING" for part in ast.walk(node.test)
        ):
            waiting += node.orelse
            continue
        if _is_export(node):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            whole = ".".join([*base, *filter(None, [node.module])])
            yield whole
            yield from (f"{whole}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAMES_A_MODULE.fullmatch(node.value):
            yield node.value.partition(":")[0]
