"""A declaration that pretends to be Ctrl-C when it is read."""

from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

raise KeyboardInterrupt
