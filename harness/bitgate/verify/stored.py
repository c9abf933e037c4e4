"""Digests of exact cases that were computed before: a result that has its digest needs no reference.

One file a suite, ``digests.json``, one line a digest, sorted. A key holds everything that decides the data (case,
ranges and densities, seed), so that a digest may serve whatever suite plans its case. Beside it stands what the
certificate needs, measured where the digest was computed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bitgate.errors import UsageError
from bitgate.exact.counter import FULL_DENSITY, GENERATOR
from bitgate.exact.fill import FillPlan
from bitgate.problem.accumulation import Accumulation
from bitgate.record import Certificate

FILE = "digests.json"
REFRESH = "run bitgate cases --update-digests"


@dataclass(frozen=True)
class StoredDigest:
    """``bound``, ``density``, ``sensitivity`` and ``note`` are the certificate's; ``path`` is where it was found."""

    digest: str
    bound: int
    density: float
    sensitivity: float
    note: str
    path: Path = Path(FILE)

    @classmethod
    def of(cls, digest: str, certificate: Certificate) -> StoredDigest:
        density, sensitivity = (float(f"{share:.4g}") for share in (certificate.density, certificate.sensitivity))
        return cls(digest, certificate.bound, density, sensitivity, certificate.note)

    @property
    def line(self) -> list[Any]:
        return [self.digest, self.bound, self.density, self.sensitivity, self.note]

    def certificate(self, accumulation: Accumulation) -> Certificate:
        """As it is under a kernel's accumulation contract."""
        reach = accumulation.exact_range
        return Certificate(self.bound, reach, self.density, self.sensitivity, self.bound <= reach, self.note)


def key_of(case: str, plan: FillPlan) -> str:
    """``<case id> seed=0 out=16 wei=16/1048576``: the density only where it is not full."""
    fills = (
        f"{name}={fill.range}" + (f"/{fill.keep}" if fill.keep != FULL_DENSITY else "") for name, fill in plan.tensors
    )
    return f"{case} seed={plan.seed} {' '.join(fills)}"


class DigestBook:
    """The stored digests of all suites below some folders, read when the first one is asked for."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folders))

    def find(self, case: str, plan: FillPlan) -> StoredDigest | None:
        """What is stored for exact data; nothing for other fills. UsageError for a file that is stale or broken."""
        return self._entries.get(key_of(case, plan)) if plan.fill == "exact" else None

    @cached_property
    def _entries(self) -> dict[str, StoredDigest]:
        found: dict[str, StoredDigest] = {}
        for folder in self.folders:
            for path in sorted(folder.glob(f"*/{FILE}")):
                found |= read(path)
        return found


def read(path: Path) -> dict[str, StoredDigest]:
    """The digests of a file by key. UsageError if another generator made them, or if it is no such file."""
    try:
        document = json.loads(path.read_text())
        generator = document["generator"]
        digests = {key: _parse(line, path) for key, line in document["digests"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: holds no stored digests ({type(error).__name__}: {error}): {REFRESH}") from None
    if generator != GENERATOR:
        raise UsageError(f"{path}: stale: made by generator {generator}, data are of generator {GENERATOR}: {REFRESH}")
    return digests


def _parse(line: list[Any], path: Path) -> StoredDigest:
    digest, bound, density, sensitivity, note = line
    return StoredDigest(str(digest), int(bound), float(density), float(sensitivity), str(note), path)


def write(path: Path, digests: Mapping[str, StoredDigest]) -> None:
    """Sorted, one line a digest, so that a change shows as one; no file at all where there are none."""
    if not digests:
        path.unlink(missing_ok=True)
        return
    lines: Sequence[str] = [f"{json.dumps(key)}: {json.dumps(digests[key].line)}" for key in sorted(digests)]
    path.write_text(f'{{"generator": {GENERATOR}, "digests": {{\n' + ",\n".join(lines) + "\n}}\n")
