"""Libraries that another machine built: taken from this machine's cache, else from the store of ``$BITGATE_ARTEFACTS``.

A machine that builds for all others puts them there. Names in a store are not trusted: an entry must be of the request
and of this machine's headers, and its bytes must have the stated hash. Anyone who may write to the store can still have
code run on the machines that read it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import msgspec

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import InvalidInput
from bitgate.kernel.build.artefact import Artefact, ArtefactRequest
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents
from bitgate.kernel.cache.folder import seal_of
from bitgate.kernel.cache.store import ArtefactStore, StoreError

VARIABLE = "BITGATE_ARTEFACTS"
"""The variable of the store's folder or URL."""
ONLY = "BITGATE_FETCH_ONLY"
"""Set on machines that may run nothing but what the store holds, even if they could build it."""

MOST_ENTRIES = 50
"""Entries that are read of one library: there is one, unless several machines built it at once."""


@dataclass(frozen=True)
class StoredArtefact:
    """A library in this machine's cache, with its entry of the store."""

    path: Path
    artefact: Artefact


@dataclass
class Artefacts:
    """The libraries of a store, as far as this process takes or puts them.

    ``pushes``: what is built is put into the store. ``listed``: what was taken from it or put into it, by id.
    """

    url: str
    only: bool = False
    pushes: bool = False
    progress: Callable[[str], None] = print
    listed: dict[str, Artefact] = field(default_factory=dict)
    _is_silent: bool = False
    """True once the store did not answer: it is not asked again, since each question may take a minute."""

    @cached_property
    def store(self) -> ArtefactStore:
        return ArtefactStore(self.url)

    @property
    def goes_first(self) -> bool:
        """True if the store's libraries take precedence over those that this machine has built."""
        return self.only or self.pushes

    def held(self, wanted: ArtefactRequest, contents: Contents, cache: Cache) -> StoredArtefact | None:
        """Return what was fetched before, if it is whole and of the present headers.

        None on a machine that builds for all: it looks into the store each time, since its cache may be of another one.
        """
        if self.pushes:
            return None
        try:
            artefact = Artefact.of(_note(cache, wanted).read_bytes(), wanted)
        except (OSError, InvalidInput):
            return None
        path = _path(cache, artefact)
        if not artefact.is_of(wanted, contents) or not cache.used(path) or _sealed(path) != artefact.sha256:
            return None
        self.listed[wanted.id] = artefact
        return StoredArtefact(path, artefact)

    def fetch(self, wanted: ArtefactRequest, contents: Contents, cache: Cache) -> StoredArtefact | None:
        """Fetch a library from the store into the cache, verified.

        If the store holds no valid one, or does not answer: None if this machine may build it, else UsageError.
        """
        with cache.lock(f"artefact-{wanted.id}"):
            if held := self.held(wanted, contents, cache):  # another process has fetched it in the meantime
                return held
            try:
                for artefact in self._entries(wanted, contents):
                    if (held := self._take(artefact, wanted, cache)) is not None:
                        return held
            except StoreError as error:
                if self.goes_first:
                    raise UsageError(f"{error}: {wanted.label} for {wanted.target} cannot be looked for") from None
                if not self._is_silent:
                    self.progress(f"{error}: what it holds is built here")
                self._is_silent = True
        if self.only:
            raise UsageError(
                f"{self.url} holds no whole {wanted.label} for {wanted.target} of these sources:"
                f" build it with `bitgate compile --target {wanted.target} --artefacts {self.url}`"
            )
        return None

    def push(self, wanted: ArtefactRequest, library: Path, compiler: str, beside: dict[str, str]) -> Artefact:
        """Put a library that was built here into the store. UsageError if the store does not take it."""
        data = library.read_bytes()
        artefact = Artefact(
            label=wanted.label,
            file=wanted.file,
            target=wanted.target,
            flavour=wanted.flavour,
            wanted=wanted.id,
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            compiler=compiler,
            beside=beside,
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )
        try:
            there = self.store.read(artefact.place)
            if there is None or hashlib.sha256(there).hexdigest() != artefact.sha256:  # none, or a damaged one
                self.store.write(artefact.place, data)
            self.store.write(f"{_folder(wanted)}/{artefact.name}", msgspec.json.encode(artefact))
        except StoreError as error:
            raise UsageError(f"{error}: {wanted.label} for {wanted.target} cannot be put there") from None
        self.listed[wanted.id] = artefact
        return artefact

    def _entries(self, wanted: ArtefactRequest, contents: Contents) -> list[Artefact]:
        """Return the store's entries for this machine's headers, oldest first, so that all machines take the same."""
        if self._is_silent:
            return []
        found = []
        for name in self.store.names(_folder(wanted))[:MOST_ENTRIES]:
            data = self.store.read(f"{_folder(wanted)}/{name}") if name.endswith(".json") else None
            if data is None:
                continue
            try:
                artefact = Artefact.of(data, wanted)
            except InvalidInput as error:
                self.progress(f"{self.url}/{_folder(wanted)}/{name}: not used: {error}")
                continue
            if artefact.is_of(wanted, contents):
                found.append(artefact)
        return found

    def _take(self, artefact: Artefact, wanted: ArtefactRequest, cache: Cache) -> StoredArtefact | None:
        """Fetch the bytes of an entry, if they have its size and hash."""
        where = f"{self.url}/{artefact.place}"
        data = self.store.read(artefact.place)
        if data is None:
            self.progress(f"{where}: {wanted.label} is gone from the store: not used")
            return None
        if (len(data), hashlib.sha256(data).hexdigest()) != (artefact.size, artefact.sha256):
            self.progress(f"{where}: {wanted.label} is damaged (its hash is another): not used")
            return None
        path, draft, note = _path(cache, artefact), cache.temporary(".so"), cache.temporary(".json")
        with cache.guarded():
            draft.write_bytes(data)
            draft.chmod(0o755)
            note.write_bytes(msgspec.json.encode(artefact))
        cache.publish_artefact(draft, path)
        cache.publish(note, _note(cache, wanted))
        self.progress(f"fetched {wanted.label} for {wanted.target}, {len(data) / 2**20:.1f} MiB")
        self.listed[wanted.id] = artefact
        return StoredArtefact(path, artefact)


def from_environment(progress: Callable[[str], None]) -> Artefacts | None:
    """Return the store that ``$BITGATE_ARTEFACTS`` names, None without it.

    UsageError if only libraries of a store may run and none is named.
    """
    url, only = os.environ.get(VARIABLE, ""), bool(os.environ.get(ONLY))
    if only and not url:
        raise UsageError(f"{ONLY} is set, and {VARIABLE} is not: name the store, or unset it")
    return Artefacts(url, only=only, progress=progress) if url else None


def is_configured() -> bool:
    """Return whether a store is named, so that no compiler is needed."""
    return bool(os.environ.get(VARIABLE))


def _folder(wanted: ArtefactRequest) -> str:
    return f"index/{wanted.id}"


def _note(cache: Cache, wanted: ArtefactRequest) -> Path:
    return cache.folder / "artefacts" / f"{wanted.id}.json"


def _path(cache: Cache, artefact: Artefact) -> Path:
    return cache.folder / "libraries" / artefact.sha256[:32] / artefact.file


def _sealed(path: Path) -> str:
    with suppress(OSError):
        return seal_of(path).read_text().strip()
    return ""
