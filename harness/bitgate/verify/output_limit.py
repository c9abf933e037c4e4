"""A limit on what the output of kernels passes on: one that prints without end must not fill the disk that keeps its
log."""

from __future__ import annotations

import sys

from bitgate.core.untrusted import printable
from bitgate.worker.child import Output

MOST = 1 << 20
"""Bytes passed on for one case."""


def to_stderr(data: bytes) -> None:
    """Write the output of kernels to stderr, since stdout holds the answers of commands. A terminal shows their control
    characters, and does not act upon them."""
    sys.stderr.write(printable(data.decode(errors="replace")))
    sys.stderr.flush()


class OutputLimit:
    """An output that passes on what a case prints, to a limit."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._left = MOST

    def __call__(self, data: bytes) -> None:
        if self._left > 0:
            self._output(data[: self._left])
            if len(data) >= self._left:
                self._output(f"\n... more than {MOST} bytes of one case: the rest is left out\n".encode())
        self._left -= len(data)

    def next_case(self) -> None:
        self._left = MOST
