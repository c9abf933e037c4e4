"""What files contain, by hash, and what the cache remembers of that."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import RACY_NS, Contents


def settled(path: Path, text: str) -> Path:
    """A file that has not changed for a while: its stat can be trusted."""
    path.write_text(text)
    then = path.stat().st_mtime_ns - 10 * RACY_NS
    os.utime(path, ns=(then, then))
    return path


def test_a_file_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    file = settled(tmp_path / "one.hpp", "int one;")
    assert Contents(Cache(tmp_path / "cache")).of(str(file)) == hashlib.sha256(b"int one;").hexdigest()
    assert Contents(Cache(tmp_path / "cache")).of(str(tmp_path / "none.hpp")) is None


def test_what_another_process_has_written_meanwhile_is_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    memo = cache.folder / "hashes.json"
    file = settled(tmp_path / "one.hpp", "int one;")
    stat = file.stat()
    for told in ("what one says", "what the other says"):
        state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
        cache.write_json(memo, {str(file): [*state, told]})
        assert Contents(cache).of(str(file)) == told
