"""Which tensors an instance of any layout copies, and what it sees instead: the prediction beside the C++ (AnyLayout).

A tensor whose channels do not lie side by side (NGCHW, weights GKCYX) has a packed copy with channels last in the
workspace: operands are transposed into theirs before the GEMMs, the result out of its copy afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from bitgate.kernel import Refusal
from bitgate.operation import (
    INPUT_LAYOUTS,
    ConvProblem,
    Tensor,
    default_layout,
    default_weight_layout,
    input_letters,
    output_layout,
    output_letters,
    packed_strides,
    weight_letters,
)

from .alignment import CHANNEL

COPY_ALIGNMENT = 256
"""Each copy takes a multiple of this many bytes."""
MOST_BYTES = 2**62


ANY_LAYOUT = tuple(layout for layouts in INPUT_LAYOUTS.values() for layout in layouts)
"""What such an instance declares as its input layouts."""


@dataclass(frozen=True)
class ChannelsLast:
    """``tensors`` as the kernel indexes them; ``copies`` are those that lie in the workspace."""

    tensors: Mapping[str, Tensor]
    copies: tuple[Tensor, ...]

    @property
    def workspace_bytes(self) -> int:
        return sum(-(-copy.bytes // COPY_ALIGNMENT) * COPY_ALIGNMENT for copy in self.copies)

    @cached_property
    def refusal(self) -> Refusal | None:
        total = sum(copy.bytes for copy in self.copies)
        return Refusal("index_range", f"copies of {total} bytes are over 2^62") if total > MOST_BYTES else None


@lru_cache(maxsize=1024)
def channels_last(problem: ConvProblem) -> ChannelsLast:
    """The problem's tensors with channels last, copied where they are not."""
    ndim, images = problem.ndim, default_layout(problem.ndim)
    packed = {
        "in": (images, input_letters(ndim)),
        "wei": (default_weight_layout(ndim), weight_letters(ndim)),
        "out": (output_layout(images), output_letters(ndim)),
    }
    copies = {
        name: replace(tensor, layout=layout, strides=packed_strides(layout, letters, tensor.lengths))
        for name, (layout, letters) in packed.items()
        if (tensor := problem.tensors[name]).strides[CHANNEL] != 1
    }
    return ChannelsLast({**problem.tensors, **copies}, tuple(copies.values()))
