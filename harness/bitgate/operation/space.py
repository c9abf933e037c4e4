"""The problems that an operation has: their classes, how they are drawn, and what is smaller than one."""

from __future__ import annotations


class Space:
    """What coverage, fuzzing and shrinking ask. Defaults follow from the lengths and attributes of a problem."""
