"""The public names that a suite's test modules import.

They are documented in docs/api.md and stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitgate.core.exports import exports

if TYPE_CHECKING:
    from bitgate.kernel.registry import families as families
    from bitgate.results.record import Outcome as Outcome
    from bitgate.results.record import read as read
    from bitgate.suite.pytest import SOME as SOME
    from bitgate.suite.pytest import cases as cases
    from bitgate.suite.pytest import refused as refused
    from bitgate.suite.pytest import verified as verified
    from bitgate.verify.laws import judge_by_laws as judge_by_laws

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "bitgate.kernel.registry": "families",
        "bitgate.results.record": "Outcome read",
        "bitgate.suite.pytest": "SOME cases refused verified",
        "bitgate.verify.laws": "judge_by_laws",
    },
)
