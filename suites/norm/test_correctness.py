"""A norm gives the right results: bits where rows are exact, else each cell within its bound; and laws hold."""

from bitgate.testing import judge_by_laws, verified

test_rows = verified("norm")
test_solved = verified("norm#solved")
test_laws = verified("norm#law", by=judge_by_laws)
