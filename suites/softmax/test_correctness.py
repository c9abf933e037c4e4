"""A softmax gives the right results: bits where rows are exact, else each cell within its bound; and laws hold."""

from bitgate.testing import judge_by_laws, verified

test_rows = verified("softmax")
test_solved = verified("softmax#solved")
test_laws = verified("softmax#law", by=judge_by_laws)
