"""Factors of any operation: classes of each length, also by the tiles of a kernel, and of each choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bitgate.model.space.candidates import Ints
from bitgate.model.space.column import COMMON, column_of
from bitgate.model.space.factor import Classifier, Constants, Factor, classes, select, spoken, union
from bitgate.model.space.quantity import Choice, Length, Quantity, word
from bitgate.model.space.quantity_columns import QuantityColumns

_CUT = {
    "1": "{}=1",
    "2": "{}=2",
    "~tile": "{} around the tile",
    "large": "{} above two tiles",
    "2^n": "{} a power of two",
    "odd": "{} odd",
    "even": "{} even",
}
_WHOLE = {"1": "{}=1", "2": "{}=2", ">2": "{}>2"}


def factors_of(quantities: tuple[Quantity, ...]) -> tuple[Factor, ...]:
    """Return one factor for each quantity that can differ."""
    found = []
    for quantity in quantities:
        if isinstance(quantity, Length):
            found.append(_of_length(quantity))
        elif len(quantity.values) > 1:
            found.append(_of_choice(quantity))
    return tuple(found)


def _of_length(length: Length) -> Factor:
    name = length.name.upper() if len(length.name) == 1 else length.name
    if length.tile is None:
        wide = union(">1", f"{name}>1", "2", ">2")
        return Factor(length.name, length.name, spoken(_WHOLE, name), _few(length.name), dispatch=True, wide=wide)
    how = f"{name} against the tile: 1, 2, within one of it, above two, a power of two, odd, even"
    return Factor(length.name, how, spoken(_CUT, name), _cut(length.name, length.tile))


def _few(name: str) -> Classifier:
    def measure(batch: QuantityColumns, _: Constants) -> Ints:
        return np.minimum(batch.columns[name], 3) - 1

    return measure


def _cut(name: str, place: int) -> Classifier:
    def measure(batch: QuantityColumns, constants: Constants) -> Ints:
        values, tile = batch.columns[name], constants.tile[place]
        near = np.abs(values - tile) <= 1
        return select(values == 1, values == 2, near, values > 2 * tile, values & (values - 1) == 0, values % 2 == 1)

    return measure


def _of_choice(choice: Choice) -> Factor:
    column = column_of(choice.name)
    names = [word(value) for value in choice.values]
    words = {name: f"{choice.name} {name}" for name in (*names, "other")}
    if choice.is_flag:
        words = {"no": f"no {choice.name}", "yes": choice.name, "other": "other"}
    return Factor(
        choice.name,
        choice.name,
        classes(words),
        lambda batch, _: batch.columns[choice.name],
        dispatch=choice.name == "split_k",
        wide=union(f"not {names[0]}", f"{choice.name} not {names[0]}", *names[1:]) if len(names) > 2 else (),
        column=column if column in COMMON else "",
    )


_TILES = {"1": "one tile along {}", "2": "two tiles along {}", ">2": "three tiles or more along {}"}
TILE_CLASSES = len(_TILES)


def tile_factors(tiles: Mapping[str, int]) -> tuple[Factor, ...]:
    """Return factors of the tiles that a kernel cuts lengths into; two tiles may be right where three are wrong.

    ``tiles`` gives, by a length's name, how much of it one tile takes.
    """
    return tuple(_factor(length, size) for length, size in sorted(tiles.items()))


def _factor(length: str, size: int) -> Factor:
    word = length.upper() if len(length) == 1 else length
    return Factor(
        f"{length}_tiles",
        f"tiles of {size} along {word}",
        spoken(_TILES, word),
        _count(length, size),
        dispatch=True,
        wide=union(">1", f"several tiles along {word}", "2", ">2"),
    )


def _count(length: str, size: int) -> Classifier:
    def measure(batch: Any, _: Constants) -> Ints:
        values: Ints = batch.columns[length]
        return np.minimum(-(-values // size), TILE_CLASSES) - 1

    return measure
