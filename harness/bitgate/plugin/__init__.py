"""What a suite's test module imports, and the pytest hooks behind it."""

from bitgate.plugin.ask import cases, refused, verified
from bitgate.plugin.dispatch_assertion import SOME

__all__ = ["SOME", "cases", "refused", "verified"]
