"""What a suite's test module imports, and the pytest hooks behind it."""

from bitgate.plugin.ask import cases

__all__ = ["cases"]
