"""Attention: softmax of scaled products of queries and keys, times values; and its backward pass."""

from bitgate.ops.attention.attention import Attention
from bitgate.ops.attention.backward import AttentionBackward

OPERATIONS = (Attention(), AttentionBackward())

__all__ = ["OPERATIONS", "Attention", "AttentionBackward"]
