"""A declaration file as a module, ours and an owner's alike."""

from __future__ import annotations

import importlib.util
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from bitgate.core.errors import UsageError


def load_module(path: Path) -> ModuleType:
    """Run a Python file that lies in a family's folder. Raises what it raises; UsageError if it is no Python file.

    Beside its folder may lie what families share: ``from ..shared import name`` finds ``shared.py`` there, and
    ``from .tables import ROWS`` a file of the family's own.
    """
    family = path.parent
    name = f"{_package(family.parent)}.{family.name}"
    _add(name, family)
    spec = importlib.util.spec_from_file_location(f"{name}.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks for what its annotations mean
    spec.loader.exec_module(module)
    return module


def shared_name(room: Path, module: str) -> str:
    """What ``importlib.import_module`` knows a module by that the declarations of a room share."""
    return f"{_package(room)}.{module}"


def _package(room: Path) -> str:
    """The package of a room of families, by a name that nobody else has: as plain ``kernels`` ours would shadow a
    user's package, or be shadowed by it; and each owner may have one."""
    name = f"bitgate_declarations_{sha256(str(room).encode()).hexdigest()[:12]}"
    _add(name, room)
    return name


def _add(name: str, folder: Path) -> None:
    """A package of that folder's modules. Its ``__init__.py`` is not run: a declaration may lie in a project whose
    package does other things when it is imported."""
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
