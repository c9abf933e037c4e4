"""A declaration whose predicate ends its process with 0 when it is asked."""

import os
from dataclasses import replace
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = replace(
    load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py"),
    supports=lambda problem, instance, options: os._exit(0),
)
