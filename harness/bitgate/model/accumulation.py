"""What a kernel promises about how it sums: the accumulation contract, from which the certificate follows."""

from __future__ import annotations

from dataclasses import dataclass

from bitgate.model.dtype import DTYPES, Dtype


@dataclass(frozen=True)
class Accumulation:
    """``accumulator`` sums the products; ``partial`` is the type that partial sums are rounded to before the last
    addition (split-K partials or atomics), None if they stay in the accumulator.

    ``exact_range`` is the largest m such that every integer in [-m, m] survives each of these steps. A platform
    whose matrix cores sum in fewer bits than their type states its own range. ``flushes_subnormals``: subnormal f16 and
    bf16 operands may count as zero.
    """

    accumulator: Dtype
    partial: Dtype | None = None
    measured_range: int | None = None
    flushes_subnormals: bool = False

    @property
    def exact_range(self) -> int:
        ranges = [self.accumulator.exact_integer]
        if self.partial is not None:
            ranges.append(self.partial.exact_integer)
        if self.measured_range is not None:
            ranges.append(self.measured_range)
        return min(ranges)


F32_ACCUMULATION = Accumulation(DTYPES["f32"])
