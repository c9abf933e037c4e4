"""Loading of a user's declarations: ``--load``, a case table's ``load`` and ``$BITGATE_LOAD``.

What loads them is imported there: the command of a run only passes their paths on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bitgate.core.project import Project

VARIABLE = "BITGATE_LOAD"


def to_load(stated: Iterable[Path] | None) -> tuple[Path, ...]:
    """Return the declarations of a command's ``--load``, then those of the environment; each once, absolute."""
    of_environment = os.environ.get(VARIABLE, "").split(os.pathsep)
    paths = [*(stated or ()), *(Path(name) for name in of_environment if name)]
    return tuple(dict.fromkeys(path.absolute() for path in paths))


def with_operations(project: Project) -> Project:
    """Make the operations of a project known in this process, and return the project; their code runs in children.

    Every process that plans calls it before it reads a case. UsageError names a file, and what is wrong with it.
    """
    from bitgate.kernel.user_operation import add_owned

    add_owned(project.operation_files)
    return project


def loaded_names(load: Iterable[Path]) -> frozenset[str]:
    """Return the names of the families that these declarations declare."""
    from bitgate.kernel.registry import load_family

    files = (path / "declaration.py" if path.is_dir() else path for path in load)
    return frozenset(load_family(path.resolve()).name for path in files)
