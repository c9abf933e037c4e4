"""Python files of declarations and operations, loaded as modules: bitgate's and a user's alike."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from bitgate.core.errors import UsageError, raised
from bitgate.core.untrusted import shown
from bitgate.model.sized import Sized
from bitgate.worker.state import fp_environment, restore_fp_environment


def run_file(file: Path, name: str) -> ModuleType:
    """Run a Python file as the module ``name``. Raises what it raises; UsageError if it is no Python file.

    What it makes of the floating-point environment is undone: kernels that run here later would inherit it.
    """
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass resolves its annotations there
    before = fp_environment()
    try:
        spec.loader.exec_module(module)
    finally:
        restore_fp_environment(before)
    return module


def load_module(path: Path) -> ModuleType:
    """Run a Python file in a family's folder. Raises as ``run_file``.

    ``from ..shared import name`` finds ``shared.py``, which families share, next to the family's folder;
    ``from .tables import ROWS`` finds a file in that folder.
    """
    family = path.parent
    name = f"{_package(family.parent)}.{family.name}"
    _add(name, family)
    return run_file(path, f"{name}.{path.stem}")


def shared_name(folder: Path, module: str) -> str:
    """Return the name for ``importlib.import_module`` of a module that the declarations in a folder share."""
    return f"{_package(folder)}.{module}"


def _package(folder: Path) -> str:
    """Return the package of a folder of families, under a unique name.

    As plain ``kernels`` bitgate's would shadow a user's package, or be shadowed by it; each user may have one.
    """
    name = f"bitgate_declarations_{sha256(str(folder).encode()).hexdigest()[:12]}"
    _add(name, folder)
    return name


def _add(name: str, folder: Path) -> None:
    """Add a package of a folder's modules, without its ``__init__.py``, which may do other things in a user project."""
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


SYMBOL = "OPERATIONS"


def load_operations(file: Path) -> Iterator[Sized]:
    """Yield the ``OPERATIONS`` of a file. UsageError names the file, and what is wrong with it."""
    try:
        module = run_file(file, f"bitgate_operation_{sha256(str(file).encode()).hexdigest()[:12]}")
        found = getattr(module, SYMBOL, None)
        if not isinstance(found, tuple) or not found or not all(isinstance(one, Sized) for one in found):
            raise UsageError(f"{file}: defines no {SYMBOL}: a tuple of bitgate.model.sized.Sized")
        for one in found:
            _check(one)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{file}: {shown(raised(error))}") from None
    yield from found


def _check(operation: Sized) -> None:
    """Raise ValueError for what the operation states wrongly, before a case is read by it."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", getattr(operation, "name", "")):
        raise ValueError(f"{type(operation).__name__}: name: a-z, 0-9 and _ between, such as 'row_sums'")
    _ = operation.schema
    _check_fills(operation)
    states_form = operation.is_product or type(operation).form is not Sized.form
    if not states_form and not operation.fills:
        raise ValueError(f"{operation}: state is_product, a form, or fills with a reference: else nothing is compared")
    if not states_form and type(operation).reference is Sized.reference:
        raise ValueError(f"{operation}: state a reference: there is no form that it could follow from")


def _check_fills(operation: Sized) -> None:
    names = [fill.name for fill in operation.fills]
    for fill in operation.fills:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", fill.name) or names.count(fill.name) > 1:
            raise ValueError(f"{operation}: fill '{fill.name}': a name is of a-z, 0-9 and _, once each")
        if fill.make is None:
            raise ValueError(f"{operation}: fill '{fill.name}': state make: those of the core need not be named")
        if not fill.reason.strip():
            raise ValueError(
                f"{operation}: fill '{fill.name}': state the reason why bits, or bounds, say something of it"
            )
