"""What our declarations share, for tests that lie outside their package."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from bitgate.core import paths
from bitgate.kernel.python_files import shared_name


def shared(module: str) -> ModuleType:
    """``kernels/<module>.py``"""
    return import_module(shared_name(paths.data_folder("kernels"), module))
