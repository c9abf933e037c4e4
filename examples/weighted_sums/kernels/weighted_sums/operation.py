"""Weighted sums of rows, y[r] = sum_c x[r,c] * w[c]: an operation that bitgate has never heard of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bitgate.operation import Sized, StatedTensor, read, written


@dataclass(frozen=True)
class Sizes:
    """Rows and columns: ``weighted_sums_f32_r64c1000``."""

    r: int
    c: int


class WeightedSums(Sized):
    name = "weighted_sums"
    sizes = Sizes
    is_product = True  # of x and w, summed over c, which y has not

    def check(self, sizes: Sizes) -> str | None:
        return f"c = {sizes.c}: a row has at most 65536 columns" if sizes.c > 65536 else None

    def tensors(self, sizes: Sizes) -> Iterator[StatedTensor]:
        yield read("x", r=sizes.r, c=sizes.c)
        yield read("w", c=sizes.c)
        yield written("y", r=sizes.r)


OPERATIONS = (WeightedSums(),)
