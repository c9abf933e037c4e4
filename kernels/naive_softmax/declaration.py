"""Plain softmax of rows: one thread a row, in order."""

from __future__ import annotations

from ..softmax.rows import naive_family

FAMILY = naive_family(__file__, ("softmax",), "kernel_softmax")
