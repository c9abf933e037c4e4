"""The requests of solved suites: ``solve.toml`` in the folder of suites, a table for each suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.table_fields import TableFields, like, number, texts
from bitgate.core.toml import read_toml

FILE = "solve.toml"


@dataclass(frozen=True)
class SolveRequest:
    """The request of a suite's lists.

    ``smoke`` and ``regression`` are seconds on one worker of a whole suite. Smoke reaches the pairs of coverage's
    factors and of the factors ``triples`` whatever they take, regression all pairs. Smoke's other pairs, and triples,
    go as far as the seconds. ``pool`` counts the drawn cases of each family and
    operation, ``most_seconds`` limits one case. ``instances`` and ``without`` are patterns of instances' names, so that
    ones that come later leave the lists of the others as they are.
    """

    kernels: tuple[str, ...]
    operations: tuple[str, ...]
    smoke: float
    regression: float
    triples: tuple[str, ...]
    pool: int = 5000
    seed: int = 1
    most_seconds: float = 0.05
    instances: str = "*"
    without: str = ""


@dataclass(frozen=True)
class OffsetRequest:
    """The request of a list of offsets: a case for each stride of each tensor, of at most ``offsets`` GiB."""

    kernels: tuple[str, ...]
    operations: tuple[str, ...]
    offsets: int
    pool: int = 2000
    seed: int = 1
    instances: str = "*"
    without: str = ""


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise ValueError(f"{value!r} is not a positive number of seconds")
    return float(value)


_COMMON = {
    "kernels": texts(r"\w+", "grouped_fwd"),
    "operations": texts(r"\w+", "fwd"),
    "pool": number(1),
    "seed": number(0),
    "instances": like(r"[\w*]+", "*_ct*"),
    "without": like(r"[\w*]+", "*_ct*"),
}
_REQUIRED = {
    "kernels": "name the families that the lists are for",
    "operations": "name the operations whose problems are drawn",
}
_OFFSET_FIELDS = TableFields({**_COMMON, "offsets": number(1)}, _REQUIRED)
_FIELDS = TableFields(
    {
        **_COMMON,
        "triples": texts(r"[\w:]+", "path"),
        "smoke": _seconds,
        "regression": _seconds,
        "most_seconds": _seconds,
    },
    {
        **_REQUIRED,
        "triples": "name the factors whose triples the lists should reach",
        "smoke": "give the seconds of the tier on one worker",
        "regression": "give the seconds of the tier on one worker",
    },
)


def read_requests(folder: Path) -> dict[str, SolveRequest | OffsetRequest]:
    """Return the requests of a folder of suites by suite. Raises UsageError for a file that cannot be right."""
    path = folder / FILE
    if not path.is_file():
        raise UsageError(f"{path}: no such file; it says what the solved lists of {folder} should hold")
    document, _ = read_toml(path)
    found: dict[str, SolveRequest | OffsetRequest] = {}
    for suite, fields in document.items():
        if not isinstance(fields, Mapping):
            raise UsageError(f"{path}: '{suite}' is not a suite's table; write [{suite}]")
        place = f"{path}: [{suite}]"
        if "offsets" in fields:
            found[suite] = OffsetRequest(**_OFFSET_FIELDS.read(place, fields))
        else:
            found[suite] = SolveRequest(**_FIELDS.read(place, fields))
    return found


def requested(folder: Path, suites: Iterable[str]) -> dict[str, SolveRequest | OffsetRequest]:
    """Return the requests of these suites; without any, all of the folder. UsageError for an unknown suite."""
    requests = read_requests(folder)
    for suite in suites:
        if suite not in requests:
            raise UsageError(f"{suite}: no table of {folder / FILE}; known are {', '.join(requests)}")
    return {suite: requests[suite] for suite in suites} or requests
