"""A softmax gives the right results: bits where rows are exact, else each cell within its bound."""

from bitgate.testing import verified

test_rows = verified("softmax")
test_solved = verified("softmax#solved")
