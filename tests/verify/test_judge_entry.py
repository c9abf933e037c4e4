"""The start of a judge's process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PASSES = """
import resource
import numpy as np
from bitgate.verify.judge_entry import keep_freed_memory

def passes():
    arrays = [np.ones(1 << 20, np.uint8) for _ in range(8)]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

{first}
passes()
before = faults()
for _ in range(20):
    passes()
print(faults() - before)
"""


@pytest.mark.parametrize(("first", "keeps"), [("keep_freed_memory()", True), ("", False)])
def test_a_judge_keeps_the_memory_of_arrays_for_the_next_ones(first: str, keeps: bool) -> None:
    """Twenty passes over eight arrays of 256 pages each would be 40,960 faults."""
    code = PASSES.format(first=first)
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (int(finished.stdout) < 1000) == keeps
