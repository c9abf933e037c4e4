"""What is said of results of a sized operation."""

from __future__ import annotations

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Rule
from bitgate.model.sized.lost_end import lost_end


class SizedDiagnostics(Diagnostics):
    rules: tuple[Rule, ...] = (lost_end,)
