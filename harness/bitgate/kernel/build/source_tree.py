"""Two views of the source tree: names for cache keys that hold in any checkout, and a shadow with replaced files."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from bitgate.core.project import ours
from bitgate.kernel.cache import Cache

_ROOT = "{root}"


def portable(text: str) -> str:
    """Replace the checkout's place in a path, or in a flag that holds one."""
    return text.replace(str(ours().root), _ROOT)


def local(name: str) -> str:
    """Return the path on this machine of a name that ``portable`` made."""
    return name.replace(_ROOT, str(ours().root))


class SourceTree:
    """The tree that sources are read from: in place, or a shadow of symlinks in which some files are replaced.

    In the shadow every path keeps its absolute shape below one folder, so that headers found by relative path or by
    ``-I`` are the replaced ones. Files that a user's sources include from above their folder (``../common/x.hpp``) are
    linked unchanged. The shadow is made when first needed, since most units of a fault come from the cache.
    """

    def __init__(self, cache: Cache, folders: Sequence[Path], overlay: Mapping[Path, Path]) -> None:
        self._cache = cache
        self._folders = folders
        self._overlay = overlay
        self._shadow: Path | None = None
        self._making = threading.Lock()

    @property
    def prefix(self) -> str:
        """The prefix of each absolute path: the shadow, empty in place."""
        if not self._overlay:
            return ""
        with self._making:  # units are compiled by several threads, and there must be one shadow
            if self._shadow is None:
                self._shadow = self._make_shadow()
            return str(self._shadow)

    def real(self, path: str) -> str:
        """Return the path in the real tree of a path that the compiler named."""
        shadow = str(self._shadow) if self._shadow else ""
        real = os.path.normpath(path.removeprefix(shadow))
        if real.startswith(f"{self._cache.folder / 'tmp'}{os.sep}"):
            # Stored under such a name, an object of a replaced source would be taken for one of the real source.
            raise RuntimeError(f"{path}: a source in a folder that is not this build's shadow")
        return real

    def close(self) -> None:
        """Remove the shadow."""
        if self._shadow is not None:
            shutil.rmtree(self._shadow, ignore_errors=True)
            self._shadow = None

    def _make_shadow(self) -> Path:
        shadow = self._cache.temporary(".shadow")
        with self._cache.guarded():
            replaced = (file.parent for file in self._overlay)
            shown = tuple(dict.fromkeys((*self._folders, *replaced)))
            for folder in shown:
                for current, _, files in os.walk(folder):
                    target = Path(f"{shadow}{current}")
                    target.mkdir(parents=True, exist_ok=True)
                    for file in files:
                        link = target / file
                        real = Path(current) / file
                        if not link.is_symlink():
                            link.symlink_to(self._overlay.get(real, real))
            # Sources in the first folder, which is bitgate's, include nothing from above it.
            above = (up for folder in shown if not folder.is_relative_to(shown[0]) for up in folder.parents)
            for up in dict.fromkeys(above):
                _link_rest(up, Path(f"{shadow}{up}"))
        return shadow


def _link_rest(folder: Path, shown: Path) -> None:
    """Link the entries of a folder that the shadow does not show yet."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # a folder that only its owner may list
        return
    for entry in entries:
        link = shown / entry.name
        if not link.exists() and not link.is_symlink():
            link.symlink_to(entry)
