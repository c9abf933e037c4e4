"""The end of a night, as ``--until`` states it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from bitgate.core.errors import UsageError

DEFAULT = "24h"
NEVER = "never"

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


def deadline(text: str, now: datetime | None = None) -> float:
    """Return the time of a deadline in seconds since the epoch: ``06:30``, ``8h``, ``90m`` or ``never``.

    UsageError for anything else.
    """
    now = now or datetime.now().astimezone()
    if text == NEVER:
        return float("inf")
    if found := re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([dhms])", text):
        return now.timestamp() + float(found[1]) * _UNITS[found[2]]
    if found := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text):
        end = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return (end if end > now else end + timedelta(days=1)).timestamp()
    raise UsageError(f"--until {text:.40}: write a time (06:30), a duration (8h, 90m), or never")
