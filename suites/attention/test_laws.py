"""Attention keeps its laws; no reference takes part (docs/metamorphic.md)."""

from bitgate.testing import judge_by_laws, verified

test_laws = verified("attention#law", by=judge_by_laws)
