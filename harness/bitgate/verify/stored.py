"""Digests of exact cases that were computed before: a result that has its digest needs no reference.

One file a suite, ``digests.json``, one line a digest, sorted. A key holds everything that decides the data (case,
ranges and densities, seed), so that a digest may serve any suite that plans its case. Each line also has what the
certificate needs, measured where the digest was computed. At the end are the reasons for which any of them was ever
changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec import json as msgspec_json

from bitgate.core.errors import UsageError
from bitgate.model import Accumulation
from bitgate.model.fill import DEFAULT
from bitgate.numerics.counter import FULL_DENSITY, GENERATOR
from bitgate.numerics.fill import FillPlan
from bitgate.results.record import Certificate

FILE = "digests.json"
REFRESH = "run bitgate cases --update-digests --reason TEXT"


@dataclass(frozen=True)
class StoredDigest:
    """A digest of an exact case and the facts of its certificate; ``path`` is the file that holds it."""

    digest: str
    bound: int
    density: float
    sensitivity: float | None
    note: str
    path: Path = Path(FILE)

    @classmethod
    def of(cls, digest: str, certificate: Certificate) -> StoredDigest:
        shows = certificate.sensitivity
        sensitivity = None if shows is None else _short(shows)
        return cls(digest, certificate.bound, _short(certificate.density), sensitivity, certificate.note)

    @property
    def line(self) -> list[Any]:
        return [self.digest, self.bound, self.density, self.sensitivity, self.note]

    def certificate(self, accumulation: Accumulation) -> Certificate:
        """Return the certificate under a kernel's accumulation contract."""
        reach = accumulation.exact_range
        return Certificate(self.bound, reach, self.density, self.sensitivity, self.bound <= reach, self.note)


class _Line(Struct, array_like=True, gc=False):
    """A digest as its file holds it: thousands are read for each that is needed."""

    digest: str
    bound: int
    density: float
    sensitivity: float | None
    note: str

    def of(self, path: Path) -> StoredDigest:
        return StoredDigest(self.digest, self.bound, self.density, self.sensitivity, self.note, path)


class _DigestFile(Struct):
    generator: int
    digests: dict[str, _Line]


_DIGEST_FILE = msgspec_json.Decoder(_DigestFile)


def _short(share: float) -> float:
    return float(f"{share:.4g}")


def key_of(case: str, plan: FillPlan) -> str:
    """Return the key, such as ``<case id> seed=0 out=16 wei=16/1048576``: the density only where it is not full.

    For data of the operation's own it is ``<case id> fill=negative seed=0``, without ``fill=`` where that is ``exact``.
    """
    fills = (
        f"{name}={fill.range}" + (f"/{fill.keep}" if fill.keep != FULL_DENSITY else "") for name, fill in plan.tensors
    )
    named = "" if plan.fill == DEFAULT else f"fill={plan.fill} "
    return f"{case} {named}seed={plan.seed} {' '.join(fills)}"


class DigestBook:
    """The stored digests of all suites in some folders, read at the first request."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    def find(self, case: str, plan: FillPlan) -> StoredDigest | None:
        """Return what is stored for such data. Raises UsageError for a file that is stale or broken."""
        key = key_of(case, plan)
        for path, lines in reversed(self._files):
            if (line := lines.get(key)) is not None:
                return line.of(path)
        return None

    @cached_property
    def _files(self) -> list[tuple[Path, dict[str, _Line]]]:
        paths = [path for folder in self.folders for path in sorted(folder.glob(f"*/{FILE}"))]
        return [(path, _read_lines(path)) for path in paths]


@dataclass(frozen=True)
class DigestChange:
    """The reason for which some digests were changed, and the date."""

    date: str
    text: str
    keys: tuple[str, ...]

    @classmethod
    def of_today(cls, text: str, keys: Iterable[str]) -> DigestChange:
        return cls(datetime.now(timezone.utc).date().isoformat(), text, tuple(sorted(keys)))


class StaleDigests(UsageError):
    """An error about a file whose digests are of data that another generator made; ``digests`` are what it holds."""

    def __init__(self, message: str, digests: Mapping[str, StoredDigest]) -> None:
        super().__init__(message)
        self.digests = digests


def read(path: Path) -> dict[str, StoredDigest]:
    """Return the digests of a file by key.

    Raises StaleDigests if another generator made them, UsageError if the file holds no digests.
    """
    return {key: line.of(path) for key, line in _read_lines(path).items()}


def _read_lines(path: Path) -> dict[str, _Line]:
    try:
        document = _DIGEST_FILE.decode(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: holds no stored digests ({type(error).__name__}: {error}): get the file back from git"
        ) from None
    if document.generator != GENERATOR:
        message = f"{path}: stale: made by generator {document.generator}, data are of generator {GENERATOR}: {REFRESH}"
        raise StaleDigests(message, {key: line.of(path) for key, line in document.digests.items()})
    return document.digests


def read_reasons(path: Path) -> tuple[DigestChange, ...]:
    """Return why digests of a file were changed, the oldest first. Raises UsageError if the list is broken."""
    try:
        entries = json.loads(path.read_text()).get("changes", [])
        return tuple(
            DigestChange(str(one["date"]), str(one["reason"]), tuple(map(str, one["digests"]))) for one in entries
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: changes: {type(error).__name__}: {error}: get the file back from git") from None


def write(path: Path, digests: Mapping[str, StoredDigest], reasons: Sequence[DigestChange] = ()) -> None:
    """Write digests sorted, one line each, so that a change shows as one; remove the file where there are none."""
    if not digests:
        path.unlink(missing_ok=True)
        return
    lines = [f"{json.dumps(key)}: {json.dumps(digests[key].line)}" for key in sorted(digests)]
    entries = [json.dumps({"date": one.date, "reason": one.text, "digests": list(one.keys)}) for one in reasons]
    changes = '}, "changes": [\n' + ",\n".join(entries) + "\n]}\n" if entries else "}}\n"
    path.write_text(f'{{"generator": {GENERATOR}, "digests": {{\n' + ",\n".join(lines) + "\n" + changes)
