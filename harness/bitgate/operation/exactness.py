"""How an operation's results are judged: data, certificates, references and bounds."""

from __future__ import annotations


class Exactness:
    """What the core asks before it compares a result. Defaults follow from the operation's form."""
