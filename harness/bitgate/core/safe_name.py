"""The one rule for text that becomes a part of a path: targets, cases, kernels, suites, shards, files of a capsule.

A name is one component of letters, digits and ``_ . + -`` that begins with none of the last three: it cannot leave its
folder, hide, be taken for an option, or mean something else to a shell.
"""

from __future__ import annotations

import re

from bitgate.core.errors import UsageError

PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,239}"
"""File systems take 255 bytes; what is left is for endings."""

RULE = "letters, digits and _ . + -, beginning with a letter, digit or _, at most 240 of them"


def is_safe(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(PATTERN, text) is not None


def safe_name(text: str, what: str) -> str:
    """The text, if it may be a part of a path. UsageError names ``what`` has it."""
    if not is_safe(text):
        raise UsageError(f"{what}: {text[:80]!r} cannot be a name in a path: {RULE}")
    return text
