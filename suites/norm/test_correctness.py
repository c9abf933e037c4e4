"""A norm gives the right results: bits where rows are exact, else each cell within its bound."""

from bitgate.testing import verified

test_rows = verified("norm")
test_solved = verified("norm#solved")
