"""Limits of resources, and restoring those that another process of the same user has changed. Standard library only."""

from __future__ import annotations

import resource

LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})

Limits = dict[int, tuple[int, int]]
"""Soft and hard limit by number."""


def limits_of(process: int = 0) -> Limits:
    """Return the limits of a process, 0 for this one. OSError if it has ended, or is another user's."""
    return {number: resource.prlimit(process, number) for number in LIMITS}


def bound_memory(most: int, process: int = 0) -> int:
    """Limit the bytes of private memory that a process, and each that it starts, can write to; return the limit.

    A limit that is lower already stays. ``process`` 0 is this one. OSError if it has ended.
    """
    hard = resource.prlimit(process, resource.RLIMIT_DATA)[1]
    bound = most if _is_within(most, hard) else hard
    resource.prlimit(process, resource.RLIMIT_DATA, (bound, bound))
    return bound


_own: Limits = {}
"""The limits to be kept; none in a process that has not asked for that."""


def keep() -> None:
    """Let ``restore`` restore the limits that this process has now."""
    _own.update(limits_of())


def restore() -> None:
    """Set what another process has changed as it was, as far as the hard limits allow."""
    for number, (soft, hard) in _own.items():
        if (now := resource.getrlimit(number)) == (soft, hard):
            continue
        try:
            resource.setrlimit(number, (soft, hard))
        except ValueError:  # no right to raise the hard one again
            most = now[1]
            resource.setrlimit(number, (soft if _is_within(soft, most) else most, most))


def _is_within(limit: int, most: int) -> bool:
    return most == resource.RLIM_INFINITY or (limit != resource.RLIM_INFINITY and limit <= most)
