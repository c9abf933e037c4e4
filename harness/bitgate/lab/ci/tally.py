"""What the record of an attempt says so far, read as it grows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct

from bitgate.results.record import Outcome


class _TallyLine(Struct):
    test: str
    verdict: Outcome
    green: bool


class OutcomeTally:
    """Outcomes by the id of the case, as one results file has them. A line that cannot be read counts for nothing here:
    the merge tells of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, Outcome] = {}
        self.counts: Counter[Outcome] = Counter()
        self.red: set[str] = set()
        self._read = 0
        self._decoder = msgspec.json.Decoder(_TallyLine)

    def look(self) -> OutcomeTally:
        """Take in the lines that were added since the last look, as far as they are whole."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError:  # not begun, or its machine is gone
            return self
        whole = data.rfind(b"\n") + 1
        self._read += whole
        for line in data[:whole].splitlines():
            self._take(line)
        return self

    def _take(self, line: bytes) -> None:
        try:
            found = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        name = found.test.partition("[")[2].removesuffix("]")
        if name in self.outcomes:
            self.counts[self.outcomes[name]] -= 1
        self.outcomes[name] = found.verdict
        self.counts[found.verdict] += 1
        (self.red.discard if found.green else self.red.add)(name)
