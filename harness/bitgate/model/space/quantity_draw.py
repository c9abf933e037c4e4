"""Problems of any operation at random: boundaries of lengths are common, and so is the plain value of a choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bitgate.model.space.quantity import Length
from bitgate.model.space.quantity_columns import QuantityColumns

if TYPE_CHECKING:
    from bitgate.model.space import Domains, ProblemSpace

POOL = 20_000
SMALL = (1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65)
LARGE = (*SMALL, 48, 100, 127, 127, 128, 128, 129, 129, 130, 136, 256, 257, 300, 512)
FEW = (1, 1, 1, 2, 2, 3, 4)
PLAIN = 0.5
"""Share of problems in which a choice has its plain value, beside those that draw it."""


def draw(
    space: ProblemSpace, seed: Sequence[int], size: int, codes: Mapping[str, tuple[int, ...]], *, large: bool
) -> QuantityColumns:
    """``size`` problems; ``codes``: the values that choices may have. The same ones for the same arguments."""
    rng = np.random.default_rng([*seed, space.salt])
    columns = {}
    for quantity in space.quantities:
        if isinstance(quantity, Length):
            usual = LARGE if large else SMALL
            columns[quantity.name] = rng.choice(np.array(FEW if quantity.tile is None else usual, np.int64), size)
        else:
            allowed = np.array(codes.get(quantity.name, range(len(quantity.values))), np.int64)
            drawn = rng.choice(allowed, size)
            plain = rng.random(size) < PLAIN if 0 in allowed else np.zeros(size, np.bool_)
            columns[quantity.name] = np.where(plain, 0, drawn)
    return QuantityColumns(space, columns)


@lru_cache(maxsize=8)
def witnesses(space: ProblemSpace, domains: Domains) -> QuantityColumns:
    """The pool, cheapest problem first, so that the first witness of a combination is a small one."""
    pool = draw(space, (1,), POOL, dict(domains), large=True)
    pool = pool.take(pool.possible)
    return pool.take(np.argsort(pool.cost, kind="stable"))
