"""What is said of results of a sized operation."""

from __future__ import annotations

from bitgate.model.finding import Rule
from bitgate.model.insight import Insight
from bitgate.model.sized.lost_end import lost_end


class SizedInsight(Insight):
    rules: tuple[Rule, ...] = (lost_end,)
