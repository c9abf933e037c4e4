"""What an operation says of its results: diagnoses, laws, facts of a launch, pictures."""

from __future__ import annotations


class Insight:
    """What is asked about a result that is wrong, or a problem that somebody wants explained."""
