"""Laws of a reduction: its rows stand in any order, and the cells of a row too, as long as nobody asks for their place.

A sum is linear beside that. Rows are named after the letters of case ids: o outer, l the length, i inner.
"""

from __future__ import annotations

from bitgate.model.law import LINEAR, Axis, Law, cut, resized, turned

ROWS = tuple(
    Axis(letter, noun, {"x": place, "y": at, "index": at}, resized(noun), indices=("index",))
    for letter, noun, place, at in (("o", "outer", 0, 0), ("i", "inner", 2, 1))
)
LENGTH = Axis("l", "length", {"x": 1}, resized("length"))

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, (*ROWS, LENGTH)), *map(cut, ROWS))
