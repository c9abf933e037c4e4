"""A declaration whose predicate does not come back when it is asked, for a minute and a half."""

import time
from dataclasses import replace
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = replace(
    load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py"),
    supports=lambda problem, instance, options: time.sleep(90),
)
