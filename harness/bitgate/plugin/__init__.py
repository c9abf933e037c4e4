"""What a suite's test module imports, and the pytest hooks behind it."""

from bitgate.plugin.ask import cases
from bitgate.plugin.way import SOME

__all__ = ["SOME", "cases"]
