"""A source and all headers it includes as one file, for people who have none of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bitgate.core.errors import UsageError

_QUOTED = re.compile(r'\s*#\s*include\s*"([^"]+)"')
_HIP = re.compile(r"\s*#\s*include\s*<(hip/hip_runtime\.h)>")
_OPENS, _CLOSES = re.compile(r"\s*#\s*if"), re.compile(r"\s*#\s*endif")
_ONCE = re.compile(r"\s*#\s*pragma\s+once\b")


class OneFile:
    """A text into which sources and their headers are merged.

    Headers are looked up next to the including file, then in ``folders``. ``instead`` maps files to others in their
    place. A header that was taken in unconditionally is not taken in again; within an ``#if`` it may occur twice, and
    its guard decides.
    """

    def __init__(
        self, folders: Sequence[Path], cuda: Sequence[Path], instead: Mapping[Path, Path] | None = None
    ) -> None:
        self._folders = tuple(folders)
        self._cuda = tuple(cuda)
        self._instead = dict(instead or {})
        self._taken: set[Path] = set()
        self._numbers: dict[Path, int] = {}
        self._in_cuda = False
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def add(self, text: str, folder: Path) -> OneFile:
        """Add the text of a source that is in a folder. Raises UsageError for a header that does not exist."""
        self._take(text, folder, 0)
        return self

    def instead(self, path: Path) -> Path:
        """Return the file that has a source's text."""
        return self._instead.get(path.resolve(), path)

    def _take(self, text: str, folder: Path, depth: int) -> None:
        for line in text.splitlines():
            if _ONCE.match(line):
                continue
            depth += bool(_OPENS.match(line)) - bool(_CLOSES.match(line))
            if quoted := _QUOTED.match(line):
                self._header(quoted[1], folder, depth)
            elif (hip := _HIP.match(line)) and not self._in_cuda:
                self._hip(hip[1])
            else:
                self._lines.append(line)

    def _header(self, name: str, folder: Path, depth: int) -> None:
        path = self._find(name, (folder, *(self._cuda if self._in_cuda else self._folders)))
        if path in self._taken:
            return
        if depth == 0 and not self._in_cuda:
            self._taken.add(path)
        guard = f"INLINED_{self._numbers.setdefault(path, len(self._numbers))}"  # several headers may have one name
        self._lines += [f"// ---- {name}", f"#ifndef {guard}", f"#define {guard}"]
        self._take(self.instead(path).read_text(encoding="utf-8"), path.parent, depth)
        self._lines += [f"#endif // {name}"]

    def _hip(self, name: str) -> None:
        """Include HIP's header: nvcc has none, so ours replaces it; other compilers have theirs."""
        self._lines.append("#if defined(__CUDACC__)")
        self._in_cuda = True
        self._header(name, self._cuda[0], 1)
        self._in_cuda = False
        self._lines += ["#else", f"#include <{name}>", "#endif"]

    @staticmethod
    def _find(name: str, folders: Sequence[Path]) -> Path:
        for folder in folders:
            path = (folder / name).resolve()
            if path.is_file():
                return path
        raise UsageError(f'#include "{name}": no such file next to its source or in the folders of headers')
