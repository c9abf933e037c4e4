"""The one file that first contact leaves: bounded, scrubbed, and in memory until it is written, so that a full disk
loses nothing that can be told."""

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
"""Bytes of a bundle."""

KEPT_BACK = 256 << 10
"""For what is written last: the summary, and the list of what was left out."""

LONGEST_TEXT = 4 << 20
BINARY = (".npy", ".bin", ".co", ".hsaco")
"""Kinds that bitgate writes itself; anything else in a bundle is text."""

FOLDER = "first_contact"
_OVERHEAD = 1536  # of a file in a tar


class Bundle:
    """Files by name, and where they go: ``path``. ``journal`` is appended to beside it as long as it is not written."""

    def __init__(self, path: Path, scrubber: Scrubber) -> None:
        self.path = path
        self.scrubber = scrubber
        self.left_out: dict[str, str] = {}
        self._files: dict[str, bytes] = {}
        self._cost = KEPT_BACK
        self._is_device = path.exists() and not path.is_file()
        self._journal = path.with_name(path.name.removesuffix(".tar.gz") + ".steps.jsonl")

    def begin(self) -> None:
        """OSError or UsageError if nothing can be written there."""
        if self.path.is_dir():
            raise UsageError(f"{self.path} is a folder: name a file for the bundle")
        if self._is_device:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._journal.write_text("")

    def journal(self, line: Mapping[str, Any]) -> str:
        """Append a step at once: what is known survives whatever ends this process. What went wrong, if it did."""
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
        """Begin and end of a text that is too long."""
        if len(text) > longest:
            half = longest // 2
            self.left_out[name] = f"{len(text) - 2 * half} characters from its middle"
            text = f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
        self._keep(name, self.scrubber.text(text).encode("utf-8", "replace"))

    def json(self, name: str, document: Any) -> None:
        self.text(name, json.dumps(document, indent=1, default=str) + "\n")

    def file(self, name: str, data: bytes) -> None:
        """A file as some step wrote it: text is scrubbed, anything else must be of a kind that is known."""
        if name.endswith(BINARY):
            if told := self.scrubber.tells(data):
                self.left_out[name] = f"holds {told}"
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
        """Bytes written. OSError if they cannot be."""
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
        """Without the name of whoever packs it."""
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
