"""Layernorm and rmsnorm of rows: a block a row by Welford's algorithm, or a wave a row in two passes."""

from __future__ import annotations

from ..softmax.rows import row_family

FAMILY = row_family(__file__, ("layernorm", "rmsnorm"), "sums, or moments by Welford's algorithm")
