"""The one file that a bring-up leaves: bounded and scrubbed, in memory until written, so that a full disk loses no
finding."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.lab.bringup.scrub import Scrubber

LARGEST = 16 << 20
"""Most bytes of a bundle."""

KEPT_BACK = 256 << 10
"""Bytes reserved for what is written last: the summary, and the list of what was left out."""

LONGEST_TEXT = 4 << 20
BINARY = (".npy", ".bin", ".co", ".hsaco")
"""Kinds of files that bitgate writes itself; anything else in a bundle is text."""

FOLDER = "first_contact"
_OVERHEAD = 1536  # bytes of a file in a tar


class Bundle:
    """The files of a bundle by name, to be written to ``path``. Until then steps are appended to a journal next to
    it."""

    def __init__(self, path: Path, scrubber: Scrubber) -> None:
        self.path = path
        self.scrubber = scrubber
        self.left_out: dict[str, str] = {}
        self._files: dict[str, bytes] = {}
        self._cost = KEPT_BACK
        self._is_device = path.exists() and not path.is_file()
        self._journal = path.with_name(path.name.removesuffix(".tar.gz") + ".steps.jsonl")

    def begin(self) -> None:
        """Check the place of the bundle. Raises OSError or UsageError if nothing can be written there."""
        if self.path.is_dir():
            raise UsageError(f"{self.path} is a folder: name a file for the bundle")
        if self._is_device:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._journal.write_text("")

    def journal(self, line: Mapping[str, Any]) -> str:
        """Append a step at once, so that it survives the end of this process. Returns what went wrong, or an empty
        text."""
        text = self.scrubber.text(json.dumps(line, default=str)) + "\n"
        self._files["steps.jsonl"] = self._files.get("steps.jsonl", b"") + text.encode()
        if self._is_device:
            return ""
        try:
            with self._journal.open("a") as file:
                file.write(text)
        except OSError as error:
            return f"{self._journal}: {error.strerror}"
        return ""

    def text(self, name: str, text: str, longest: int = LONGEST_TEXT) -> None:
        """Add a text; of one that is too long its begin and end."""
        if len(text) > longest:
            half = longest // 2
            self.left_out[name] = f"{len(text) - 2 * half} characters from its middle"
            text = f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
        self._keep(name, self.scrubber.text(text).encode("utf-8", "replace"))

    def json(self, name: str, document: Any) -> None:
        self.text(name, json.dumps(document, indent=1, default=str) + "\n")

    def file(self, name: str, data: bytes) -> None:
        """Add a file as some step wrote it: text is scrubbed, anything else must be of a known kind."""
        if name.endswith(BINARY):
            if revealed := self.scrubber.reveals(data):
                self.left_out[name] = f"holds {revealed}"
            else:
                self._keep(name, data)
            return
        try:
            text = data.decode()
        except UnicodeDecodeError:
            self.left_out[name] = f"neither text nor one of {', '.join(BINARY)}"
            return
        self.text(name, text, longest=max(LONGEST_TEXT, LARGEST) if name.endswith(".jsonl") else LONGEST_TEXT)

    def folder(self, name: str, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                self.file(f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def write(self, summary: str) -> int:
        """Write the bundle and return its bytes. Raises OSError if it cannot be written."""
        listed = "".join(f"- {name}: {why}\n" for name, why in sorted(self.left_out.items()))
        self._files["summary.md"] = self.scrubber.text(
            summary + (f"\n## Left out\n{listed}" if listed else "")
        ).encode()
        data = self._packed()
        if self._is_device:
            with self.path.open("wb") as file:
                file.write(data)
            return len(data)
        write_whole(self.path, data)
        self._journal.unlink(missing_ok=True)
        return len(data)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._files))

    def _keep(self, name: str, data: bytes) -> None:
        cost = len(zlib.compress(data, 6)) + _OVERHEAD
        if self._cost + cost > LARGEST:
            self.left_out[name] = f"{len(data)} bytes: the bundle holds {LARGEST >> 20} MiB at most"
            return
        self._cost += cost
        self._files[name] = data

    def _packed(self) -> bytes:
        """Pack the files without the name of the user who packs them."""
        packed = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0, compresslevel=6) as gz,
            tarfile.open(fileobj=gz, mode="w") as tar,
        ):
            for name in self.names:
                entry = tarfile.TarInfo(f"{FOLDER}/{name}")
                entry.size, entry.mtime = len(self._files[name]), int(time.time())
                tar.addfile(entry, io.BytesIO(self._files[name]))
        return packed.getvalue()
