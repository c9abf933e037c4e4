"""Declarations share code with their neighbours, and take no name from anybody."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.kernel import registry
from bitgate.kernel.python_files import load_module
from bitgate.worker.state import fp_environment


def owner(folder: Path, unit: str, init: str = "") -> Path:
    """An owner's folder of families, named as ours is: one family, and what it shares with others to come."""
    family = folder / "kernels" / "rows"
    family.mkdir(parents=True)
    (folder / "kernels" / "__init__.py").write_text(init)
    (folder / "kernels" / "units.py").write_text(f"UNIT = {unit!r}\n")
    (family / "tables.py").write_text("ROWS = (1, 2, 3)\n")
    path = family / "declaration.py"
    path.write_text("from ..units import UNIT\nfrom .tables import ROWS\n")
    return path


def test_neighbours_are_found_by_relative_imports(tmp_path: Path) -> None:
    module = load_module(owner(tmp_path, "cells"))
    assert (module.UNIT, module.ROWS) == ("cells", (1, 2, 3))


def test_what_it_makes_of_the_floating_point_environment_is_undone(tmp_path: Path) -> None:
    """Kernels that run in its process later would flush subnormals, or round, as it does."""
    path = tmp_path / "declaration.py"
    path.write_text("import ctypes\nctypes.CDLL('libm.so.6').fesetround(0x800)\n")
    before = fp_environment()
    load_module(path)
    assert fp_environment() == before


def test_two_owners_with_the_same_names_do_not_meet(tmp_path: Path) -> None:
    one, other = (load_module(owner(tmp_path / unit, unit)) for unit in ("cells", "rows"))
    assert (one.UNIT, other.UNIT) == ("cells", "rows")


def test_no_public_name_is_taken_and_no_user_package_is_run(tmp_path: Path) -> None:
    before = list(sys.path)
    load_module(owner(tmp_path, "cells", init="raise SystemExit('imported for another reason')"))
    registry.families()
    assert "kernels" not in sys.modules
    assert sys.path == before


def test_an_error_in_a_neighbour_names_the_line_that_imports_it(tmp_path: Path) -> None:
    path = owner(tmp_path, "cells")
    (path.parent / "tables.py").write_text("ROWS = 1 / 0\n")
    with pytest.raises(UsageError, match=r"rows/declaration\.py:2: ZeroDivisionError"):
        registry.load_here(path)
