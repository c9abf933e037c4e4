"""A declaration that does not come back from being read, for a minute and a half."""

import time
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

time.sleep(90)
