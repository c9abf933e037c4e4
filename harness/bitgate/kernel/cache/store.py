"""A store that machines share: a folder, or an object store by its URL (fsspec), whose files are written once.

Its files were written by others: a reader compares their hashes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

LOCAL = ("file", "local")


class StoreError(Exception):
    """The error of a store that does not answer; the message has its name and its words, on one line."""


class ArtefactStore:
    """A store at a URL: a folder, or ``s3://bucket/folder`` and all others of fsspec. UsageError for a wrong URL."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._system, self._root = _opened(url)

    @property
    def is_local(self) -> bool:
        protocol = self._system.protocol
        return any(name in LOCAL for name in ([protocol] if isinstance(protocol, str) else protocol))

    def make(self) -> None:
        """Make the folder of a local store. StoreError if it cannot be made."""
        if self.is_local:
            self._asked(lambda: os.makedirs(self._root, exist_ok=True))

    def read(self, name: str) -> bytes | None:
        """Return a file's content; None if there is no such file. StoreError if the store does not answer."""

        def content() -> bytes | None:
            self._check_there()
            try:
                return bytes(self._system.cat_file(f"{self._root}/{name}"))
            except FileNotFoundError:
                return None

        return self._asked(content)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; none if it does not exist. StoreError if the store does not answer."""

        def listed() -> list[str]:
            self._check_there()
            try:
                self._system.invalidate_cache(f"{self._root}/{folder}")
                found = self._system.ls(f"{self._root}/{folder}", detail=False)
            except FileNotFoundError:
                return []
            return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

        return self._asked(listed)

    def write(self, name: str, content: bytes) -> None:
        """Write the whole file or none of it. StoreError if it cannot be written.

        An object store puts whole objects; in a folder the file is renamed when it is complete.
        """

        def put() -> None:
            path = f"{self._root}/{name}"
            if self.is_local:
                write_whole(Path(path), content)
                return
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(path, content)

        self._asked(put)

    def _check_there(self) -> None:
        """Raise OSError if the folder of a local store does not exist: it is mistyped, or not mounted."""
        if self.is_local and not os.path.isdir(self._root):
            raise OSError("no such folder")

    def _asked(self, question: Callable[[], T]) -> T:
        try:
            return question()
        except Exception as error:  # each store's package raises other errors
            said = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"{self.url}: {said:.300}") from None


def _opened(url: str) -> tuple[AbstractFileSystem, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f"{url}: a store needs fsspec: pip install fsspec") from None
    try:
        found: tuple[Any, str] = url_to_fs(url)
    except ImportError as error:  # it names the package of the protocol
        raise UsageError(f"{url}: {error}") from None
    except Exception as error:
        raise UsageError(f"{url}: no store: {' '.join(str(error).split()):.300}") from None
    return found[0], found[1].rstrip("/")
