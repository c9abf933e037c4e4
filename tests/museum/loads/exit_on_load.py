"""A library that ends its process while it is loaded."""

from dataclasses import replace
from pathlib import Path

from bitgate.kernel.registry import load_family

_here = Path(__file__).resolve().parent
_museum = load_family(_here.parent / "kernels" / "declaration.py")
FAMILY = replace(
    _museum,
    name="museum_exit_on_load",
    sources=("../kernels/healthy.hip.cpp", "exit_on_load.hip.cpp"),
    folder=_here,
    instances=tuple(instance for instance in _museum.instances if instance.name == "healthy"),
)
