"""What the libraries of this folder share: one healthy kernel, and a source that does something else to the process."""

from dataclasses import replace
from pathlib import Path

from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.registry import load_family

_HERE = Path(__file__).resolve().parent
_ADVERSARIAL = load_family(_HERE.parent / "kernels" / "declaration.py")


def healthy_beside(name: str) -> KernelFamily:
    """The family ``adversarial_<name>``, with ``<name>.hip.cpp``."""
    return replace(
        _ADVERSARIAL,
        name=f"adversarial_{name}",
        sources=("../kernels/healthy.hip.cpp", f"{name}.hip.cpp"),
        folder=_HERE,
        instances=tuple(instance for instance in _ADVERSARIAL.instances if instance.name == "healthy"),
    )
