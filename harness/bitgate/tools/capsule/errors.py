"""What stops a capsule that is not its user's to mend."""

from __future__ import annotations


class CapsuleDefect(Exception):
    """A kernel family or its code object is not as a capsule needs it: a defect was found, and the message names it."""
