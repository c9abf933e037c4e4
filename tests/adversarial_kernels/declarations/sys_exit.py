"""A declaration that calls sys.exit(0) when it is read."""

import sys
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

sys.exit(0)
