"""Factors of the tiles that a kernel cuts lengths into: what is right in two tiles may be wrong from the third on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bitgate.model.space.candidates import Ints
from bitgate.model.space.constants import Constants
from bitgate.model.space.factor import Classifier, Factor, spoken, union

_TILES = {"1": "one tile along {}", "2": "two tiles along {}", ">2": "three tiles or more along {}"}
TILE_CLASSES = len(_TILES)


def tile_factors(tiles: Mapping[str, int]) -> tuple[Factor, ...]:
    """``tiles``: a length's name -> how many of it one tile takes."""
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
