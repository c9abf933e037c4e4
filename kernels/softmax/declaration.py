"""Softmax of rows in one pass for maximum and sum, and one that writes: a block a row, or a wave a row."""

from __future__ import annotations

from .rows import row_family

FAMILY = row_family(__file__, ("softmax",), "a maximum and a sum that is rescaled to it")
