from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.results.record.timing import Timing, timings

CHANGING = str(Path(__file__).parent / "changing" / "declaration.py")


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., tuple[int, str, list[Timing]]]:
    """Exit code, what was said, and the record."""

    def call(*arguments: str, load: str = CHANGING) -> tuple[int, str, list[Timing]]:
        where = ["--target", "host", "--out", str(tmp_path), "--samples", "6"]
        code = run(["bench", *where, *(["--load", load] if load else []), *arguments])
        captured = capsys.readouterr()
        record = tmp_path / "host" / "bench.jsonl"
        return code, captured.out + captured.err, list(timings(record)) if record.exists() else []

    return call
