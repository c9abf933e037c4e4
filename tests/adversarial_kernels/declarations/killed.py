"""A declaration that dies of a signal when it is read."""

import os
import signal
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

os.kill(os.getpid(), signal.SIGKILL)
