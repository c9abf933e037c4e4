"""Laws of a GEMM: linear in A and B; batch, rows, columns and reduction in another order, or in parts.

They are called after the letters of a convolution without space, as records have them: g the batch, n the rows of C,
k its columns, c the reduction.
"""

from __future__ import annotations

from bitgate.model.law import LINEAR, Axis, Law, cut, resized, turned

AXES = tuple(
    Axis(letter, noun, places, resized(name), apart=letter == "g")
    for letter, name, noun, places in (
        ("g", "batch", "groups", {"in": 0, "wei": 0, "out": 0}),
        ("n", "m", "images", {"in": 1, "out": 1}),
        ("k", "n", "channels k", {"wei": 1, "out": 2}),
        ("c", "k", "channels c", {"in": 2, "wei": 2}),
    )
)

LAWS: tuple[Law, ...] = (LINEAR, *map(turned, AXES), *map(cut, AXES))
