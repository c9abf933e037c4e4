"""What is said of results of a sized operation."""

from __future__ import annotations

from bitgate.operation.finding import Rule
from bitgate.operation.insight import Insight
from bitgate.operation.sized.lost_end import lost_end


class SizedInsight(Insight):
    rules: tuple[Rule, ...] = (lost_end,)
