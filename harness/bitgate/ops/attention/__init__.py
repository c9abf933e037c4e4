"""Attention: softmax of scaled products of queries and keys, times values."""

from bitgate.ops.attention.attention import Attention

OPERATIONS = (Attention(),)

__all__ = ["OPERATIONS", "Attention"]
