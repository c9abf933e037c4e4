"""A declaration that raises bitgate's own error for users, which names no file."""

from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

raise UsageError("nothing is wrong")
