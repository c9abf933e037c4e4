"""A declaration that removes all variables of its process when it is read: harmless."""

import os
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

os.environ.clear()
