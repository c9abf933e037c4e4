"""Functions that bitgate's runtimes export besides HIP's."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import CDLL
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError

Signatures = Mapping[str, tuple[Any, list[Any]]]
"""Result and arguments by name, as ctypes has them."""


def functions_of(handle: CDLL, path: Path | str, runtime: str, signatures: Signatures) -> dict[str, Any]:
    """Return the functions of a library. Raises UsageError if it is not this runtime."""
    functions: dict[str, Any] = {}
    for name, (result, arguments) in signatures.items():
        function = getattr(handle, name, None)
        if function is None:
            raise UsageError(f"{path}: not bitgate's {runtime} runtime, it lacks {name}")
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions
