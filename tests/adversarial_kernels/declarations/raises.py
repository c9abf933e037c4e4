"""A declaration that raises what is no Exception when it is read."""

import asyncio
from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

raise asyncio.CancelledError
