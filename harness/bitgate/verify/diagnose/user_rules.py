"""A user's rules of diagnosis: the Python files that ``bitgate.toml`` names, each with a tuple ``RULES``.

They are loaded where kernels run, and nowhere else: a rule may be wrong in any way that a kernel may.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.model.finding import Rule


def load_rules(files: Iterable[Path]) -> tuple[Rule, ...]:
    """Return the rules of some files, in their order. Raises UsageError that names the file and its mistake."""
    return tuple(rule for file in files for rule in _rules_of(file))


def _rules_of(file: Path) -> Iterator[Rule]:
    spec = importlib.util.spec_from_file_location(f"bitgate_rules_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{file}: {type(error).__name__}: {error}") from None
    rules = getattr(module, "RULES", None)
    if not isinstance(rules, tuple) or not rules or not all(map(callable, rules)):
        raise UsageError(f"{file}: defines no RULES: a tuple of functions from a Scene to a Finding or None")
    yield from rules
