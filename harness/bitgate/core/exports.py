"""Names that a public module offers and other modules define; each is imported when it is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(module: str, sources: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a public module.

    Parameters
    ----------
    module : the public module's ``__name__``.
    sources : the modules that define its names, each with these names separated by blanks.
    """
    homes = {name: home for home, names in sources.items() for name in names.split()}
    public = sorted(homes)

    def lookup(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    return lookup, lambda: public, public
