"""How long a case takes: recorded seconds where there are some, else a model fitted to what is recorded.

A recorded second is one machine's; it orders work and fills budgets, and never decides a verdict.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median

from filelock import FileLock

from bitgate import rooms
from bitgate.errors import UsageError
from bitgate.record import Verdict

# A verdict's cost before any kernel work, and the host kernels' pace before anything is recorded; both only order work.
BASE_SECONDS = 0.01
SECONDS_PER_FLOP = 2e-9


@dataclass(frozen=True)
class Durations:
    """Seconds by ``<case>__<family>_<instance>`` on one target."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    """Seconds a FLOP, by family."""

    def estimate(self, case: str, family: str, instance: str, flops: int) -> float:
        recorded = self.seconds.get(name(case, family, instance))
        if recorded is not None:
            return recorded
        return BASE_SECONDS + flops * self.rates.get(family, self._typical_rate)

    @cached_property
    def _typical_rate(self) -> float:
        return median(self.rates.values()) if self.rates else SECONDS_PER_FLOP


def name(case: str, family: str, instance: str) -> str:
    return f"{case}__{family}_{instance}"


def load(target: str) -> Durations:
    """What this machine recorded for ``target``, over what the suites carry; empty if neither has any."""
    carried = _read(rooms.room("suites") / "durations" / f"{target}.json")
    own = _read(_own_file(target))
    return Durations({**carried.seconds, **own.seconds}, {**carried.rates, **own.rates})


def remember(target: str, verdicts: Iterable[Verdict], flops: Mapping[str, int]) -> None:
    """Note the seconds of ``verdicts`` in the cache; ``flops`` by case, for the rates. Writes all or nothing."""
    path = _own_file(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        known = _read(path)
        draft = path.with_suffix(".draft")
        draft.write_text(render(learn(known, verdicts, flops)))
        draft.replace(path)


def learn(known: Durations, verdicts: Iterable[Verdict], flops: Mapping[str, int]) -> Durations:
    """``known`` with the new seconds in place of the old. A family's rate is all its seconds over all its FLOPs, so
    that the large cases count, for which alone the estimate matters."""
    seconds = dict(known.seconds)
    spent: dict[str, float] = defaultdict(float)
    done: dict[str, int] = defaultdict(int)
    for verdict in verdicts:
        total, key = verdict.seconds.get("total"), verdict.key
        if total is None or not verdict.compared:
            continue
        seconds[name(key.case, key.kernel, key.instance)] = round(total, 5)
        if flops.get(key.case):
            spent[key.kernel] += max(0.0, total - BASE_SECONDS)
            done[key.kernel] += flops[key.case]
    rates = {family: float(f"{spent[family] / done[family]:.3g}") for family in done if spent[family]}
    return Durations(seconds, {**known.rates, **rates})


def render(durations: Durations) -> str:
    document = {"rates": dict(durations.rates), "seconds": dict(sorted(durations.seconds.items()))}
    return json.dumps(document, indent=0) + "\n"


def _own_file(target: str) -> Path:
    return rooms.cache_dir() / "durations" / f"{target}.json"


def _read(path: Path) -> Durations:
    try:
        document = json.loads(path.read_text())
        return Durations(
            {key: float(value) for key, value in document["seconds"].items()},
            {key: float(value) for key, value in document["rates"].items()},
        )
    except FileNotFoundError:
        return Durations()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: not a table of durations ({error}); delete it, it is written anew") from None
