"""Attention gives the right results: bits where one key wins or several are equal, else each cell within its bound."""

from bitgate.testing import verified

test_attention = verified("attention")
test_solved = verified("attention#solved")
