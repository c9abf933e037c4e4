"""Processes of a build are bounded: a source may ask its compiler for anything."""

from __future__ import annotations

import sys

from bitgate.kernel.build.processes import Processes


def test_a_compiler_without_end_has_not_all_of_the_memory() -> None:
    ended = Processes().run([sys.executable, "-c", "bytearray(20 << 30)"], {})
    assert ended is not None
    assert (ended.code, "MemoryError" in ended.output) == (1, True)
