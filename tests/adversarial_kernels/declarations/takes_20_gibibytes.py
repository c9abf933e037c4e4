"""A declaration that takes more memory than its process may have."""

from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")
TABLE = bytearray(20 << 30)
