"""Patterns of benchdnn's ``--match``: basic regular expressions, of which no groups, counts and alternatives."""

from __future__ import annotations

import re

from bitgate.model.problem import ProblemError

_SET = r"\[\^?\]?(?:\[:\w+:\]|[^\]])*\]"
_PART = re.compile(rf"(?P<atom>\\[^(){{}}|+?<>\w]|{_SET}|[^\\*\[])(?P<star>\**)", re.DOTALL)
_CLASSES = {"[:digit:]": "0-9", "[:alpha:]": "A-Za-z", "[:alnum:]": "0-9A-Za-z", "[:lower:]": "a-z", "[:upper:]": "A-Z"}


class Pattern:
    """A pattern that can be searched for in a time that is linear in the text.

    Understood are letters, ``.``, sets in brackets, ``*`` after one of these, ``^`` at the begin and ``$`` at the end.
    ProblemError for another.
    """

    def __init__(self, text: str) -> None:
        body = text.removeprefix("^")
        self._begins = body != text
        self._ends = body.endswith("$") and not body.endswith("\\$")
        body = body[:-1] if self._ends else body
        self._atoms: list[tuple[re.Pattern[str], bool]] = []
        at = 0
        while at < len(body):
            part = _PART.match(body, at)
            try:
                atom = part and re.compile(_as_python(part["atom"]), re.DOTALL)
            except re.error:
                atom = None
            if part is None or atom is None:
                known = "letters, ., [..], * after one, ^ at the begin and $ at the end"
                raise ProblemError(f"--match={text}: '{body[at:]}' is not understood: {known} are")
            self._atoms.append((atom, bool(part["star"])))
            at = part.end()

    def found_in(self, text: str) -> bool:
        """Return whether a part of the text, or the whole where both ends are stated, is as the pattern says."""
        places = self._reached({0})
        for letter in text:
            if len(self._atoms) in places and not self._ends:
                return True
            moved = {
                at + (not star) for at, (atom, star) in enumerate(self._atoms) if at in places and atom.match(letter)
            }
            places = self._reached(moved if self._begins else moved | {0})
        return len(self._atoms) in places

    def _reached(self, places: set[int]) -> set[int]:
        """Add the places after atoms that may match nothing."""
        for at, (_, star) in enumerate(self._atoms):
            if star and at in places:
                places.add(at + 1)
        return places


def _as_python(atom: str) -> str:
    """Spell an atom as Python does: backslashes in a set are letters there."""
    if atom == ".":
        return atom
    if not atom.startswith("["):
        return re.escape(atom[-1])
    inner, negated = atom[1:-1], ""
    if inner.startswith("^"):
        inner, negated = inner[1:], "^"
    for name, letters in _CLASSES.items():
        inner = inner.replace(name, letters)
    escaped = re.sub(r"([]\\\\[&~|^])", r"\\\1", inner)
    return f"[{negated}{escaped}]"
