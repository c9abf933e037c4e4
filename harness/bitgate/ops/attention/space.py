"""The space of attention: its sizes against an instance's tile of queries, keys and head sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from bitgate.model.dtype import TensorTypes
from bitgate.model.sized import SizedProblem
from bitgate.model.sized.space import SizedSpace
from bitgate.model.space.details import Cut
from bitgate.model.space.quantity import Choice, Length, Quantity
from bitgate.model.space.quantity_columns import QuantityColumns
from bitgate.model.space.threshold import COMMON, Threshold, blocks, remainder
from bitgate.ops.attention.attention import KeyMask

ELEMENTS = ("f32", "f16", "bf16")
"""The types of the elements."""
KEYS = ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")
"""Narrower types that keys and values may have."""
NARROW = tuple(f"{own}_{key}_{key}_{own}" for own in ("f16", "bf16") for key in KEYS)
"""The types of q, k, v and o."""

PAGE_SIZES = (16, 1, 64, 7, 32)
"""Keys of a page that are drawn."""

LEAST_HEAD, MOST_HEAD = 32, 256
"""Head sizes that are drawn."""


class AttentionSpace(SizedSpace):
    """The space of attention: heads of keys divide those of queries, and windows and pages belong to words."""

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        places = {"s": 0, "t": 1, "d": 2}
        own = (Length(one.name, places.get(one.name)) if isinstance(one, Length) else one for one in super().quantities)
        narrow = NARROW if self.operation.name == "attention" else ()
        types = Choice("dtypes", tuple(map(TensorTypes.parse, (*ELEMENTS, *narrow))))
        return tuple(types if one.name == "dtypes" else one for one in own)

    def problem_of(self, values: Mapping[str, Any]) -> SizedProblem:
        """Return the problem of values after those that depend on others are made to fit them."""
        heads = int(np.gcd(values["h"], values["kv"]))
        keys = values["w"] if values["mask"] is KeyMask.WINDOW else 1
        fitted = {**values, "kv": heads, "w": keys}
        if values.get("packed"):  # cu_seqlens_k says what lengths would
            fitted |= {"padded": False, "paged": False}
        if "paged" in fitted:
            fitted["p"] = values["p"] if fitted["paged"] else 1
        return super().problem_of(fitted)

    def candidates(self, seed: Sequence[int], size: int, layouts: Sequence[str], distribution: str) -> QuantityColumns:
        drawn = super().candidates(seed, size, layouts, distribution)
        assert isinstance(drawn, QuantityColumns)
        return _settled(drawn)

    def witnesses(self, domains: Any) -> QuantityColumns:
        found = super().witnesses(domains)
        assert isinstance(found, QuantityColumns)
        return _settled(found)

    def fitted(self, problem: SizedProblem, cut: Cut, rng: np.random.Generator) -> SizedProblem:
        """Return the problem with lengths around the tiles; a head is within one tile."""
        found: SizedProblem = super().fitted(problem, cut, rng)
        head, most = found.sizes.d, cut.tile[2]
        return replace(found, sizes=replace(found.sizes, d=most - (-head % most))) if head > most > 1 else found

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        return (*_THRESHOLDS, *COMMON)


def _settled(drawn: QuantityColumns) -> QuantityColumns:
    """Return columns of problems that exist, in which heads are as large as heads are."""
    columns = dict(drawn.columns)
    masks = next(one.values for one in drawn.space.quantities if isinstance(one, Choice) and one.name == "mask")
    columns["kv"] = np.gcd(columns["h"], columns["kv"])
    windows = 1 + 13 * columns["w"] % columns["t"]
    columns["w"] = np.where(columns["mask"] == masks.index(KeyMask.WINDOW), windows, 1)
    if "packed" in columns:
        for name in ("padded", "paged"):
            columns[name] = columns[name] * (1 - columns["packed"])
        sizes = np.array(PAGE_SIZES)[columns["p"] % len(PAGE_SIZES)]
        columns["p"] = np.where(columns["paged"], sizes, 1)
    columns["d"] = np.minimum(LEAST_HEAD - 1 + columns["d"], MOST_HEAD)
    return QuantityColumns(drawn.space, columns)


_THRESHOLDS = (
    Threshold("query_tail", "whole tiles", "a ragged tile", 0, remainder(lambda way: int(way.problem.sizes.s), 0)),
    Threshold("key_tail", "whole tiles", "a ragged tile", 0, remainder(lambda way: int(way.problem.sizes.t), 1)),
    Threshold("head_tail", "a whole tile", "a ragged tile", 0, remainder(lambda way: int(way.problem.sizes.d), 2)),
    Threshold("keys", "one tile", "several tiles", 1, blocks(lambda way: int(way.problem.sizes.t), 1)),
)
