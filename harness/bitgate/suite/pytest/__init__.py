"""Names that a suite's test module imports, and the pytest hooks that serve it."""

from bitgate.suite.pytest.ask import cases, refused, verified
from bitgate.suite.pytest.dispatch_assertion import SOME

__all__ = ["SOME", "cases", "refused", "verified"]
