"""Diagnostics of attention."""

from __future__ import annotations

from bitgate.model.diagnostics import Diagnostics


class AttentionDiagnostics(Diagnostics):
    """The explanations of attention's results."""
